"""Datasets of file version 2.0: what one implementation writes, the other reads and changes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest
from comparison import assert_same
from hypothesis import given
from strategies import FLAT_TYPES, every_pattern, tables

import pennon

pytestmark = pytest.mark.interop

VERSION = "2.0"
OLD_RELEASES = Path(__file__).parents[1] / "data" / "old_releases"
ROWS = 1000

both_directions = pytest.mark.parametrize(
    ("writer", "reader"),
    [(lance, pennon), (pennon, lance)],
    ids=["pylance-to-pennon", "pennon-to-pylance"],
)


def some(number: int) -> int | None:
    """A null for every fifth number."""
    return number if number % 5 else None


def lists(of: Callable[[int], Any]) -> list[list[Any] | None]:
    """Lists of no to three items, and a null now and then."""
    return [[of(row + item) for item in range(row % 4)] if row % 7 else None for row in range(ROWS)]


def vectors(items: pa.Array, dimension: int) -> pa.Array:
    return pa.FixedSizeListArray.from_arrays(items, dimension)


def points(row: int) -> dict[str, Any]:
    return {"x": row, "name": f"point {row}" if row % 3 else None}


NESTED: dict[str, pa.Array] = {
    "list": pa.array(lists(some), pa.list_(pa.int32())),
    "large list": pa.array(lists(some), pa.large_list(pa.int64())),
    "list of string": pa.array(lists(lambda at: f"item {at}"), pa.list_(pa.string())),
    "list of bool": pa.array(lists(lambda at: at % 2 == 0), pa.list_(pa.bool_())),
    "list of few strings": pa.array(lists(lambda at: f"item {at % 7}"), pa.list_(pa.string())),
    "list of list": pa.array(
        lists(lambda at: [at] * (at % 3)), pa.list_(pa.list_(pa.int16()))
    ).slice(3, 120),
    "list of struct": pa.array(lists(points)),
    "list of vector": pa.array(lists(lambda at: [at, at + 1]), pa.list_(pa.list_(pa.float32(), 2))),
    "empty lists": pa.array([[] for _ in range(ROWS)], pa.list_(pa.string())),
    "null lists": pa.nulls(ROWS, pa.list_(pa.int32())),
    "struct": pa.array([points(row) for row in range(ROWS)]),
    "struct of struct of list": pa.array(
        [{"a": {"b": [row] * (row % 3), "c": some(row)}} for row in range(ROWS)]
    ),
    "empty struct": pa.array([{}] * ROWS, pa.struct([])),
    "vector": vectors(pa.array(range(4 * ROWS), pa.float32()), 4),
    "vector with null items": vectors(pa.array([some(at) for at in range(2 * ROWS)]), 2),
    "vector of bool": vectors(pa.array([at % 3 == 0 for at in range(3 * ROWS)]), 3),
    "vector of vector": vectors(vectors(pa.array(range(6 * ROWS), pa.int16()), 2), 3),
    "null vectors": pa.nulls(ROWS, pa.list_(pa.float32(), 4)),
    "dictionary of numbers": pa.array([some(at % 50) for at in range(ROWS)]).dictionary_encode(),
    "dictionary with a null item": pa.DictionaryArray.from_arrays(
        pa.array([at % 3 for at in range(ROWS)], pa.int8()), ["a", None, "b"]
    ),
    "dictionary of nulls": pa.nulls(ROWS, pa.dictionary(pa.int8(), pa.string())),
}

PACKED = {"lance-encoding:packed": "true"}
METADATA: dict[str, tuple[pa.Array, dict[str, str]]] = {
    "packed": (
        pa.array([{"a": at % 100, "b": float(at)} for at in range(ROWS)]),
        PACKED,
    ),
    "packed with a vector": (
        pa.StructArray.from_arrays(
            [
                pa.array(range(ROWS), pa.int16()),
                vectors(pa.array(range(2 * ROWS), pa.float32()), 2),
            ],
            ["a", "b"],
        ),
        PACKED,
    ),
    **{
        f"strings by {scheme}": (
            pa.array([f"a rather long string {at}" if at % 5 else None for at in range(ROWS)]),
            {"lance-encoding:compression": scheme},
        )
        for scheme in ["zstd", "lz4", "fsst", "none"]
    },
}


def hand_around(writer: Any, reader: Any, table: pa.Table, uri: str, predicate: str) -> None:
    """Write with one, read, append and delete with the other, and read with the first again."""
    writer.write_dataset(table, uri, data_storage_version=VERSION)
    assert lance.dataset(uri).data_storage_version == VERSION
    assert_same(reader.dataset(uri).to_table(), table)
    rows = sorted({0, table.num_rows // 3, table.num_rows - 1})
    assert_same(reader.dataset(uri).take(rows), table.take(rows))

    reader.write_dataset(table, uri, mode="append")
    assert lance.dataset(uri).data_storage_version == VERSION
    assert_same(writer.dataset(uri).to_table(), pa.concat_tables([table, table]))

    reader.dataset(uri).delete(predicate)
    remaining = reader.dataset(uri).to_table()
    assert remaining.num_rows < 2 * table.num_rows
    assert_same(writer.dataset(uri).to_table(), remaining)
    lance.dataset(uri).validate()


def numbered(array: pa.Array, metadata: dict[str, str] | None = None) -> pa.Table:
    """A table of a column and the numbers of its rows."""
    fields = [pa.field("row", pa.int64()), pa.field("a", array.type, metadata=metadata)]
    return pa.table([pa.array(range(len(array))), array], schema=pa.schema(fields))


@both_directions
@pytest.mark.parametrize("of", FLAT_TYPES, ids=str)
def test_every_flat_type(writer: Any, reader: Any, of: pa.DataType, uri: str) -> None:
    hand_around(writer, reader, every_pattern(of, 5000), uri, "half_any IS NULL")


@both_directions
@pytest.mark.parametrize("array", NESTED.values(), ids=NESTED.keys())
def test_every_nested_type(writer: Any, reader: Any, array: pa.Array, uri: str) -> None:
    hand_around(writer, reader, numbered(array), uri, "row % 3 = 1")


@both_directions
@pytest.mark.parametrize(("array", "metadata"), METADATA.values(), ids=METADATA.keys())
def test_what_metadata_asks_for(
    writer: Any, reader: Any, array: pa.Array, metadata: dict[str, str], uri: str
) -> None:
    hand_around(writer, reader, numbered(array, metadata), uri, "row % 3 = 1")


@both_directions
@given(table=tables(max_columns=2))
def test_any_flat_table(
    writer: Any, reader: Any, table: pa.Table, tmp_path_factory: pytest.TempPathFactory
) -> None:
    uri = str(tmp_path_factory.mktemp("any") / "dataset")
    writer.write_dataset(table, uri, data_storage_version=VERSION)
    assert_same(reader.dataset(uri).to_table(), table)


@both_directions
def test_many_pages(writer: Any, reader: Any, uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANCE_FILE_WRITER_MAX_PAGE_BYTES", "3000")
    arrays = ["list", "list of struct", "vector", "dictionary of numbers", "struct"]
    batch = pa.table({name: NESTED[name] for name in arrays})
    batch = batch.append_column("row", pa.array(range(ROWS)))
    table = pa.concat_tables([batch] * 5)
    writer.write_dataset(table, uri, data_storage_version=VERSION)
    dataset = reader.dataset(uri)
    assert_same(dataset.to_table(), table)
    rows = [1, 2, 3, 999, 1000, 1001, 4321, 4999]
    assert_same(dataset.take(rows), table.take(rows))
    kept = pa.concat_tables([batch.slice(10, 20)] * 5)
    assert_same(dataset.to_table(filter="row >= 10 AND row < 30"), kept)


@both_directions
def test_lists_of_dictionary_values(writer: Any, reader: Any, uri: str) -> None:
    texts = pa.array(lists(lambda at: f"{at % 9}" if at % 4 else None), pa.list_(pa.string()))
    keyed = texts.cast(pa.list_(pa.dictionary(pa.int16(), pa.string())))
    writer.write_dataset(numbered(keyed), uri, data_storage_version=VERSION)
    assert reader.dataset(uri).to_table()["a"].to_pylist() == texts.to_pylist()


@both_directions
def test_dictionaries_of_many_pages_are_merged(
    writer: Any, reader: Any, uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANCE_FILE_WRITER_MAX_PAGE_BYTES", "500")
    keys = pa.array([at % 100 for at in range(ROWS)], pa.int8())
    table = numbered(pa.DictionaryArray.from_arrays(keys, [f"text {at}" for at in range(100)]))
    writer.write_dataset(table, uri, data_storage_version=VERSION)
    assert_same(reader.dataset(uri).to_table(), table)


@pytest.mark.parametrize("writer", [lance, pennon], ids=["by-pylance", "by-pennon"])
def test_blobs(writer: Any, uri: str) -> None:
    values = [b"abc", None, b"", b"x" * 100_000] * 20
    blob = pa.field("a", pa.large_binary(), metadata={"lance-encoding:blob": "true"})
    table = pa.table([pa.array(values, blob.type)], schema=pa.schema([blob]))
    writer.write_dataset(table, uri, data_storage_version=VERSION)
    rows = [0, 2, 3, 79]
    for library in (pennon, lance):
        blobs = library.dataset(uri).take_blobs("a", indices=rows)
        assert [blob.readall() for blob in blobs] == [values[row] for row in rows]
        places = library.dataset(uri).to_table()["a"].to_pylist()
        assert [place["size"] for place in places] == [len(value or b"") for value in values]


@pytest.mark.parametrize("release", ["0.13.0", "0.16.0"])
def test_files_of_old_releases(release: str) -> None:
    dataset = pennon.dataset(OLD_RELEASES / release)
    expected = [
        {
            "number": some(row),
            "text": f"text {row}" if row % 3 else None,
            "flag": row % 2 == 0,
            "list": [f"item {row}"] * (row % 3) if row % 7 else None,
            "point": {"x": row, "name": f"point {row}"},
        }
        for row in range(20)
    ]
    assert dataset.to_table().to_pylist() == expected
    assert dataset.take([7, 8, 19]).to_pylist() == [expected[row] for row in (7, 8, 19)]


def test_a_null_struct_is_refused_with_advice(uri: str) -> None:
    table = pa.table({"a": pa.array([{"x": 1}, None])})
    with pytest.raises(ValueError, match=r"2\.1"):
        pennon.write_dataset(table, uri, data_storage_version=VERSION)
