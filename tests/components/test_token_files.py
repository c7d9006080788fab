"""Token states of one's own: what is read, what each kind of bad file says, and that nothing large is ever allocated."""

from __future__ import annotations

import io
import pickle
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest
from scipy.linalg import sqrtm

from components.errors import DataError
from components.files import ReadLimits
from components.pair_map import PairMap, PairOptions
from components.states_pipeline import compute_states_map, compute_states_pair, pair_of, states_map_key
from components.store import ResultStore
from components.token_files import load_token_states, read_token_states

RNG = np.random.default_rng(3)
STATES = RNG.normal(0.5, 1, (12, 5)).astype(np.float32)
OFFSETS = np.array([0, 4, 7, 12])


def npz(states=STATES, offsets=OFFSETS, compressed=False, **more) -> bytes:
    out = io.BytesIO()
    arrays = {"states": states, "offsets": offsets, **more}
    (np.savez_compressed if compressed else np.savez)(out, **{k: v for k, v in arrays.items() if v is not None})
    return out.getvalue()


def archive(**members: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            file.writestr(f"{name}.npy", data)
    return out.getvalue()


def npy(array: np.ndarray, allow_pickle=False) -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array(out, array, allow_pickle=allow_pickle)
    return out.getvalue()


def announcing(shape: str, descr="'<f4'", body=b"") -> bytes:
    header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (63 - (len(header) + 10) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + body


class Runs:
    """Would leave a mark if it were ever unpickled."""

    def __reduce__(self):
        return exec, ("import tests.components.test_token_files as t; t.RAN.append(1)",)


RAN: list[int] = []


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", ">f4", ">f8"])
def test_states_come_as_they_were_written(dtype, compressed):
    states = STATES.astype(dtype)
    own = read_token_states("x.npz", npz(states, OFFSETS.astype("uint16"), compressed, texts=np.array(["a", "b ", "ü\n"]),
                                         tokens=np.array([f"t{k}" for k in range(12)])))
    assert own.states.states.dtype == (np.float64 if states.dtype.itemsize == 8 else np.float32)
    assert np.array_equal(own.states.states, states.astype(np.float64)) and own.states.offsets.tolist() == OFFSETS.tolist()
    assert own.corpus.texts == ("a", "b ", "ü\n") and own.tokens_of(1) == ["t4", "t5", "t6"]
    assert ("float16" in " ".join(own.notes)) == (dtype == "float16")


def test_without_texts_tokens_stand_in_and_without_both_numbers(tmp_path):
    tokens = np.array([f"w{k}" for k in range(12)])
    assert read_token_states("x.npz", npz(tokens=tokens)).corpus.texts[1] == "w4 w5 w6"
    (tmp_path / "x.npz").write_bytes(npz(labels=np.zeros(3)))
    own = load_token_states(tmp_path / "x.npz")
    assert own.corpus.texts[0] == "Text 0 (4 tokens)" and own.tokens_of(0) == ["#0", "#1", "#2", "#3"]
    assert any("'labels'" in note for note in own.notes)


BAD = {
    "no zip": (b"states", "must be an .npz"), "empty": (b"", "must be an .npz"), "an npy": (npy(STATES), "must be an .npz"),
    "half": (npz()[:400], "must be an .npz"),
    "no states": (npz(states=None), "must hold an array 'states'"), "no offsets": (npz(offsets=None), "must hold an array 'offsets'"),
    "nothing inside": (archive(), "an empty archive"),
    "pickled states": (archive(states=npy(np.array([Runs()], dtype=object), True), offsets=npy(OFFSETS)), "no pickled objects"),
    "pickled tokens": (npz(tokens=np.array(["a"] * 12, dtype=object)), "no pickled objects"),
    "a bare pickle": (archive(states=pickle.dumps(Runs()), offsets=npy(OFFSETS)), "must be a NumPy array"),
    "a header announcing 1 GB": (archive(states=announcing("(62500000, 4)"), offsets=npy(OFFSETS)), "as many bytes as it announces"),
    "1 GB of zeros in 1 MB": (archive(states=announcing("(30000000, 4)", body=bytes(480_000_000)), offsets=npy(OFFSETS)),
                              "must unpack to at most 100,000,000 bytes"),
    "a shape whose product overflows": (archive(states=announcing("(4294967296, 4294967296)"), offsets=npy(OFFSETS)), "announces"),
    "a negative shape": (archive(states=announcing("(-1, 5)", body=STATES.tobytes()), offsets=npy(OFFSETS)), "must"),
    "a header that is code": (archive(states=announcing("__import__('os').getpid()"), offsets=npy(OFFSETS)), "must be a NumPy array"),
    "a long header": (archive(states=announcing("(1," + " " * 20_000 + "5)"), offsets=npy(OFFSETS)), "must be a NumPy array"),
    "one dim": (npz(STATES[0]), "must be (tokens, dim)"), "three dims": (npz(STATES[None]), "must be (tokens, dim)"),
    "no row": (npz(STATES[:0], np.array([0, 0, 0])), "must be (tokens, dim)"),
    "whole numbers": (npz(STATES.astype(int)), "must be float16, float32 or float64"),
    "complex": (npz(STATES.astype(complex)), "must be float16, float32 or float64"),
    "strings": (npz(STATES.astype(str)), "must be float16, float32 or float64"),
    "a record": (npz(np.zeros((2, 2), dtype=[("a", "f4")])), "must be float16, float32 or float64"),
    "NaN": (npz(np.where(np.arange(60).reshape(12, 5) == 37, np.nan, STATES)), "nan at [7, 2]"),
    "infinity": (npz(np.where(np.arange(60).reshape(12, 5) >= 50, np.inf, STATES)), "inf at [10, 0], and in 1 more row"),
    "offsets out of range": (npz(offsets=np.array([0, 4, 99, 12])), "99 at [2]"),
    "offsets below 0": (npz(offsets=np.array([0, -4, 7, 12])), "-4 at [1]"),
    "offsets beyond int64": (npz(offsets=np.array([0, 2**63, 12], dtype=np.uint64)), "9223372036854775808 at [1]"),
    "offsets that fall": (npz(offsets=np.array([0, 7, 4, 12])), "must rise"),
    "a text without tokens": (npz(offsets=np.array([0, 7, 7, 12])), "must rise"),
    "offsets without the 0": (npz(offsets=np.array([4, 7, 12])), "must begin with 0"),
    "offsets without the end": (npz(offsets=np.array([0, 4, 7])), "must begin with 0 and end with the 12"),
    "offsets of floats": (npz(offsets=OFFSETS.astype(float)), "must be one row of whole numbers"),
    "one text": (npz(offsets=np.array([0, 12])), "must be of two texts or more"),
    "no offset": (npz(offsets=np.array([], dtype=int)), "must be of two texts or more"),
    "too few tokens": (npz(tokens=np.array(["a"] * 11)), "must hold 12 strings"),
    "bytes as texts": (npz(texts=np.array([b"a", b"b", b"c"])), "must hold 3 strings"),
    "numbers as texts": (npz(texts=np.arange(3)), "must hold 3 strings"),
    "a NUL in a text": (npz(texts=np.array(["a\0b", "b", "c"])), "a NUL character"),
    "half a character": (npz(texts=np.array(["a\ud800", "b", "c"])), "half of a surrogate pair"),
    "a text too long": (npz(texts=np.array(["a" * 100_001, "b", "c"])), "must be at most 100,000 characters"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_one_sentence_and_takes_no_memory(name):
    data, said = BAD[name]
    tracemalloc.start()
    try:
        with pytest.raises(DataError) as error:
            read_token_states("mine.npz", data)
        assert tracemalloc.get_traced_memory()[1] < 3_000_000
    finally:
        tracemalloc.stop()
    assert said in str(error.value) and "mine.npz" in str(error.value) and str(error.value).endswith(".") and not RAN
    assert "\n" not in str(error.value)


def test_caps_count_every_array_together_and_texts():
    with pytest.raises(DataError, match="at most 270 bytes"):
        read_token_states("x.npz", npz(), max_bytes=270)
    with pytest.raises(DataError, match="at most 2 texts"):
        read_token_states("x.npz", npz(), ReadLimits(max_texts=2))
    with pytest.raises(DataError, match="extension '.csv'"):
        read_token_states("x.csv", npz())


def test_an_array_that_stands_twice_is_refused():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file, pytest.warns(UserWarning):
        file.writestr("states.npy", npy(STATES))
        file.writestr("states.npy", npy(STATES * 2))
        file.writestr("offsets.npy", npy(OFFSETS))
    with pytest.raises(DataError, match="states twice"):
        read_token_states("x.npz", out.getvalue())


def test_a_flipped_byte_is_seen():
    data = bytearray(npz())
    at = data.index(STATES.tobytes()) + 9
    data[at] ^= 1
    with pytest.raises(DataError, match="must be a whole"):
        read_token_states("x.npz", bytes(data))


def definition(x, y):
    """d_mu and d_sigma straight from the definition, with a matrix square root."""
    x, y = (t / np.linalg.norm(t.mean(axis=0)) for t in (np.asarray(x, float), np.asarray(y, float)))
    a, b = np.cov(x.T, bias=True), np.cov(y.T, bias=True)
    root = np.real(sqrtm(a))
    return (((x.mean(axis=0) - y.mean(axis=0)) ** 2).sum() / 4,
            (np.trace(a) + np.trace(b) - 2 * np.trace(np.real(sqrtm(root @ b @ root)))) / 4)


def test_the_map_of_given_states_is_the_definition_and_the_file_again_gives_the_same(tmp_path):
    rng = np.random.default_rng(0)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(7, 14, 8))])
    own = read_token_states("x.npz", npz(rng.normal(0.4, 1, (offsets[-1], 4)), offsets))
    store = ResultStore(tmp_path / "store")
    stored = compute_states_map(own, PairOptions(float64=True), store=store, device="cpu")
    found = PairMap.from_stored(stored.arrays, stored.meta)
    for i, j, d_mu, d_sigma in zip(*found.pairs, strict=True):
        expected = definition(own.states[i], own.states[j])
        assert (d_mu, d_sigma) == pytest.approx(expected, abs=1e-7)
    again = read_token_states("other name.npz", own.npz())
    assert states_map_key(again, PairOptions(float64=True)) == stored.key and store.get(stored.key) is not None
    moved = read_token_states("x.npz", npz(own.states.states + 1e-9, offsets))
    assert states_map_key(moved, PairOptions(float64=True)) != stored.key


def test_two_rows_with_their_plan(tmp_path):
    own = read_token_states("x.npz", npz())
    found = compute_states_pair(pair_of(own, 2, 0), store=ResultStore(tmp_path / "store"))
    assert (found.meta["n_a"], found.meta["n_b"]) == (5, 4) and np.array_equal(found.arrays["layer_final"][:5], STATES[7:12])
    plan = found.arrays["plan_final"]
    assert plan.sum(axis=1) == pytest.approx(np.full(5, 0.2)) and plan.sum(axis=0) == pytest.approx(np.full(4, 0.25))
    long = read_token_states("x.npz", npz(np.ones((2_105, 2)), np.array([0, 2_101, 2_105])))
    with pytest.raises(DataError, match="at most 2,000 tokens"):
        pair_of(long, 0, 1)
