"""Single data files, beside those of pylance."""

from pathlib import Path
from typing import Any

import lance.file
import pyarrow as pa
import pytest

import pennon.file
from pennon import exceptions

ROWS = 5_000
LIBRARIES = [pennon.file, lance.file]


def table() -> pa.Table:
    return pa.table(
        {
            "i": range(ROWS),
            "s": [f"text {row % 99}" for row in range(ROWS)],
            "l": [list(range(row % 3)) for row in range(ROWS)],
        }
    )


def write(library: Any, path: Path, version: str = "2.2") -> None:
    with library.LanceFileWriter(str(path), version=version) as writer:
        for batch in table().to_batches(max_chunksize=2_000):
            writer.write_batch(batch)
        writer.add_schema_metadata("by", "a test")
        assert writer.add_global_buffer(b"beside") == 1


@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2"])
@pytest.mark.parametrize("writer", LIBRARIES)
@pytest.mark.parametrize("reader", LIBRARIES)
def test_either_library_reads_what_either_writes(
    writer: Any, reader: Any, version: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.lance"
    write(writer, path, version)
    file = reader.LanceFileReader(str(path))
    expected = table()
    assert file.num_rows() == ROWS
    assert file.read_all(batch_size=777).to_table().equals(expected)
    assert file.read_range(1_234, 1_000).to_table().equals(expected.slice(1_234, 1_000))
    assert file.take_rows([3, 7, 4_999]).to_table().equals(expected.take([3, 7, 4_999]))
    sizes = [batch.num_rows for batch in file.read_all(batch_size=2_000).to_batches()]
    assert sizes == [2_000, 2_000, 1_000]
    assert file.read_global_buffer(1) == b"beside"
    metadata = file.metadata()
    assert metadata.schema.metadata == {b"by": b"a test"}
    numbers = {"2.0": (0, 3), "2.1": (2, 1), "2.2": (2, 2)}
    assert (metadata.major_version, metadata.minor_version) == numbers[version]
    assert len(metadata.columns) == len(file.file_statistics().columns)
    for column in metadata.columns:
        assert all(page.encoding for page in column.pages)


def test_columns_are_read_alone_and_rows_in_any_order(tmp_path: Path) -> None:
    write(pennon.file, tmp_path / "a.lance")
    file = pennon.file.LanceFileReader(tmp_path / "a.lance", columns=["s"])
    assert file.take_rows([9, 2, 9]).to_table().equals(table().select(["s"]).take([9, 2, 9]))
    assert file.read_range(5, 0).to_table().num_rows == 0
    assert file.metadata().schema.names == ["i", "s", "l"]


def test_a_failure_while_writing_leaves_no_file(tmp_path: Path) -> None:
    def fail() -> None:
        with pennon.file.LanceFileWriter(tmp_path / "a.lance") as writer:
            writer.write_batch(table())
            raise KeyError("on purpose")

    with pytest.raises(KeyError):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_a_writer_can_be_closed_twice_and_needs_a_schema(tmp_path: Path) -> None:
    writer = pennon.file.LanceFileWriter(tmp_path / "a.lance", table().schema)
    assert writer.close() == 0
    assert writer.close() is None
    with pytest.raises(exceptions.InvalidInputError, match="schema is not known"):
        pennon.file.LanceFileWriter(tmp_path / "b.lance").close()


def test_what_is_not_there_is_refused(tmp_path: Path) -> None:
    write(pennon.file, tmp_path / "a.lance")
    file = pennon.file.LanceFileReader(tmp_path / "a.lance")
    with pytest.raises(ValueError, match="of a file of 5000 rows"):
        file.read_range(4_999, 2)
    with pytest.raises(ValueError, match="of a file of 5000 rows"):
        file.take_rows([ROWS])
    with pytest.raises(exceptions.InvalidInputError, match="global buffer 9"):
        file.read_global_buffer(9)
    with pytest.raises(exceptions.UnknownColumnError, match="nothing"):
        pennon.file.LanceFileReader(tmp_path / "a.lance", columns=["nothing"])
    with pytest.raises(exceptions.LanceError):
        pennon.file.LanceFileReader(tmp_path / "b.lance")


def test_checksums_are_verified_unless_that_is_turned_off(tmp_path: Path) -> None:
    path = tmp_path / "a.lance"
    write(pennon.file, path)
    damaged = bytearray(path.read_bytes())
    damaged[-1_000] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(exceptions.CorruptFileError, match="checksums differ"):
        pennon.file.LanceFileReader(path).read_all().to_table()
    with pennon.file.LanceFileWriter(path, checksums=False) as writer:
        writer.write_batch(table())
    assert len(pennon.file.LanceFileReader(path).metadata().global_buffers) == 1
