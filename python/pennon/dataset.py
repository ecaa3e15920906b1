"""Datasets: opening, writing, reading and changing them."""

from __future__ import annotations

import os
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

from pennon import _native
from pennon._arrow import Source
from pennon._modes import WriteMode, check_mode
from pennon._results import DeleteResult, Version
from pennon.blob import BlobFile
from pennon.exceptions import InvalidInputError, RowIndexError, UnsupportedFeatureError
from pennon.fragment import (
    DEFAULT_MAX_BYTES_PER_FILE,
    DEFAULT_MAX_ROWS_PER_FILE,
    FragmentMetadata,
    LanceFragment,
)
from pennon.operation import LanceOperation
from pennon.scanner import LanceScanner, ScanOptions, column_names, not_negative, sql_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    import pyarrow as pa
    from typing_extensions import Unpack

    from pennon._arrow import ReaderLike
    from pennon.scanner import ScanKeywords

__all__ = [
    "DeleteResult",
    "LanceDataset",
    "Version",
    "dataset",
    "write_dataset",
]


def address_of(uri: str | Path | LanceDataset) -> str:
    """Return a dataset's address as text."""
    return uri.uri if isinstance(uri, LanceDataset) else os.fspath(uri)


def dataset(
    uri: str | Path, version: int | None = None, *, verify_checksums: bool = True
) -> LanceDataset:
    """Open a dataset.

    Parameters
    ----------
    uri
        A path, a ``file://`` URL, or ``memory://name`` for a dataset that lives and dies with the
        process.
    version
        The version to open; the latest when not given.
    verify_checksums
        Whether what is read is compared with the checksums that pennon writes into its files. Files
        of other writers have none.

    Raises
    ------
    DatasetNotFoundError
        When there is no dataset.
    VersionNotFoundError
        When there is no such version.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import pennon
    >>> _ = pennon.write_dataset(pa.table({"id": [1, 2]}), "memory://example/open")
    >>> pennon.dataset("memory://example/open").version
    1
    """
    return LanceDataset(uri, version, verify_checksums=verify_checksums)


def write_dataset(
    data_obj: ReaderLike,
    uri: str | Path | LanceDataset,
    schema: pa.Schema | None = None,
    mode: WriteMode = "create",
    *,
    max_rows_per_file: int = DEFAULT_MAX_ROWS_PER_FILE,
    max_bytes_per_file: int = DEFAULT_MAX_BYTES_PER_FILE,
    data_storage_version: str | None = None,
    durable: bool = True,
) -> LanceDataset:
    """Write data to a dataset, in a new version.

    Parameters
    ----------
    data_obj
        Anything with the Arrow C stream or array interface (pyarrow tables, batches and readers,
        polars and pandas frames, DuckDB relations, another dataset's scanner), a pyarrow dataset,
        a dict of columns, a list of dicts, or an iterable of record batches. It is streamed: memory
        does not grow with its length.
    uri
        Where the dataset is, or will be.
    schema
        The schema to store the data under; taken from the data when not given.
    mode
        ``"create"`` makes a new dataset and fails when there is one; ``"append"`` adds rows;
        ``"overwrite"`` replaces rows and schema, while older versions stay readable. The last two
        make the dataset when there is none.
    max_rows_per_file, max_bytes_per_file
        When a new file, and so a new fragment, is begun.
    data_storage_version
        The file version: ``"2.1"`` or ``"2.2"``. Default: the dataset's own; ``"2.2"`` for a new
        one.
    durable
        Whether everything has reached the disk when this returns, so that a power cut loses
        nothing. ``False`` is faster.

    Returns
    -------
    LanceDataset
        The dataset at the new version.

    Raises
    ------
    DatasetAlreadyExistsError
        When the mode is ``"create"`` and there is a dataset.
    SchemaMismatchError
        When appended data does not fit; the message lists the differences.
    UnsupportedTypeError
        When a type cannot be stored.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import pennon
    >>> uri = "memory://example/write"
    >>> _ = pennon.write_dataset(pa.table({"id": [1, 2]}), uri)
    >>> pennon.write_dataset({"id": [3]}, uri, mode="append").count_rows()
    3
    """
    check_mode(mode)
    address = address_of(uri)
    source = Source(data_obj, schema)
    with source.failures():
        written = _native.write_dataset(
            source.stream,
            address,
            mode=mode,
            max_rows_per_file=max_rows_per_file,
            max_bytes_per_file=max_bytes_per_file,
            data_storage_version=data_storage_version,
            sync=durable,
        )
    return LanceDataset._wrap(address, written)


