"""The Arrow interfaces as types, and how input becomes one of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

from pennon.exceptions import InputDataError, InvalidInputError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ArrowArrayExportable", "ArrowStreamExportable", "ReaderLike", "Source"]


@runtime_checkable
class ArrowStreamExportable(Protocol):
    """An object with the Arrow C stream interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


@runtime_checkable
class ArrowArrayExportable(Protocol):
    """An object with the Arrow C array interface."""

    def __arrow_c_array__(
        self, requested_schema: object | None = None
    ) -> tuple[object, object]: ...


ReaderLike: TypeAlias = (
    ArrowStreamExportable | ArrowArrayExportable | Mapping[str, Any] | Iterable[Any] | Any
)
"""What can be written: tables, batches, readers, frames, or an iterable of batches."""


class Source:
    """Data to be written.

    The Arrow C stream interface passes the message of a failure on, but not its exception. A source
    that is an iterable of ours remembers what it raised, and :meth:`failures` raises it again.

    Parameters
    ----------
    data
        An object with an Arrow interface (pyarrow tables, batches and readers, polars and pandas
        frames, DuckDB relations, other libraries' streams), a pyarrow dataset or scanner, a dict of
        columns, a list of dicts, or an iterable of batches.
    schema
        The schema to store the data under. Needed for an iterable of batches that may be empty;
        other data is cast to it where that loses nothing.

    Attributes
    ----------
    stream
        An object with an Arrow C stream or array interface that yields the data.

    Raises
    ------
    TypeError
        When ``data`` is none of these.
    """

    def __init__(self, data: ReaderLike, schema: pa.Schema | None) -> None:
        self._raised: BaseException | None = None
        self.stream = self._streamed(data, schema)

    @contextmanager
    def failures(self) -> Iterator[None]:
        """Add the exception of the source to an error that it caused.

        What is no error, such as Ctrl-C, comes through as it is.
        """
        try:
            yield
        except InputDataError as error:
            if self._raised is None:
                raise
            if isinstance(self._raised, Exception):
                raise error from self._raised
            raise self._raised from None

    def _streamed(self, data: ReaderLike, schema: pa.Schema | None) -> Any:
        if hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__"):
            return data if schema is None else _cast(data, schema)
        import pyarrow as pa

        if hasattr(data, "to_reader"):
            return self._streamed(data.to_reader(), schema)
        if hasattr(data, "scanner"):
            return self._streamed(data.scanner(), schema)
        if isinstance(data, Mapping):
            return pa.table(dict(data), schema=schema)
        if type(data).__module__.partition(".")[0] == "pandas":
            return pa.Table.from_pandas(data, schema=schema)
        if isinstance(data, list) and data and isinstance(data[0], Mapping):
            return pa.Table.from_pylist(data, schema=schema)
        if isinstance(data, Iterable) and not isinstance(data, str | bytes):
            return self._reader_over(_batches_in(data), schema)
        msg = (
            f"cannot write an object of type '{type(data).__name__}': expected an object with an "
            "Arrow interface, a dict of columns, a list of dicts, or an iterable of record batches"
        )
        raise TypeError(msg)

    def _reader_over(
        self, batches: Iterator[pa.RecordBatch], schema: pa.Schema | None
    ) -> pa.RecordBatchReader:
        import pyarrow as pa

        if schema is None:
            first = next(batches, None)
            if first is None:
                msg = "an iterable without any batch has no schema: pass schema="
                raise InvalidInputError(msg)
            schema = first.schema
            batches = itertools.chain([first], batches)
        return pa.RecordBatchReader.from_batches(schema, self._remembering(batches, schema))

    def _remembering(
        self, batches: Iterator[pa.RecordBatch], schema: pa.Schema
    ) -> Iterator[pa.RecordBatch]:
        """Yield the batches under the schema, and keep the exception that ends them."""
        try:
            for batch in batches:
                yield batch if batch.schema.equals(schema) else batch.cast(schema)
        except BaseException as raised:
            self._raised = raised
            raise


def _cast(data: Any, schema: pa.Schema) -> Any:
    import pyarrow as pa

    if isinstance(data, pa.Table):
        return data if data.schema.equals(schema) else data.cast(schema)
    if hasattr(data, "__arrow_c_stream__"):
        reader = pa.RecordBatchReader.from_stream(data)
        return reader if reader.schema.equals(schema) else reader.cast(schema)
    return pa.Table.from_batches([pa.record_batch(data)]).cast(schema)


def _batches_in(items: Iterable[Any]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    for item in items:
        if isinstance(item, pa.RecordBatch):
            yield item
        elif hasattr(item, "__arrow_c_stream__"):
            yield from pa.RecordBatchReader.from_stream(item)
        else:
            yield pa.record_batch(item)
