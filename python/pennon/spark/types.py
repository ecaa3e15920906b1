"""How Arrow types and Spark types meet.

Lance stores any Arrow type; Spark knows fewer. Reading converts to the nearest Spark type that
loses nothing, and refuses the rest by column name. Writing asks Spark for its own Arrow schema.
"""

import inspect
from collections.abc import Callable
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from pennon.exceptions import InvalidInputError

_MAX_PRECISION = 38
"""Digits of Spark's widest decimal."""

_INTEGER_DIGITS = 19
"""Digits before the point that any whole number of Spark fits in."""

_UNCHANGED = frozenset(
    {
        pa.null(),
        pa.bool_(),
        pa.int8(),
        pa.int16(),
        pa.int32(),
        pa.int64(),
        pa.float32(),
        pa.float64(),
        pa.string(),
        pa.binary(),
        pa.date32(),
    }
)

_WIDENED: dict[pa.DataType, pa.DataType] = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.float16(): pa.float32(),
    pa.large_string(): pa.string(),
    pa.string_view(): pa.string(),
    pa.large_binary(): pa.binary(),
    pa.binary_view(): pa.binary(),
    pa.date64(): pa.date32(),
}


def readable_schema(schema: pa.Schema) -> pa.Schema:
    """The Arrow schema that Spark will see for a dataset of `schema`.

    Raises
    ------
    TypeError
        A column has a type that Spark cannot hold without loss; the message names the column.
    """
    return pa.schema([_readable_field(field, field.name) for field in schema])


def spark_schema(schema: pa.Schema) -> StructType:
    """Spark's schema for an Arrow schema that `readable_schema` returned."""
    try:
        return from_arrow_schema(schema, prefer_timestamp_ntz=True)
    except PySparkException as error:
        raise TypeError(f"this version of Spark cannot read {schema}: {error}") from error


def arrow_schema(schema: StructType) -> pa.Schema:
    """The Arrow schema of a DataFrame as it is stored: timestamps in UTC, field by field.

    Raises
    ------
    TypeError
        Spark has no Arrow form of a column; the message names the column.
    """
    fields: list[pa.Field] = []
    for field in schema:
        try:
            fields.extend(to_arrow_schema(StructType([field]), **_conversion_options()))
        except PySparkException as error:
            raise TypeError(
                f"column {field.name!r} of type {field.dataType.simpleString()} cannot be written "
                "as Arrow data; cast or drop it first"
            ) from error
    return pa.schema(fields)


def fits(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether a DataFrame's column may be stored in a dataset's column.

    What a scan of the dataset's column gives may be stored in it again. Apart from that, numbers
    may have another width, and whole numbers may become floats or decimals with room for all of
    them; a value that does not fit is an error when it is met. Nothing else becomes text, and text
    nothing else.
    """
    try:
        return _fits(found, _readable_type(wanted, ""))
    except TypeError:
        return False


def cast_batch(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """`batch` with exactly `schema`, matched by position.

    Raises
    ------
    pennon.exceptions.InvalidInputError
        A value does not fit the type that its column shall have; the message names the column.
    """
    if batch.schema.equals(schema, check_metadata=True):
        return batch
    arrays = [
        _cast_column(column, field) for column, field in zip(batch.columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _cast_column(column: pa.Array, field: pa.Field) -> pa.Array:
    if column.type.equals(field.type, check_metadata=True):
        return column
    try:
        return column.cast(field.type, safe=True)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InvalidInputError(
            f"column {field.name!r}: {column.type} does not fit {field.type} without loss: {error}",
            column=field.name,
        ) from error


def _fits(found: pa.DataType, wanted: pa.DataType) -> bool:
    types = pa.types
    if found.equals(wanted) or types.is_null(found):
        return True
    if types.is_integer(found) and types.is_decimal(wanted):
        return bool(wanted.precision - wanted.scale >= _INTEGER_DIGITS)
    if types.is_integer(found):
        return bool(types.is_integer(wanted) or types.is_floating(wanted))
    if types.is_timestamp(found) and types.is_timestamp(wanted):
        return (found.tz is None) == (wanted.tz is None)
    if types.is_struct(found) and types.is_struct(wanted):
        return [field.name for field in found] == [field.name for field in wanted] and all(
            _fits(mine.type, other.type) for mine, other in zip(found, wanted, strict=True)
        )
    if types.is_map(found) and types.is_map(wanted):
        return _fits(found.key_type, wanted.key_type) and _fits(found.item_type, wanted.item_type)
    if types.is_list(found) and types.is_list(wanted):
        return _fits(found.value_type, wanted.value_type)
    return any(same(found) and same(wanted) for same in (types.is_floating, types.is_decimal))


def _conversion_options() -> dict[str, Any]:
    """UTC timestamps: Spark 4.1 and later take the zone by name, earlier ones use UTC anyway."""
    parameters = inspect.signature(to_arrow_schema).parameters
    return {"timezone": "UTC"} if "timezone" in parameters else {}


def _readable_field(field: pa.Field, path: str) -> pa.Field:
    return field.with_type(_readable_type(field.type, path))


def _readable_type(of: pa.DataType, path: str) -> pa.DataType:
    if isinstance(of, pa.BaseExtensionType):
        return _readable_type(of.storage_type, path)
    if of in _UNCHANGED:
        return of
    if of in _WIDENED:
        return _WIDENED[of]
    for matches, convert in _FAMILIES:
        if matches(of):
            return convert(of, path)
    raise _refusal(of, path)


def _refusal(of: pa.DataType, path: str) -> TypeError:
    return TypeError(
        f"column {path!r} of type {of} has no Spark type that keeps its values; "
        "leave it out with columns=[...]"
    )


def _decimal(of: pa.DataType, path: str) -> pa.DataType:
    if of.precision > _MAX_PRECISION or not 0 <= of.scale <= of.precision:
        raise _refusal(of, path)
    return pa.decimal128(of.precision, of.scale)


def _map(of: pa.DataType, path: str) -> pa.DataType:
    return pa.map_(
        _readable_field(of.key_field, f"{path}.key"),
        _readable_field(of.item_field, f"{path}.value"),
    )


def _list(of: pa.DataType, path: str) -> pa.DataType:
    return pa.list_(_readable_field(of.value_field, f"{path}[]"))


def _struct(of: pa.DataType, path: str) -> pa.DataType:
    return pa.struct([_readable_field(field, f"{path}.{field.name}") for field in of])


def _is_any_list(of: pa.DataType) -> bool:
    return any(
        matches(of)
        for matches in (
            pa.types.is_list,
            pa.types.is_large_list,
            pa.types.is_fixed_size_list,
            pa.types.is_list_view,
            pa.types.is_large_list_view,
        )
    )


_FAMILIES: list[tuple[Callable[[pa.DataType], bool], Callable[[pa.DataType, str], pa.DataType]]] = [
    (pa.types.is_decimal, _decimal),
    (pa.types.is_fixed_size_binary, lambda _of, _path: pa.binary()),
    (pa.types.is_dictionary, lambda of, path: _readable_type(of.value_type, path)),
    (pa.types.is_timestamp, lambda of, _path: pa.timestamp("us", of.tz)),
    (pa.types.is_time, lambda _of, _path: pa.time64("ns")),
    (pa.types.is_duration, lambda _of, _path: pa.duration("us")),
    (_is_any_list, _list),
    (pa.types.is_map, _map),
    (pa.types.is_struct, _struct),
]
"""Parametrised types: how to recognise one, and what Spark reads instead."""
