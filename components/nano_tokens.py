"""Text as a small encoder meets it in training: a vocabulary cut out of it, token numbers, batches, masks.

All that is random here is a function of a seed and of the number of an epoch or a step, never of what went before, so
that a run can go on from any step.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from components.errors import DataError
from components.types import IntArray

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
PAD, UNK, CLS, SEP, MASK = range(len(SPECIAL))
RARE = 20
"""A character seen less often gets no token: its one would never be trained."""


@dataclass(frozen=True)
class Sequences:
    """Token numbers of all sequences, one after the other; sequence i is ``ids[offsets[i]:offsets[i + 1]]``.

    Attributes:
        ids: (total_tokens,) int32, special tokens included.
        offsets: (n_sequences + 1,) int64.
    """

    ids: IntArray
    offsets: IntArray

    @property
    def lengths(self) -> IntArray:
        return np.diff(self.offsets)


def train_tokenizer(lines: Sequence[str], vocabulary: int = 8192) -> Any:
    """A lower-casing WordPiece tokenizer (``tokenizers.Tokenizer``) learnt from lines of text.

    Args:
        lines: at least one.
        vocabulary: tokens at the most, special ones included.

    Raises:
        DataError: fewer tokens asked for than the text has characters.
    """
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

    normalizer = normalizers.BertNormalizer(lowercase=True)
    counts: Counter[str] = Counter()
    for line in lines:
        counts.update(c for c in unicodedata.normalize("NFD", line.lower()) if not unicodedata.combining(c))
    alphabet = sorted(c for c, n in counts.items() if (n >= RARE or len(lines) < RARE) and not c.isspace())
    # The trainer numbers what it meets in the order of a hash table, which differs from run to run, and breaks ties by
    # these numbers. Given in advance, they are always the same.
    given = [*SPECIAL, *alphabet, *(f"##{c}" for c in alphabet)]
    if vocabulary < len(given):
        raise DataError("vocabulary", "must have room for the text's characters", f"{vocabulary:,} for {len(given):,}",
                        "give a larger one")
    learner = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    learner.normalizer, learner.pre_tokenizer = normalizer, pre_tokenizers.BertPreTokenizer()
    learner.train_from_iterator(lines, trainers.WordPieceTrainer(
        vocab_size=vocabulary, special_tokens=given, initial_alphabet=alphabet, limit_alphabet=max(1, len(alphabet)),
        show_progress=False))
    # Learnt anew from the vocabulary, since the trainer holds all that it was given for special tokens.
    tokenizer = Tokenizer(models.WordPiece(learner.get_vocab(), unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens(list(SPECIAL))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", CLS), ("[SEP]", SEP)])
    tokenizer.decoder = decoders.WordPiece()
    return tokenizer


def to_sequences(tokenizer: Any, lines: Sequence[str], positions: int = 64) -> Sequences:
    """Lines as token numbers; a line of more than ``positions`` tokens becomes pieces of nearly equal length.

    Raises:
        DataError: no line has a token.
    """
    parts: list[IntArray] = []
    room = positions - 2
    for start in range(0, len(lines), 20_000):
        for one in tokenizer.encode_batch(list(lines[start:start + 20_000]), add_special_tokens=False):
            ids = np.asarray(one.ids, dtype=np.int32)
            if len(ids):
                parts += [np.concatenate([[CLS], piece, [SEP]]).astype(np.int32)
                          for piece in np.array_split(ids, -(-len(ids) // room))]
    if not parts:
        raise DataError("training text", "must hold a word", f"none in {len(lines):,} lines", "give it text")
    return Sequences(np.concatenate(parts), np.concatenate([[0], np.cumsum([len(part) for part in parts])]))


def batches(lengths: IntArray, batch_tokens: int, seed: int, skip: int = 0) -> Iterator[IntArray]:
    """Numbers of the sequences of each step, without end: texts of like length together, in random order.

    Args:
        lengths: (n_sequences,) tokens.
        batch_tokens: number of sequences times the longest, at the most.
        seed: of the order.
        skip: steps left out at the start, those before a checkpoint.
    """
    epoch = 0
    while True:
        rng = np.random.default_rng([seed, epoch])
        order = rng.permutation(len(lengths))
        order = order[np.argsort(lengths[order], kind="stable")[::-1]]
        groups, at = [], 0
        while at < len(order):
            rows = max(1, batch_tokens // int(lengths[order[at]]))
            groups.append(order[at:at + rows])
            at += rows
        for k in rng.permutation(len(groups)):
            if skip:
                skip -= 1
            else:
                yield groups[k]
        epoch += 1


def masked_batch(sequences: Sequences, rows: IntArray, masked: float, vocabulary: int,
                 rng: np.random.Generator) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """One step's input.

    Returns:
        Token numbers (n_texts, width), int64, with tokens hidden; which of them are real, bool, of the same shape;
        where tokens are to be guessed, (n_masked,) indices into the flattened array; and the right ones, (n_masked,).
    """
    spans = [sequences.ids[sequences.offsets[i]:sequences.offsets[i + 1]] for i in rows]
    ids = np.full((len(spans), max(map(len, spans))), PAD, dtype=np.int64)
    for row, span in enumerate(spans):
        ids[row, :len(span)] = span
    flat = ids.reshape(-1)
    plain = np.flatnonzero((flat != PAD) & (flat != CLS) & (flat != SEP))
    where = np.sort(rng.choice(plain, max(1, round(masked * len(plain))), replace=False))
    right, draw = flat[where].copy(), rng.random(len(where))
    real = ids != PAD
    flat[where[draw < 0.8]] = MASK
    exchanged = where[(draw >= 0.8) & (draw < 0.9)]
    flat[exchanged] = rng.integers(len(SPECIAL), vocabulary, len(exchanged))
    return torch.from_numpy(ids), torch.from_numpy(real), torch.from_numpy(where), torch.from_numpy(right)
