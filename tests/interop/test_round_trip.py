"""What one implementation writes, the other reads, changes, and hands back."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
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

both_directions = pytest.mark.parametrize(
    ("writer", "reader"),
    [(lance, pennon), (pennon, lance)],
    ids=["pylance-to-pennon", "pennon-to-pylance"],
)
both_formats = pytest.mark.parametrize("version", ["2.1", "2.2"])


@contextmanager
def scratch() -> Iterator[str]:
    """An address for one dataset; Hypothesis needs a fresh one per example."""
    with tempfile.TemporaryDirectory() as folder:
        yield str(Path(folder) / "dataset")


def hand_around(writer: Any, reader: Any, table: pa.Table, version: str, predicate: str) -> None:
    """Write with one, read, append and delete with the other, and read with the first again."""
    with scratch() as uri:
        writer.write_dataset(table, uri, data_storage_version=version)
        assert_same(reader.dataset(uri).to_table(), table)

        reader.write_dataset(table, uri, mode="append")
        twice = pa.concat_tables([table, table])
        assert_same(writer.dataset(uri).to_table(), twice)

        reader.dataset(uri).delete(predicate)
        remaining = reader.dataset(uri).to_table()
        assert_same(writer.dataset(uri).to_table(), remaining)
        assert_same(writer.dataset(uri, version=1).to_table(), table)
        lance.dataset(uri).validate()


@both_formats
@both_directions
def test_flights(writer: Any, reader: Any, version: str, flights: pa.Table) -> None:
    hand_around(writer, reader, flights, version, "dep_time IS NULL OR carrier = 'UA'")


@both_formats
@both_directions
@pytest.mark.parametrize("of", FLAT_TYPES, ids=str)
def test_every_flat_type(writer: Any, reader: Any, version: str, of: pa.DataType) -> None:
    hand_around(writer, reader, every_pattern(of, 5000), version, "half_any IS NULL")


@both_formats
@both_directions
@given(table=tables())
def test_any_flat_table(writer: Any, reader: Any, version: str, table: pa.Table) -> None:
    hand_around(writer, reader, table, version, "c0 IS NULL")


@both_formats
@both_directions
@given(table=tables(max_columns=2))
def test_any_rows_can_be_taken(writer: Any, reader: Any, version: str, table: pa.Table) -> None:
    rows = sorted({0, table.num_rows // 3, table.num_rows - 1} & set(range(table.num_rows)))
    with scratch() as uri:
        writer.write_dataset(table, uri, data_storage_version=version)
        if rows:
            assert_same(reader.dataset(uri).take(rows), table.take(rows))


@both_directions
def test_deletions_and_filters_agree(writer: Any, reader: Any, flights: pa.Table) -> None:
    predicate = "dep_delay > 60 AND origin <> 'JFK' AND month IN (2, 3)"
    with scratch() as uri:
        writer.write_dataset(flights, uri, max_rows_per_file=50_000)
        writer.dataset(uri).delete("arr_delay IS NULL")
        expected = writer.dataset(uri).to_table(columns=["flight", "dest"], filter=predicate)
        found = reader.dataset(uri).to_table(columns=["flight", "dest"], filter=predicate)
        assert_same(found, expected)
        assert reader.dataset(uri).count_rows(predicate) == expected.num_rows > 0
