"""Token states of one's own, for models that no hub has: a NumPy .npz that is read without ever unpickling.

The file holds ``states`` (total_tokens, dim), the texts' token states one after the other without padding; ``offsets``
(n_texts + 1,), text i having the rows ``states[offsets[i]:offsets[i + 1]]``; and, if one likes, ``tokens`` (total_tokens,)
and ``texts`` (n_texts,) as strings. It is what ``numpy.savez(file, states=..., offsets=...)`` writes.

An array's header is read, and its size compared with the cap, before anything is allocated: a file of 1 kB can announce 1 GB,
and an archive can unpack to a thousand times its size.

What takes such arrays, with no model: ``types.TokenStates`` wraps them, ``moments.text_moments`` makes means and covariance
factors, ``socm.pairwise_statistics`` and ``pair_scan.scan_pairs`` compare them, ``token_pair.pair_numbers`` takes two texts'
states alone, ``spread.normalised_spread``, ``pooling.pool``, ``references.references`` and ``transport.transport_plan`` measure
them, and ``states_pipeline.compute_states_map`` does all that the Map shows. ``data/notebooks/token_states.ipynb`` shows it.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from components.columns import check_text
from components.errors import DataError, shown
from components.files import DEFAULT_LIMITS, ReadLimits, listed, plural, read_file, shown_path
from components.types import Corpus, TokenStates, frozen

STATES, OFFSETS, TOKENS, TEXTS = NAMES = ("states", "offsets", "tokens", "texts")
MODEL = "own token states"
MAX_STATES_BYTES = 100_000_000
MAX_HEADER = 10_000
SHOWN_TOKENS = 24


@dataclass(frozen=True)
class OwnStates:
    """Token states that were read from a file.

    Attributes:
        name: what to call them on screen.
        states: of n_texts >= 2 texts, float32 or float64, finite, a token or more each.
        tokens: one string a row of states, or empty.
        corpus: the texts; without them, their first tokens or their numbers.
        notes: sentences on what was read.
        revision: "sha256:" with a digest of states and offsets: another model, another digest.
    """

    name: str
    states: TokenStates
    tokens: tuple[str, ...]
    corpus: Corpus
    notes: tuple[str, ...]
    revision: str

    @property
    def size(self) -> int:
        """Bytes in memory."""
        words = sum(len(text.encode("utf-8", "surrogatepass")) for text in (*self.tokens, *self.corpus.texts))
        return self.states.states.nbytes + self.states.offsets.nbytes + words

    def rows(self, chosen: Sequence[int]) -> OwnStates:
        """Some of the texts, in the order given."""
        at = np.concatenate([np.arange(self.states.offsets[i], self.states.offsets[i + 1]) for i in chosen])
        offsets = np.concatenate([[0], np.cumsum(self.states.lengths[list(chosen)])]).astype(np.int64)
        part = TokenStates(self.states.states[at], frozen(offsets))
        return OwnStates(self.name, part, tuple(self.tokens[k] for k in at) if self.tokens else (),
                         Corpus(self.corpus.name, tuple(self.corpus.texts[i] for i in chosen)), (), _digest(part))

    def npz(self) -> bytes:
        """The same as a file."""
        out = io.BytesIO()
        more: dict[str, Any] = {TOKENS: np.array(self.tokens, dtype=str)} if self.tokens else {}
        np.savez(out, states=self.states.states, offsets=self.states.offsets, texts=np.array(self.corpus.texts, dtype=str), **more)
        return out.getvalue()

    def tokens_of(self, i: int) -> list[str]:
        """Text i's tokens; without them, their numbers."""
        start, end = int(self.states.offsets[i]), int(self.states.offsets[i + 1])
        return list(self.tokens[start:end]) if self.tokens else [f"#{k}" for k in range(end - start)]


def load_token_states(path: str | Path, limits: ReadLimits = DEFAULT_LIMITS, max_bytes: int = MAX_STATES_BYTES) -> OwnStates:
    """Token states of an .npz.

    Raises:
        DataError: no such file, one that is no .npz or too large, or arrays that are no token states; with a sentence.
    """
    whole = ReadLimits(max_bytes + MAX_HEADER * len(NAMES), limits.max_texts, limits.max_text_chars)
    argument = _called(str(path))
    return read_token_states(Path(path).name, read_file(Path(path), argument, whole, "check the path"), limits, max_bytes)