class LanceDataset:
    """A dataset at one of its versions.

    Made by :func:`pennon.dataset` and :func:`pennon.write_dataset`. Operations that make a version
    (:meth:`delete`, :meth:`restore`) move this handle to it; other handles stay where they are.
    A dataset pickles as its address and version.

    Parameters
    ----------
    uri
        The dataset's address.
    version
        The version to open; the latest when not given.
    verify_checksums
        Whether what is read is compared with the checksums of files that have them.
    """

    def __init__(
        self, uri: str | Path, version: int | None = None, *, verify_checksums: bool = True
    ) -> None:
        self._uri = os.fspath(uri)
        self._native = _native.Dataset.open(self._uri, version, verify_checksums=verify_checksums)

    @classmethod
    def _wrap(cls, uri: str, native: _native.Dataset) -> LanceDataset:
        self = cls.__new__(cls)
        self._uri = uri
        self._native = native
        return self

    def __repr__(self) -> str:
        """Show the address, the version, the size and the schema."""
        fragments = len(self._native.fragments())
        columns = "\n".join(f"  {field.name}: {field.type}" for field in self.schema)
        return (
            f"LanceDataset('{self._uri}', version={self.version}, rows={self.count_rows():,}, "
            f"fragments={fragments}, format={self.data_storage_version})\n{columns}"
        )

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.count_rows()

    def __reduce__(self) -> tuple[type[LanceDataset], tuple[str, int]]:
        """Pickle as the address and the version."""
        return type(self), (self._uri, self.version)

    @property
    def uri(self) -> str:
        """The address that the dataset was opened with."""
        return self._uri

    @property
    def version(self) -> int:
        """The version that this handle reads."""
        return self._native.version

    @property
    def latest_version(self) -> int:
        """The newest version, whatever this handle reads."""
        return self._native.latest_version()

    @property
    def data_storage_version(self) -> str:
        """The file version that new files are written as."""
        return self._native.data_storage_version

    @property
    def schema(self) -> pa.Schema:
        """The schema of this version."""
        import pyarrow as pa

        return pa.schema(self._native)

    def versions(self) -> list[Version]:
        """Return all versions that can still be opened, oldest first.

        Timestamps are in UTC, without a zone and to the microsecond, as pylance gives them.
        """
        return [
            Version(version=version, timestamp=_utc(nanoseconds), metadata=dict(metadata))
            for version, nanoseconds, metadata in self._native.versions()
        ]

    def checkout_version(self, version: int) -> LanceDataset:
        """Return this dataset at another version; this handle stays where it is."""
        return self._wrap(self._uri, self._native.checkout(version))

    def checkout_latest(self) -> None:
        """Move this handle to the newest version."""
        self._native = self._native.checkout_latest()

    def restore(self) -> None:
        """Make the version that this handle reads the newest again, as a new version.

        Examples
        --------
        >>> import pyarrow as pa
        >>> import pennon
        >>> uri = "memory://example/restore"
        >>> dataset = pennon.write_dataset(pa.table({"id": [1, 2, 3]}), uri)
        >>> _ = dataset.delete("id = 2")
        >>> dataset.count_rows()
        2
        >>> old = dataset.checkout_version(1)
        >>> old.restore()
        >>> old.version, old.count_rows()
        (3, 3)
        """
        self._native = self._native.restore(sync=True)

    def scanner(
        self,
        columns: Sequence[str] | None = None,
        filter: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
        *,
        batch_size: int | None = None,
        fragments: Iterable[LanceFragment] | None = None,
        with_row_id: bool = False,
        with_row_address: bool = False,
    ) -> LanceScanner:
        """Return a scanner: options now, reading later.

        Parameters
        ----------
        columns
            The columns to return, in this order; all when not given. ``_rowid`` and ``_rowaddr``
            may be among them.
        filter
            An SQL predicate; only rows for which it is true are returned. See the page on SQL.
        limit, offset
            Return at most ``limit`` rows, after leaving out the first ``offset``.
        batch_size
            Rows of a batch at most; 8,192 when not given.
        fragments
            Scan these fragments, in this order, instead of all.
        with_row_id, with_row_address
            Add the column ``_rowid`` or ``_rowaddr``.
        """
        return LanceScanner(
            self,
            ScanOptions(
                columns=column_names(columns),
                filter=sql_text(filter),
                limit=not_negative("limit", limit),
                offset=not_negative("offset", offset),
                batch_size=not_negative("batch_size", batch_size),
                fragments=None if fragments is None else [f.fragment_id for f in fragments],
                with_row_id=bool(with_row_id),
                with_row_address=bool(with_row_address),
            ),
        )

    def to_table(
        self,
        columns: Sequence[str] | None = None,
        filter: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
        **options: Unpack[ScanKeywords],
    ) -> pa.Table:
        """Read rows into a pyarrow table; options as in :meth:`scanner`.

        Examples
        --------
        >>> import pyarrow as pa
        >>> import pennon
        >>> table = pa.table({"id": [1, 2, 3], "name": ["a", "b", "c"]})
        >>> dataset = pennon.write_dataset(table, "memory://example/to_table")
        >>> dataset.to_table(columns=["name"], filter="id >= 2", limit=1).to_pylist()
        [{'name': 'b'}]
        """
        return self.scanner(columns, filter, limit, offset, **options).to_table()

    def to_batches(
        self,
        columns: Sequence[str] | None = None,
        filter: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
        **options: Unpack[ScanKeywords],
    ) -> Iterator[pa.RecordBatch]:
        """Read rows batch by batch; options as in :meth:`scanner`."""
        return self.scanner(columns, filter, limit, offset, **options).to_batches()

    def to_reader(
        self,
        columns: Sequence[str] | None = None,
        filter: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
        **options: Unpack[ScanKeywords],
    ) -> pa.RecordBatchReader:
        """Read rows as a pyarrow reader; options as in :meth:`scanner`."""
        return self.scanner(columns, filter, limit, offset, **options).to_reader()

    def head(
        self,
        num_rows: int,
        *,
        columns: Sequence[str] | None = None,
        filter: str | None = None,
        **options: Unpack[ScanKeywords],
    ) -> pa.Table:
        """Return the first rows; options as in :meth:`scanner`."""
        return self.to_table(columns, filter, num_rows, **options)

    def count_rows(self, filter: str | None = None) -> int:
        """Return how many rows there are, or for how many the filter is true.

        Without a filter no data is read; with one, only the columns that it names.
        """
        return self.scanner(columns=[], filter=filter).count_rows()

    def take(self, indices: Sequence[int] | Any, columns: Sequence[str] | None = None) -> pa.Table:
        """Return rows by their positions, in the order given.

        Parameters
        ----------
        indices
            Positions from 0 on, counted over the rows that are not deleted. Duplicates are
            returned as often as they are given; negative positions count from the end.
        columns
            The columns to return; all when not given.

        Raises
        ------
        RowIndexError
            When a position lies outside of the dataset.

        Examples
        --------
        >>> import pyarrow as pa
        >>> import pennon
        >>> table = pa.table({"id": [10, 20, 30]})
        >>> dataset = pennon.write_dataset(table, "memory://example/take")
        >>> dataset.take([2, 0, -1])["id"].to_pylist()
        [30, 10, 30]
        """
        import pyarrow as pa

        batch = self._native.take(self._positions(indices), column_names(columns))
        return pa.Table.from_batches([pa.record_batch(batch)])

    def take_blobs(
        self,
        blob_column: str,
        ids: Sequence[int] | Any = None,
        addresses: Sequence[int] | Any = None,
        indices: Sequence[int] | Any = None,
    ) -> list[BlobFile | None]:
        """Return large objects as files, which a scan only tells the places of.

        Parameters
        ----------
        blob_column
            A column whose field has the metadata ``lance-encoding:blob``.
        ids, addresses
            Not supported yet: give indices.
        indices
            Positions as for :meth:`take`.

        Returns
        -------
        list
            For each position a file to read, or ``None`` where the value is null.

        Raises
        ------
        RowIndexError
            When a position lies outside of the dataset.
        InvalidInputError
            When the column has no large objects.

        Examples
        --------
        >>> import pyarrow as pa
        >>> import pennon
        >>> field = pa.field("doc", pa.large_binary(), metadata={"lance-encoding:blob": "true"})
        >>> table = pa.table([[b"a document", None]], schema=pa.schema([field]))
        >>> dataset = pennon.write_dataset(table, "memory://example/take_blobs")
        >>> doc, nothing = dataset.take_blobs("doc", indices=[0, 1])
        >>> doc.size(), doc.read(5), nothing
        (10, b'a doc', None)
        """
        import pyarrow as pa

        if indices is None or ids is not None or addresses is not None:
            msg = "large objects are taken by indices; ids and addresses are not supported yet"
            raise UnsupportedFeatureError(msg)
        batch = pa.record_batch(self._native.take_blobs(blob_column, self._positions(indices)))
        return [None if value is None else BlobFile(value) for value in batch[0].to_pylist()]

    def _positions(self, indices: Sequence[int] | Any) -> list[int]:
        positions = [
            int(i) for i in (indices.to_pylist() if hasattr(indices, "to_pylist") else indices)
        ]
        if any(i < 0 for i in positions):
            return self._from_the_end(positions)
        return positions

    def _from_the_end(self, positions: list[int]) -> list[int]:
        rows = self.count_rows()
        for position in positions:
            if position < -rows:
                msg = f"row {position} is out of range: the dataset has {rows} rows"
                raise RowIndexError(msg, uri=self._uri)
        return [i + rows if i < 0 else i for i in positions]

    def delete(
        self,
        predicate: str,
        *,
        conflict_retries: int = 10,
        retry_timeout: timedelta = timedelta(seconds=30),
    ) -> DeleteResult:
        """Delete the rows for which an SQL predicate is true, in a new version.

        Data files stay as they are; a deletion vector per touched fragment says which rows are
        gone. When another writer changes the same rows meanwhile, the operation is done again.

        Parameters
        ----------
        predicate
            An SQL predicate; see the page on SQL.
        conflict_retries
            How often to do the operation again after losing against another writer.
        retry_timeout
            When to stop trying.

        Returns
        -------
        dict
            ``num_deleted_rows``.

        Raises
        ------
        InvalidExpressionError, UnknownColumnError
            When the predicate is wrong.
        CommitConflictError
            When other writers win too often.

        Examples
        --------
        >>> import pyarrow as pa
        >>> import pennon
        >>> dataset = pennon.write_dataset(pa.table({"id": [1, 2, 3]}), "memory://example/delete")
        >>> dataset.delete("id < 3")
        {'num_deleted_rows': 2}
        """
        sql = sql_text(predicate)
        if sql is None:
            msg = "delete needs a predicate; 'true' deletes all rows"
            raise InvalidInputError(msg)
        self._native, deleted = self._native.delete(
            sql, conflict_retries, retry_timeout.total_seconds(), sync=True
        )
        return DeleteResult(num_deleted_rows=deleted)

    def get_fragments(self) -> list[LanceFragment]:
        """Return the fragments of this version, in the order in which they are scanned."""
        return [LanceFragment(self, part.id, fragment=part) for part in self._fragments()]

    def get_fragment(self, fragment_id: int) -> LanceFragment | None:
        """Return the fragment with this id, or None."""
        parts = (part for part in self._fragments() if part.id == fragment_id)
        part = next(parts, None)
        return None if part is None else LanceFragment(self, fragment_id, fragment=part)

    def _fragments(self) -> list[FragmentMetadata]:
        return [FragmentMetadata.from_json(text) for text in self._native.fragments()]

    def _fragment_metadata(self, fragment_id: int) -> FragmentMetadata:
        found = self.get_fragment(fragment_id)
        if found is not None:
            return found.metadata
        msg = f"version {self.version} has no fragment {fragment_id}"
        raise InvalidInputError(msg, uri=self._uri, version=self.version)

    @staticmethod
    def commit(
        base_uri: str | Path | LanceDataset,
        operation: LanceOperation.BaseOperation,
        read_version: int | None = None,
        *,
        max_retries: int = 20,
        durable: bool = True,
    ) -> LanceDataset:
        """Commit fragments that were written by :func:`pennon.fragment.write_fragments`.

        This is the second half of a distributed write. When another writer committed first, the
        operation is rebased on the newest version if that is safe.

        Parameters
        ----------
        base_uri
            The dataset's address.
        operation
            One of :class:`LanceOperation`'s.
        read_version
            The version that the operation is based on; needed for a Delete. An Append or
            Overwrite without one is based on the newest version.
        max_retries
            How many attempts to make at winning the race for the next version's name.
        durable
            Whether the version has reached the disk when this returns.

        Raises
        ------
        CommitConflictError
            When doing the whole operation again may succeed.
        IncompatibleTransactionError
            When it makes no sense any more.
        """
        if read_version is None and isinstance(operation, LanceOperation.Delete):
            msg = "a Delete needs read_version: the version whose fragments it describes"
            raise InvalidInputError(msg)
        address = address_of(base_uri)
        committed = _native.commit_fragments(
            address,
            operation._describe(),
            read_version=read_version,
            max_retries=max_retries,
            sync=durable,
        )
        return LanceDataset._wrap(address, committed)

    def __arrow_c_schema__(self) -> object:
        """Offer the schema through the Arrow C data interface."""
        return self._native.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Offer the rows through the Arrow C stream interface."""
        return self.scanner().__arrow_c_stream__(requested_schema)


def _utc(nanoseconds: int) -> datetime:
    moment = datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(microseconds=nanoseconds // 1000)
    return moment.replace(tzinfo=None)
