"""Datasets of file version 0.1: pylance writes them, pennon reads them and deletes from them."""

from typing import Any

import lance
import pyarrow as pa
import pytest

import pennon

pytestmark = pytest.mark.interop

ROWS = 1000


def some(number: int) -> int | None:
    return number if number % 5 else None


def lists(of: Any) -> list[Any]:
    return [[of(row + item) for item in range(row % 4)] if row % 7 else None for row in range(ROWS)]


NUMBERS = pa.array([some(row % 100) for row in range(ROWS)], pa.int64())
TEXTS = pa.array([f"text {row}" if row % 3 else ("" if row % 2 else None) for row in range(ROWS)])
VECTORS = pa.FixedSizeListArray.from_arrays(pa.array(range(3 * ROWS), pa.float32()), 3)

COLUMNS: dict[str, pa.Array] = {
    **{str(of): NUMBERS.cast(of) for of in (pa.int8(), pa.uint16(), pa.int32(), pa.float64())},
    **{str(of): NUMBERS.cast(of) for of in (pa.timestamp("us", "UTC"), pa.duration("ns"))},
    "bool": pa.array([row % 3 == 0 if row % 5 else None for row in range(ROWS)]),
    "date": NUMBERS.cast(pa.int32()).cast(pa.date32()),
    "decimal": NUMBERS.cast(pa.decimal128(20, 0)),
    "string": TEXTS,
    "large string": TEXTS.cast(pa.large_string()),
    "binary": TEXTS.cast(pa.binary()),
    "fixed binary": pa.array([bytes([row % 256] * 5) for row in range(ROWS)], pa.binary(5)),
    "dictionary": pa.array([f"text {row % 9}" for row in range(ROWS)]).dictionary_encode(),
    "null": pa.nulls(ROWS),
    "vector": VECTORS,
    "vector of bool": pa.FixedSizeListArray.from_arrays(
        pa.array([at % 3 == 0 for at in range(3 * ROWS)]), 3
    ),
    "list": pa.array(lists(some), pa.list_(pa.int32())),
    "large list": pa.array(lists(lambda at: f"item {at}"), pa.large_list(pa.string())),
    "list of bool": pa.array(lists(lambda at: at % 2 == 0), pa.list_(pa.bool_())),
    "list of list": pa.array(lists(lambda at: [at] * (at % 3)), pa.list_(pa.list_(pa.int16()))),
    "list of struct": pa.array(lists(lambda at: {"x": at, "y": f"point {at}"})),
    "struct": pa.array([{"x": row, "y": {"z": f"point {row}"}} for row in range(ROWS)]),
    "no string": pa.nulls(ROWS, pa.string()),
}


def write(array: pa.Array, uri: str) -> lance.LanceDataset:
    """Two fragments of several batches."""
    table = pa.table({"row": range(ROWS), "a": array})
    dataset = lance.write_dataset(
        table,
        uri,
        data_storage_version="legacy",
        max_rows_per_file=700,
        max_rows_per_group=300,
    )
    assert len(dataset.get_fragments()) == 2
    return dataset


@pytest.mark.parametrize("array", COLUMNS.values(), ids=COLUMNS.keys())
def test_every_type(array: pa.Array, uri: str) -> None:
    theirs = write(array, uri)
    ours = pennon.dataset(uri)
    table = theirs.to_table()
    assert ours.to_table().schema.equals(table.schema)
    assert ours.to_table().to_pylist() == table.to_pylist()
    rows = [0, 1, 299, 300, 301, 699, 700, 999]
    assert ours.take(rows).to_pylist() == table.take(rows).to_pylist()
    predicate = "row % 3 = 1 AND row > 250"
    kept = table.filter(pa.array([row % 3 == 1 and row > 250 for row in range(ROWS)]))
    assert ours.to_table(filter=predicate).to_pylist() == kept.to_pylist()
    assert ours.to_table(columns=["a"]).to_pylist() == table.select(["a"]).to_pylist()


def test_deletions_by_either_side(uri: str) -> None:
    theirs = write(COLUMNS["list of struct"], uri)
    before = theirs.to_table()
    theirs.delete("row < 10")
    ours = pennon.dataset(uri)
    assert ours.to_table().equals(before.slice(10))
    ours.delete("row >= 990")
    for reader in (pennon, lance):
        assert reader.dataset(uri).to_table().equals(before.slice(10, 980))
        assert reader.dataset(uri, version=1).to_table().equals(before)
    lance.dataset(uri).validate()


def test_an_added_column(uri: str) -> None:
    theirs = write(TEXTS, uri)
    theirs.add_columns({"b": "row * 2"})
    theirs.drop_columns(["a"])
    assert pennon.dataset(uri).to_table().equals(lance.dataset(uri).to_table())


@pytest.mark.parametrize("version", [None, "2.1"])
def test_an_append_is_refused(uri: str, version: str | None) -> None:
    table = write(TEXTS, uri).to_table()
    with pytest.raises(Exception, match=r"writes 2\.0, 2\.1 and 2\.2"):
        pennon.write_dataset(table, uri, mode="append", data_storage_version=version)


@pytest.mark.parametrize("name", ["0.1", "legacy"])
def test_writing_is_refused(uri: str, name: str) -> None:
    with pytest.raises(Exception, match=r"2\.0, 2\.1 and 2\.2"):
        pennon.write_dataset(pa.table({"a": [1]}), uri, data_storage_version=name)