def read_token_states(name: str, data: bytes, limits: ReadLimits = DEFAULT_LIMITS, max_bytes: int = MAX_STATES_BYTES) -> OwnStates:
    """As ``load_token_states``, of a file in memory."""
    name = PurePath(name.replace("\\", "/")).name.encode("utf-8", "replace").decode()
    argument = _called(name)
    if PurePath(name).suffix.lower() != ".npz":
        raise DataError(argument, "must be an .npz", f"the extension {shown(PurePath(name).suffix)}", "save it with numpy.savez")
    notes: list[str] = []
    arrays = _arrays(data, argument, max_bytes, notes)
    del data
    states = _states(arrays[STATES], argument, notes)
    offsets = _offsets(arrays[OFFSETS], len(states), argument, limits)
    tokens = _strings(arrays.get(TOKENS), TOKENS, len(states), "rows of states", argument, limits)
    texts = _strings(arrays.get(TEXTS), TEXTS, len(offsets) - 1, "texts", argument, limits)
    own = TokenStates(states, frozen(offsets))  # torch warns of arrays that are read-only
    if not texts:
        texts = _stand_ins(own, tokens)
        notes.append("The file holds no texts: they are shown by their first tokens." if tokens else
                     "The file holds neither texts nor tokens: they are shown by their numbers.")
    return OwnStates(name, own, tokens, Corpus(name, texts, notes=tuple(notes)), tuple(notes), _digest(own))


def _called(name: str) -> str:
    return f"token states {shown_path(name)}"


def _arrays(data: bytes, argument: str, max_bytes: int, notes: list[str]) -> dict[str, np.ndarray[Any, Any]]:
    """The arrays that we know, each read only once its header is known to be harmless and all of them to fit."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
        inside = archive.infolist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError) as error:
        raise DataError(argument, "must be an .npz, an archive of NumPy arrays", shown(str(error)),
                        "save it with numpy.savez") from None
    named = [info.filename.removesuffix(".npy") for info in inside]
    members = dict(zip(named, inside, strict=True))
    if len(members) < len(inside):
        raise DataError(argument, "must hold each array once", f"{listed(sorted({n for n in named if named.count(n) > 1}))} twice",
                        "save it again")
    for name in (STATES, OFFSETS):
        if name not in members:
            raise DataError(argument, f"must hold an array {name!r}", f"the arrays {listed([shown(n) for n in members])}" if members
                            else "an empty archive", "save it with numpy.savez(file, states=..., offsets=...)")
    if unread := [shown(name) for name in members if name not in NAMES]:
        notes.append(f"{plural(len(unread), 'array')} of other names not read: {listed(unread)}.")
    known = [name for name in NAMES if name in members]
    try:
        announced = {name: _announced(archive, members[name], argument, name) for name in known}
        total = sum(announced.values())
        if total > max_bytes:
            raise DataError(argument, f"must unpack to at most {max_bytes:,} bytes", f"arrays of {total:,}",
                            "keep fewer texts, or float16 states (or let the owner raise POOLSCOPE_MAX_STATES_MB)")
        return {name: _read(archive, members[name], argument, name) for name in known}
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError) as error:
        raise DataError(argument, "must be a whole .npz", shown(str(error) or type(error).__name__), "save it again") from None


def _header(file: IO[bytes], argument: str, name: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and type that an array announces; pickled objects are refused here, unopened."""
    try:
        version = npy.read_magic(file)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, _, dtype = read(file, max_header_size=MAX_HEADER)
    except (ValueError, SyntaxError, TypeError, EOFError, MemoryError, RecursionError) as error:
        raise DataError(f"array {name!r} of {argument}", "must be a NumPy array", shown(str(error).split("\n")[0]),
                        "save it with numpy.savez") from None
    if dtype.hasobject:
        raise DataError(f"array {name!r} of {argument}", "must hold no pickled objects, which can run code when opened",
                        f"the type {dtype}", "save strings as numpy.array(..., dtype=str) and numbers as numbers")
    return tuple(shape), dtype


def _announced(archive: zipfile.ZipFile, info: zipfile.ZipInfo, argument: str, name: str) -> int:
    with archive.open(info) as file:
        shape, dtype = _header(file, argument, name)
        start = file.tell()
    size = dtype.itemsize
    for length in shape:  # Python's own numbers: a product that overflows would look small
        size *= int(length)
    if size + start != info.file_size:
        raise DataError(f"array {name!r} of {argument}", "must hold as many bytes as it announces",
                        f"{size:,} announced, {max(0, info.file_size - start):,} there", "save it again")
    return size


def _read(archive: zipfile.ZipFile, info: zipfile.ZipInfo, argument: str, name: str) -> np.ndarray[Any, Any]:
    with archive.open(info) as file:
        try:
            return np.asarray(npy.read_array(file, allow_pickle=False, max_header_size=MAX_HEADER))
        except ValueError as error:
            raise DataError(f"array {name!r} of {argument}", "must be a whole NumPy array", shown(str(error).split("\n")[0]),
                            "save it again") from None


