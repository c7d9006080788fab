"""Tiny randomly initialised models of several families, saved as real folders."""

from __future__ import annotations

from pathlib import Path

import torch

WORDS = ("[UNK]", "[PAD]", "[CLS]", "[SEP]", "[MASK]", "the", "a", "cat", "dog", "sat", "on", "mat", "ran", "far", "home",
         ".", ",", "##s", "##ing", "run", "in", "rain")

FULL = {"modernbert": {"num_hidden_layers": 4, "global_attn_every_n_layers": 3, "local_attention": 4, "attention_bias": True},
        "qwen3": {"attention_bias": True}}
"""Options that bring out all a family can have: local attention beside global one, and biases where they are a choice."""


def tokenizer(pad: bool = True):
    """A WordPiece tokenizer over a few words."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    inner = Tokenizer(models.WordPiece({word: k for k, word in enumerate(WORDS)}, unk_token="[UNK]"))
    inner.normalizer = normalizers.BertNormalizer(lowercase=True)
    inner.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    inner.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    names = {"unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]"}
    return PreTrainedTokenizerFast(tokenizer_object=inner, model_max_length=64,
                                   **(names | ({"pad_token": "[PAD]"} if pad else {})))


def config(family: str, **options):
    """The family's configuration at hidden size 32 with two layers, unless options say otherwise."""
    from transformers import AutoConfig

    common = {"vocab_size": len(WORDS), "pad_token_id": 1}
    plain = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48,
             "max_position_embeddings": 80}
    special = {
        "distilbert": {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 48, "max_position_embeddings": 80},
        "gpt2": {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 80},
        "qwen3": plain | {"num_key_value_heads": 2, "head_dim": 8},
        "longformer": plain | {"attention_window": 8},
        "convbert": plain | {"embedding_size": 32, "conv_kernel_size": 5},
        "nystromformer": plain | {"num_landmarks": 64, "segment_means_seq_len": 64},
        "modernbert": plain | {"global_attn_every_n_layers": 1, "local_attention": 16},
    }
    return AutoConfig.for_model(family, **(common | special.get(family, plain) | options))


def save(family: str, folder: Path, *, pad: bool = True, seed: int = 0, shaken: float = 0, **options) -> Path:
    """Writes a model folder with safetensors weights and a tokenizer; returns it.

    Fresh weights have no biases and nearly uniform attention, which would hide faults; ``shaken`` adds Gaussian noise of
    that deviation to every weight.
    """
    from transformers import AutoModel

    torch.manual_seed(seed)
    model = AutoModel.from_config(config(family, **options))
    if shaken:
        for weight in model.parameters():
            weight.data += shaken * torch.randn_like(weight)
    # A model once loaded with code of its own marks classes in this process; saving would then copy their source along.
    for kind in (*type(model).__mro__, *type(model.config).__mro__):
        if "_auto_class" in vars(kind):
            kind._auto_class = None  # type: ignore[attr-defined]
    model.save_pretrained(folder)
    tokenizer(pad).save_pretrained(folder)
    return folder
