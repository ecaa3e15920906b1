"""Large objects, written by either library and taken by both."""

import os
from pathlib import Path

import lance
import pyarrow as pa
import pytest

import pennon
from pennon import exceptions

SMALL, MIDDLE, LARGE = b"abc", os.urandom(200_000), os.urandom(5 << 20)
VALUES = [SMALL, None, b"", MIDDLE, LARGE]


def table() -> pa.Table:
    field = pa.field("b", pa.large_binary(), metadata={"lance-encoding:blob": "true"})
    columns = [pa.array(range(5)), pa.array(VALUES, pa.large_binary())]
    return pa.table(columns, schema=pa.schema([pa.field("i", pa.int64()), field]))


@pytest.mark.parametrize("version", ["2.1", "2.2"])
@pytest.mark.parametrize("writer", [pennon, lance], ids=["pennon", "lance"])
def test_large_objects_are_taken_as_they_were_written(
    writer: object, version: str, tmp_path: Path
) -> None:
    uri = str(tmp_path / "d")
    writer.write_dataset(table(), uri, data_storage_version=version)  # type: ignore[attr-defined]
    for library in (pennon, lance):
        files = library.dataset(uri).take_blobs("b", indices=[4, 0, 1, 2, 3])
        values = [None if file is None else file.read() for file in files]
        assert values == [LARGE, SMALL, None, b"", MIDDLE]
        assert files[0].size() == len(LARGE)


def test_a_scan_tells_where_large_objects_are(tmp_path: Path) -> None:
    uri = str(tmp_path / "d")
    lance.write_dataset(table(), uri, data_storage_version="2.2")
    assert pennon.dataset(uri).to_table().equals(lance.dataset(uri).to_table())


def test_other_columns_have_no_large_objects(tmp_path: Path) -> None:
    dataset = pennon.write_dataset(table(), tmp_path / "d")
    with pytest.raises(exceptions.InvalidInputError, match="'i' has no large objects"):
        dataset.take_blobs("i", indices=[0])
    with pytest.raises(exceptions.RowIndexError):
        dataset.take_blobs("b", indices=[5])