def _states(found: np.ndarray[Any, Any], argument: str, notes: list[str]) -> np.ndarray[Any, Any]:
    where = f"array {STATES!r} of {argument}"
    if found.ndim != 2 or 0 in found.shape:
        raise DataError(where, "must be (tokens, dim), with a token and a dim at least", f"the shape {found.shape}",
                        "put the texts' tokens under each other, without padding")
    if found.dtype.kind != "f" or found.dtype.itemsize > 8:
        raise DataError(where, "must be float16, float32 or float64", str(found.dtype), "convert it with .astype('float32')")
    if found.dtype.itemsize == 2:
        notes.append("States of float16 were read as float32; what float16 had cut off is not in them.")
    kept = np.ascontiguousarray(found, dtype=np.float64 if found.dtype.itemsize == 8 else np.float32)
    bad = ~np.isfinite(kept).all(axis=1)
    if bad.any():
        row = int(np.argmax(bad))
        dim = int(np.argmin(np.isfinite(kept[row])))
        raise DataError(where, "must hold finite numbers", f"{kept[row, dim]} at [{row}, {dim}]"
                        + (f", and in {plural(int(bad.sum()) - 1, 'more row')}" if bad.sum() > 1 else ""),
                        "leave that text out, or mend what made the states")
    return kept


def _offsets(found: np.ndarray[Any, Any], total: int, argument: str, limits: ReadLimits) -> np.ndarray[Any, Any]:
    where = f"array {OFFSETS!r} of {argument}"
    if found.ndim != 1 or found.dtype.kind not in "iu":
        raise DataError(where, "must be one row of whole numbers", f"{found.dtype} of shape {found.shape}",
                        "give numpy.cumsum of the token counts, with a 0 in front")
    if len(found) < 3:
        raise DataError(where, "must be of two texts or more, since texts are compared", f"{max(0, len(found) - 1)}", "add texts")
    if len(found) - 1 > limits.max_texts:
        raise DataError(where, f"must be of at most {limits.max_texts:,} texts", f"{len(found) - 1:,}", "keep fewer")
    outside = np.flatnonzero((found < 0) | (found > total))
    if len(outside):
        raise DataError(where, f"must lie between 0 and the {total:,} rows of states", f"{found[outside[0]]} at [{outside[0]}]",
                        "give numpy.cumsum of the token counts, with a 0 in front")
    kept = found.astype(np.int64)
    if kept[0] != 0 or kept[-1] != total:
        raise DataError(where, f"must begin with 0 and end with the {total:,} rows of states", f"{kept[0]} and {kept[-1]}",
                        "give numpy.cumsum of the token counts, with a 0 in front")
    empty = np.flatnonzero(np.diff(kept) < 1)
    if len(empty):
        raise DataError(where, "must rise, a token or more for each text", f"{kept[empty[0]]} then {kept[empty[0] + 1]} for text "
                        f"{empty[0]} (counted from 0)", "leave texts without tokens out")
    return kept


def _strings(found: np.ndarray[Any, Any] | None, name: str, n: int, of: str, argument: str, limits: ReadLimits) -> tuple[str, ...]:
    if found is None:
        return ()
    where = f"array {name!r} of {argument}"
    if found.dtype.kind != "U" or found.shape != (n,):
        raise DataError(where, f"must hold {n:,} strings, one for each of the {of}", f"{found.dtype} of shape {found.shape}",
                        f"save numpy.array({name}, dtype=str)")
    strings = tuple(str(one) for one in found.tolist())
    for i, one in enumerate(strings):
        check_text(one, f"{name}[{i}] of {argument}", limits)
    return strings


def _stand_ins(states: TokenStates, tokens: Sequence[str]) -> tuple[str, ...]:
    if not tokens:
        return tuple(f"Text {i} ({plural(int(n), 'token')})" for i, n in enumerate(states.lengths))
    out = []
    for i, n in enumerate(states.lengths.tolist()):
        start = int(states.offsets[i])
        some = " ".join(tokens[start:start + min(n, SHOWN_TOKENS)]).strip()
        out.append((some + (" …" if n > SHOWN_TOKENS else "")) or f"Text {i}")
    return tuple(out)


def _digest(of: TokenStates) -> str:
    h = hashlib.sha256(b"poolscope-states-1")
    for array in (of.states, of.offsets):
        h.update(f"{array.dtype.str} {array.shape}\0".encode())
        h.update(np.ascontiguousarray(array).data)
    return "sha256:" + h.hexdigest()
