"""Single data files, for use without a dataset."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pennon import _native
from pennon.exceptions import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path
    from types import TracebackType

    import pyarrow as pa
    from typing_extensions import Self

__all__ = [
    "BufferDescriptor",
    "ColumnMetadata",
    "ColumnStatistics",
    "FileMetadata",
    "FileStatistics",
    "LanceFileReader",
    "LanceFileWriter",
    "PageMetadata",
    "ReaderResults",
]


@dataclass(frozen=True)
class BufferDescriptor:
    """Where in a file a buffer is, in bytes."""

    position: int
    size: int


@dataclass(frozen=True)
class PageMetadata:
    """A page: its buffers, and how they are arranged, as a text for people."""

    buffers: list[BufferDescriptor]
    encoding: str


@dataclass(frozen=True)
class ColumnMetadata:
    """A column: its pages, and the buffers that belong to none of them."""

    pages: list[PageMetadata]
    column_buffers: list[BufferDescriptor]


@dataclass(frozen=True)
class FileMetadata:
    """What a file says about itself. Sizes are in bytes."""

    schema: pa.Schema
    num_rows: int
    major_version: int
    minor_version: int
    num_data_bytes: int
    num_column_metadata_bytes: int
    num_global_buffer_bytes: int
    global_buffers: list[BufferDescriptor]
    columns: list[ColumnMetadata]


@dataclass(frozen=True)
class ColumnStatistics:
    """How much of a file a column takes. The size is in bytes."""

    num_pages: int
    size_bytes: int


@dataclass(frozen=True)
class FileStatistics:
    """How much of a file each column takes."""

    columns: list[ColumnStatistics]


class ReaderResults:
    """What a read returns: all at once, or batch by batch."""

    def __init__(self, reader: pa.RecordBatchReader) -> None:
        self.reader = reader

    def to_batches(self) -> pa.RecordBatchReader:
        """Return the batches as a reader; rows are read as it is gone through."""
        return self.reader

    def to_table(self) -> pa.Table:
        """Return all rows as one table."""
        return self.reader.read_all()


class LanceFileReader:
    """A data file, opened for reading.

    Parameters
    ----------
    path
        A path or URL of one file.
    storage_options
        Not used for local files.
    columns
        The columns to read; all when not given.
    verify_checksums
        Whether what is read is compared with the file's checksums, if it has them.

    Raises
    ------
    StorageError
        When there is no such file.
    CorruptFileError
        When it is not a Lance file, or damaged.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow as pa
    >>> from pennon.file import LanceFileReader, LanceFileWriter
    >>> path = tempfile.mkdtemp() + "/numbers.lance"
    >>> with LanceFileWriter(path) as writer:
    ...     writer.write_batch(pa.table({"n": [1, 2, 3]}))
    >>> reader = LanceFileReader(path)
    >>> reader.num_rows(), reader.take_rows([2, 0]).to_table()["n"].to_pylist()
    (3, [3, 1])
    """

    def __init__(
        self,
        path: str | Path,
        storage_options: dict[str, str] | None = None,
        columns: list[str] | None = None,
        *,
        verify_checksums: bool = True,
    ) -> None:
        del storage_options
        self._native = _native.FileReader.open(
            os.fspath(path), columns, verify_checksums=verify_checksums
        )

    def _schema(self) -> pa.Schema:
        import pyarrow as pa

        return pa.schema(self._native)

    def num_rows(self) -> int:
        """Return the number of rows."""
        return self._native.num_rows

    def read_all(self, *, batch_size: int = 1024, batch_readahead: int = 16) -> ReaderResults:
        """Read all rows, in batches of at most ``batch_size``."""
        del batch_readahead
        return self.read_range(0, self.num_rows(), batch_size=batch_size)

    def read_range(
        self, start: int, num_rows: int, *, batch_size: int = 1024, batch_readahead: int = 16
    ) -> ReaderResults:
        """Read ``num_rows`` rows from number ``start`` on.

        Raises
        ------
        InvalidInputError
            When the file does not have them.
        """
        del batch_readahead
        end = start + num_rows
        if start < 0 or num_rows < 0 or end > self.num_rows():
            msg = f"rows {start} to {end} of a file of {self.num_rows()} rows"
            raise InvalidInputError(msg)
        step = positive(batch_size)
        starts = range(start, end, step)
        return self._results((at, min(step, end - at)) for at in starts)

    def _results(self, parts: Iterable[tuple[int, int]]) -> ReaderResults:
        import pyarrow as pa

        def batches() -> Iterator[pa.RecordBatch]:
            for part in parts:
                yield pa.record_batch(self._native.read([part]))

        schema = pa.record_batch(self._native.read([])).schema
        return ReaderResults(pa.RecordBatchReader.from_batches(schema, batches()))

    def take_rows(
        self, indices: Sequence[int] | Any, *, batch_size: int = 1024, batch_readahead: int = 16
    ) -> ReaderResults:
        """Read the rows with these numbers, in the order given.

        Raises
        ------
        InvalidInputError
            When the file does not have one of them.
        """
        del batch_readahead
        import pyarrow as pa

        wanted = [int(i) for i in (getattr(indices, "to_pylist", lambda: indices)())]
        if any(not 0 <= row < self.num_rows() for row in wanted):
            msg = f"rows {wanted} of a file of {self.num_rows()} rows"
            raise InvalidInputError(msg)
        rows = sorted(set(wanted))
        table = pa.table(pa.record_batch(self._native.read([(row, 1) for row in rows])))
        if rows != wanted:
            places = {row: place for place, row in enumerate(rows)}
            table = table.take([places[row] for row in wanted])
        return ReaderResults(table.to_reader(max_chunksize=positive(batch_size)))

    def read_global_buffer(self, index: int) -> bytes:
        """Return the bytes of a global buffer; the first is the schema."""
        return bytes(self._native.global_buffer(index))

    def metadata(self) -> FileMetadata:
        """Return what the file says about itself."""
        buffers = self._native.global_buffers()
        columns = [
            ColumnMetadata(
                [PageMetadata(descriptors(places), encoding) for places, encoding in pages],
                descriptors(own),
            )
            for pages, own in self._native.columns()
        ]
        major, minor = self._native.version
        return FileMetadata(
            schema=self._schema(),
            num_rows=self.num_rows(),
            major_version=major,
            minor_version=minor,
            num_data_bytes=sum(size_of(column) for column in columns),
            num_column_metadata_bytes=self._native.column_metadata_bytes(),
            num_global_buffer_bytes=sum(size for _, size in buffers),
            global_buffers=descriptors(buffers),
            columns=columns,
        )

    def file_statistics(self) -> FileStatistics:
        """Return how much of the file each column takes."""
        columns = self.metadata().columns
        return FileStatistics([ColumnStatistics(len(c.pages), size_of(c)) for c in columns])


class LanceFileWriter:
    """A data file in the making; there is no file before :meth:`close`.

    Parameters
    ----------
    path
        A path or URL of the file.
    schema
        The schema of the data; that of the first batch when not given.
    data_cache_bytes
        Accepted for the sake of programs written for pylance.
    version
        The file version, such as ``"2.1"``; 2.2 when not given.
    storage_options
        Not used for local files.
    max_page_bytes
        About how many bytes of rows a page holds.
    checksums
        Whether the file carries checksums, which only pennon reads.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow as pa
    >>> from pennon.file import LanceFileWriter
    >>> writer = LanceFileWriter(tempfile.mkdtemp() + "/numbers.lance", version="2.1")
    >>> writer.write_batch(pa.record_batch({"n": [1, 2, 3]}))
    >>> writer.close()
    3
    """

    def __init__(
        self,
        path: str | Path,
        schema: pa.Schema | None = None,
        *,
        data_cache_bytes: int | None = None,
        version: str | None = None,
        storage_options: dict[str, str] | None = None,
        max_page_bytes: int | None = None,
        checksums: bool = True,
    ) -> None:
        del data_cache_bytes, storage_options
        self._path = os.fspath(path)
        self._version = version
        self._page_bytes = max_page_bytes
        self._checksums = checksums
        self._closed = False
        self._native = None if schema is None else self._create(schema)

    def _create(self, schema: pa.Schema) -> _native.FileWriter:
        return _native.FileWriter.create(
            self._path,
            schema,
            version=self._version,
            page_bytes=self._page_bytes,
            checksums=self._checksums,
        )

    def _begun(self) -> _native.FileWriter:
        if self._native is None:
            msg = "the schema is not known yet: give one, or write a batch first"
            raise InvalidInputError(msg)
        return self._native

    def write_batch(self, batch: pa.RecordBatch | pa.Table) -> None:
        """Append the rows of a batch or a table."""
        if self._native is None:
            self._native = self._create(batch.schema)
        self._native.write(batch)

    def add_schema_metadata(self, key: str, value: str) -> None:
        """Add to the metadata of the file's schema."""
        self._begun().add_schema_metadata(key, value)

    def add_global_buffer(self, data: bytes) -> int:
        """Add a buffer beside the columns and return its number."""
        return self._begun().add_global_buffer(data)

    def close(self) -> int | None:
        """Complete the file and return how many rows it has; ``None`` if that was done before."""
        if self._closed:
            return None
        self._closed = True
        return self._begun().finish()

    def __enter__(self) -> Self:
        """Return the writer."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Complete the file, or leave none after an exception."""
        if kind is None:
            self.close()
        elif self._native is not None:
            self._native.abort()


def positive(batch_size: int) -> int:
    """Return a batch size that is one."""
    if batch_size < 1:
        msg = f"batch_size must be at least 1, not {batch_size}"
        raise InvalidInputError(msg)
    return batch_size


def descriptors(places: list[tuple[int, int]]) -> list[BufferDescriptor]:
    """Return where buffers are."""
    return [BufferDescriptor(position, size) for position, size in places]


def size_of(column: ColumnMetadata) -> int:
    """Return the bytes of a column's buffers."""
    pages = sum(buffer.size for page in column.pages for buffer in page.buffers)
    return pages + sum(buffer.size for buffer in column.column_buffers)
