"""The Arrow interfaces as types, and how input becomes one of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ArrowArrayExportable", "ArrowStreamExportable", "ReaderLike", "to_stream"]


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


def to_stream(data: ReaderLike, schema: pa.Schema | None) -> Any:
    """Return an object with an Arrow C stream or array interface that yields ``data``.

    Parameters
    ----------
    data
        An object with an Arrow interface (pyarrow tables, batches and readers, polars and pandas
        frames, DuckDB relations, other libraries' streams), a pyarrow dataset or scanner, a dict of
        columns, a list of dicts, or an iterable of batches.
    schema
        The schema to store the data under. Needed for an iterable of batches that may be empty;
        other data is cast to it where that loses nothing.

    Raises
    ------
    TypeError
        When ``data`` is none of these.
    """
    if hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__"):
        return data if schema is None else _cast(data, schema)
    import pyarrow as pa

    if hasattr(data, "to_reader"):
        return data.to_reader()
    if hasattr(data, "scanner"):
        return data.scanner().to_reader()
    if isinstance(data, Mapping):
        return pa.table(dict(data), schema=schema)
    if type(data).__module__.partition(".")[0] == "pandas":
        return pa.Table.from_pandas(data, schema=schema)
    if isinstance(data, list) and data and isinstance(data[0], Mapping):
        return pa.Table.from_pylist(data, schema=schema)
    if isinstance(data, Iterable) and not isinstance(data, str | bytes):
        return _reader_over(iter(data), schema)
    msg = (
        f"cannot write an object of type '{type(data).__name__}': expected an object with an "
        "Arrow interface, a dict of columns, a list of dicts, or an iterable of record batches"
    )
    raise TypeError(msg)


def _cast(data: Any, schema: pa.Schema) -> Any:
    import pyarrow as pa

    if isinstance(data, pa.Table):
        return data if data.schema.equals(schema) else data.cast(schema)
    if hasattr(data, "__arrow_c_stream__"):
        reader = pa.RecordBatchReader.from_stream(data)
        return reader if reader.schema.equals(schema) else reader.cast(schema)
    return pa.Table.from_batches([pa.record_batch(data)]).cast(schema)


def _reader_over(batches: Any, schema: pa.Schema | None) -> pa.RecordBatchReader:
    import itertools

    import pyarrow as pa

    def flat() -> Any:
        for item in batches:
            if isinstance(item, pa.RecordBatch):
                yield item
            elif hasattr(item, "__arrow_c_stream__"):
                yield from pa.RecordBatchReader.from_stream(item)
            else:
                yield pa.record_batch(item)

    stream = flat()
    if schema is None:
        first = next(stream, None)
        if first is None:
            msg = "an iterable without any batch has no schema: pass schema="
            raise ValueError(msg)
        schema = first.schema
        stream = itertools.chain([first], stream)
    return pa.RecordBatchReader.from_batches(schema, stream)
