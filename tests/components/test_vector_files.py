"""Files of vectors: one array whatever the format, and a sentence for what is none."""

from __future__ import annotations

import io
import json
import pickle
import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from components.audit_texts import read_row_texts
from components.errors import DataError
from components.files import ReadLimits
from components.vector_files import load_vectors, read_vectors

A = np.random.default_rng(0).normal(size=(5, 12)).astype(np.float32)


def npy(array, **how) -> bytes:
    out = io.BytesIO()
    np.save(out, array, **how)
    return out.getvalue()


def parquet(table) -> bytes:
    out = io.BytesIO()
    pq.write_table(table, out)
    return out.getvalue()


def csv(header: bool = False, ids: bool = False, delimiter: str = ",") -> bytes:
    lines = [delimiter.join([*(["id"] if ids else []), *(f"d{k}" for k in range(12))])] if header else []
    lines += [delimiter.join([*([f"row{k}"] if ids else []), *(repr(float(x)) for x in row)]) for k, row in enumerate(A)]
    return "\n".join(lines).encode()


PANDAS = ("," .join(str(k) for k in range(12)) + "\n").encode() + csv()
GOOD = {
    "npy": ("v.npy", npy(A)), "npy fortran": ("v.npy", npy(np.asfortranarray(A))), "npy big-endian": ("v.npy", npy(A.astype(">f4"))),
    "npy float64": ("v.npy", npy(A.astype(np.float64))), "csv": ("v.csv", csv()), "csv header": ("v.csv", csv(True)),
    "csv ids": ("v.csv", csv(True, True)), "csv of pandas": ("v.csv", PANDAS), "tsv": ("v.tsv", csv(True, delimiter="\t")),
    "csv lists": ("v.csv", ("text,embedding\n" + "\n".join(f'"a, b","{row.tolist()}"' for row in A)).encode()),
    "csv numpy": ("v.csv", ("embedding\n" + "\n".join('"' + " ".join(repr(row.tolist()).split(",")) + '"' for row in A)).encode()),
    "jsonl": ("v.jsonl", "\n".join(json.dumps(row.tolist()) for row in A).encode()),
    "jsonl objects": ("v.jsonl", "\n".join(json.dumps({"id": 1, "embedding": row.tolist()}) for row in A).encode()),
    "jsonl only list": ("v.jsonl", "\n".join(json.dumps({"id": 1, "mine": row.tolist()}) for row in A).encode()),
    "parquet lists": ("v.parquet", parquet(pa.table({"id": range(5), "embedding": list(A)}))),
    "parquet fixed": ("v.parquet", parquet(pa.table({"v": pa.FixedSizeListArray.from_arrays(A.ravel(), 12)}))),
    "parquet columns": ("v.parquet", parquet(pa.table({"id": range(5), **{f"d{k}": A[:, k] for k in range(12)}}))),
}


@pytest.mark.parametrize("name", GOOD)
def test_every_format_gives_the_same_vectors(tmp_path, name):
    file, data = GOOD[name]
    found = read_vectors(file, data)
    assert found.values.shape == (5, 12) and not found.values.flags.writeable
    np.testing.assert_allclose(found.values, A, rtol=1e-6)
    (tmp_path / file).write_bytes(data)
    np.testing.assert_array_equal(load_vectors(tmp_path / file).values, found.values)


@pytest.mark.parametrize("dtype", ["float16", "int8", "uint8"])
def test_what_npy_stores_is_kept(dtype):
    found = read_vectors("v.npy", npy((A * 9).astype(dtype)))
    assert found.stored == dtype and (found.values == (A * 9).astype(dtype)).all()


def header(shape: str, descr: str = "<f4") -> bytes:
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    text += b" " * (117 - len(text)) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


class Trap:
    def __reduce__(self):
        return print, ("run",)


