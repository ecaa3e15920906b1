"""Scans: what to read, said first, and read later."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypedDict

from pennon.exceptions import InvalidInputError, UnsupportedFeatureError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pyarrow as pa

    from pennon.dataset import LanceDataset
    from pennon.fragment import LanceFragment

__all__ = [
    "FragmentKeywords",
    "LanceScanner",
    "RowKeywords",
    "ScanKeywords",
    "ScanOptions",
    "column_names",
    "not_negative",
    "sql_text",
]


class RowKeywords(TypedDict, total=False):
    """The keywords of everything that reads rows; :meth:`LanceDataset.scanner` explains them."""

    batch_size: int | None
    with_row_id: bool
    with_row_address: bool


class ScanKeywords(RowKeywords, total=False):
    """The keywords of everything that reads a dataset's rows."""

    fragments: Iterable[LanceFragment] | None


class FragmentKeywords(RowKeywords, total=False):
    """The keywords of :meth:`LanceFragment.scanner`."""

    columns: Sequence[str] | None
    filter: str | None
    limit: int | None
    offset: int | None


@dataclass
class ScanOptions:
    """The options of a scan in the form that the core takes."""

    columns: list[str] | None = None
    filter: str | None = None
    limit: int | None = None
    offset: int | None = None
    batch_size: int | None = None
    fragments: list[int] | None = None
    with_row_id: bool = False
    with_row_address: bool = False


class LanceScanner:
    """A scan that has not begun. Made by :meth:`LanceDataset.scanner`; can be read repeatedly."""

    def __init__(self, dataset: LanceDataset, options: ScanOptions) -> None:
        self._dataset = dataset
        self._options = options

    def __repr__(self) -> str:
        """Show what the scan returns."""
        given = {k: v for k, v in vars(self._options).items() if v is not None and v is not False}
        parts = "".join(f", {name}={value!r}" for name, value in given.items())
        return f"LanceScanner('{self._dataset.uri}', version={self._dataset.version}{parts})"

    def __reduce__(
        self,
    ) -> tuple[type[LanceScanner], tuple[LanceDataset, ScanOptions]]:
        """Pickle as the dataset at its version and the options."""
        return type(self), (self._dataset, self._options)

    @property
    def dataset_schema(self) -> pa.Schema:
        """The schema of the dataset."""
        return self._dataset.schema

    @property
    def projected_schema(self) -> pa.Schema:
        """The schema of what the scan returns."""
        import pyarrow as pa

        return pa.schema(self)

    def to_table(self) -> pa.Table:
        """Read all rows into a pyarrow table. Can be interrupted with Ctrl-C."""
        import pyarrow as pa

        scan = self._dataset._native.scan(self._options)
        return pa.RecordBatchReader.from_stream(scan.read_all()).read_all()

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """Read the rows batch by batch."""
        import pyarrow as pa

        scan = self._dataset._native.scan(self._options)
        return (pa.record_batch(batch) for batch in scan)

    def to_reader(self) -> pa.RecordBatchReader:
        """Read the rows as a pyarrow reader, whose errors are those of :meth:`to_batches`."""
        import pyarrow as pa

        return pa.RecordBatchReader.from_batches(self.projected_schema, self.to_batches())

    def count_rows(self) -> int:
        """Return how many rows the scan would return; reads only the filter's columns."""
        return self._dataset._native.count(self._options)

    def head(self, num_rows: int) -> pa.Table:
        """Return the first rows of the scan."""
        limit = num_rows if self._options.limit is None else min(num_rows, self._options.limit)
        return LanceScanner(self._dataset, replace(self._options, limit=limit)).to_table()

    def __arrow_c_schema__(self) -> object:
        """Offer the schema through the Arrow C data interface."""
        return self._dataset._native.scan_schema(self._options)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Offer the rows through the Arrow C stream interface."""
        return self._dataset._native.scan(self._options).__arrow_c_stream__(requested_schema)


def column_names(columns: Sequence[str] | None) -> list[str] | None:
    """Return the names of columns as a list, or None for all columns."""
    if columns is None:
        return None
    if isinstance(columns, str):
        msg = f"columns must be a list of names; write ['{columns}']"
        raise InvalidInputError(msg)
    if isinstance(columns, dict):
        msg = "columns as a dict of SQL expressions is not supported by this version of pennon"
        raise UnsupportedFeatureError(msg)
    return list(columns)


def sql_text(predicate: str | None) -> str | None:
    """Return a predicate, which must be SQL text."""
    if predicate is None or isinstance(predicate, str):
        return predicate
    msg = (
        f"a filter of type '{type(predicate).__name__}' is not supported by this version of "
        "pennon: pass SQL text, for example \"id > 3 AND name = 'a'\""
    )
    raise UnsupportedFeatureError(msg)


def not_negative(name: str, value: int | None) -> int | None:
    """Return a count, which must not be negative."""
    if value is not None and value < 0:
        msg = f"{name} must not be negative, and it is {value}"
        raise InvalidInputError(msg)
    return value