BAD = {
    "a gigabyte announced": ("v.npy", header("(1000000, 256)"), "1,024,000,000 announced, 0 there"),
    "overflow announced": ("v.npy", header("(99999999999999999999, 2)"), "announced"),
    "negative": ("v.npy", header("(-1, 4)"), "the shape"), "pickled": ("v.npy", npy(np.array([[Trap()]], dtype=object)),
    "pickled Python"),
    "a pickle": ("v.npy", pickle.dumps([1]), "must be a .npy file"), "complex": ("v.npy", npy(A.astype(np.complex64)), "complex64"),
    "structured": ("v.npy", npy(np.zeros((2, 2), [("a", "f4")])), "real numbers"), "text dtype": ("v.npy", npy(np.array([["a"]])),
    "real numb"),
    "one dim": ("v.npy", npy(A[0]), "table of rows and dims"), "three dims": ("v.npy", npy(A[None]), "table of rows and dims"),
    "no rows": ("v.npy", npy(A[:0]), "must hold vectors"), "cut short": ("v.npy", npy(A)[:-5], "as its header announces"),
    "too long": ("v.npy", npy(A) + b"x", "as its header announces"), "nan": ("v.npy", npy(np.where(A[2, 3] == A, np.nan, A)), "1: 3"),
    "inf": ("v.npy", npy(np.where(A[0, 0] == A, np.inf, A)), "must be finite"), "10,000 dims": ("v.npy", npy(np.zeros((1, 10_000))),
    "10,000"),
    "npz": ("v.npy", b"PK\x03\x04...", "a zip file under that name"), "xlsx as csv": ("v.csv", b"PK\x03\x04...",
    "a zip file under that"),
    "empty": ("v.npy", b"", "an empty file"), "other": ("v.xlsx", b"x", "the extension '.xlsx'"), "none": ("v", b"x", "no extension"),
    "ragged csv": ("v.csv", b"1,2\n3", "line 2 of vectors 'v.csv' must have 2 cells"), "a word": ("v.csv", b"1,2\n3,x", "found 'x'"),
    "formula": ("v.csv", b"=SUM(A1),2\n3,4", "found '=SUM(A1)'"), "formula cell": ("v.csv", b"a,b\n1,=2", "found '=2'"),
    "semicolons": ("v.csv", b"a;b\n1;2", "a semicolon"), "10,000 columns": ("v.csv", b",".join([b"1"] * 10_000), "at most 8,192 dims"),
    "nul": ("v.csv", b"1,2\n3,\0", "line 2 of vectors 'v.csv' must hold text"), "nan text": ("v.csv", b"1,nan\n2,3", "must be finite"),
    "header only": ("v.csv", b"a,b\n", "a header and no rows"), "printed": ("v.csv", b'embedding\n"[1 ... 2]"', "was shortened"),
    "not utf-8": ("v.csv", b"1,\xff", "byte 0xff"), "blank": ("v.csv", b"\n \n", "blank lines only"),
    "twins": ("v.csv", "a\u0301,a\u0301\n1,2".encode(), "distinct column names"),
    "ragged jsonl": ("v.jsonl", b"[1,2]\n[1]", "line 2 of vectors 'v.jsonl' must have 2 dims"), "null": ("v.jsonl", b"[1,null]",
    "numbers only"),
    "true": ("v.jsonl", b"[1,true]", "found True"), "two lists": ("v.jsonl", b'{"a":[1],"b":[2]}', "2 lists"), "no list": ("v.jsonl",
    b"{}", "0 l"),
    "nested": ("v.jsonl", b"[[1],[2]]", "numbers only"), "deep": ("v.jsonl", b"[" * 9_000, "must be a JSON"),
    "huge": ("v.jsonl", b"[" + b"9" * 400 + b"]", "64 bits"), "no json": ("v.jsonl", b"{", "must be a JSON"),
    "no parquet": ("v.parquet", b"PAR1xxxxPAR1", "must be a parquet file"), "parquet text": ("v.parquet",
    parquet(pa.table({"t": ["a"]})), "'t'"),
    "parquet ragged": ("v.parquet", parquet(pa.table({"v": [[1.0], [1.0, 2.0]]})), "row 2"),
    "parquet null": ("v.parquet", parquet(pa.table({"v": [[1.0], None]})), "a null"),
    "parquet words": ("v.parquet", parquet(pa.table({"v": [["a"]]})), "must hold numbers"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_used_is_one_sentence(name):
    file, data, part = BAD[name]
    with pytest.raises(DataError) as caught:
        read_vectors(file, data)
    assert part in str(caught.value) and "\n" not in str(caught.value) and len(str(caught.value)) < 600


def test_a_gigabyte_that_is_only_announced_is_never_set_aside():
    tracemalloc.start()
    with pytest.raises(DataError):
        read_vectors("v.npy", header("(1000000, 256)"))
    assert tracemalloc.get_traced_memory()[1] < 1_000_000
    tracemalloc.stop()


def test_few_bytes_that_stand_for_many_numbers_are_counted():
    data = parquet(pa.table({"v": pa.FixedSizeListArray.from_arrays(np.zeros(4_000_000, np.float32), 400)}))
    assert len(data) < 100_000
    with pytest.raises(DataError, match="unpack to at most"):
        read_vectors("v.parquet", data, ReadLimits(max_decoded_bytes=1_000_000))


@pytest.mark.parametrize("limits", [ReadLimits(max_texts=4), ReadLimits(max_file_bytes=100)])
@pytest.mark.parametrize("name", ["npy", "csv", "jsonl", "parquet lists"])
def test_limits_hold_for_every_format(name, limits):
    with pytest.raises(DataError, match="must have at most"):
        read_vectors(*GOOD[name], limits)


def test_texts_row_by_row_with_blank_ones_and_ids():
    found = read_row_texts("t.txt", b"a\n\nb\n")
    assert found.texts == ("a", None, "b") and found.rows_for(3) == (0, 1, 2) and found.rows_for(2) == (0, 2)
    with pytest.raises(DataError, match=r"must be as many as the texts of 't.txt', 3 \(1 blank row among them\); found 4 rows"):
        found.rows_for(4)
    assert read_row_texts("t.csv", b"id,text\nx,a\ny,b\n").ids == ("x", "y")
    with pytest.raises(DataError, match="line 3 .* must have an id of its own"):
        read_row_texts("t.csv", b"id,text\nx,a\nx,b\n")
    twins = read_row_texts("t.csv", "id,text\n\u00e9,a\ne\u0301,b\n".encode())
    assert len(set(twins.ids)) == 2, "unicode twins are two ids, as written"
