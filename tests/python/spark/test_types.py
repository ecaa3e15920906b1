"""How Arrow types and Spark types meet."""

from typing import Any

import pyarrow as pa
import pytest

from pennon.exceptions import InvalidInputError
from pennon.spark.types import cast_batch, fits, readable_schema

INTERVAL = pa.month_day_nano_interval()


@pytest.mark.parametrize(
    ("stored", "read"),
    [
        (pa.uint8(), pa.int16()),
        (pa.uint64(), pa.decimal128(20, 0)),
        (pa.float16(), pa.float32()),
        (pa.large_string(), pa.string()),
        (pa.binary(16), pa.binary()),
        (pa.dictionary(pa.int8(), pa.large_string()), pa.string()),
        (pa.timestamp("ns"), pa.timestamp("us")),
        (pa.timestamp("s", "Europe/Berlin"), pa.timestamp("us", "Europe/Berlin")),
        (pa.decimal256(20, 2), pa.decimal128(20, 2)),
        (pa.list_(pa.float16(), 3), pa.list_(pa.float32())),
        (pa.large_list(pa.uint16()), pa.list_(pa.int32())),
        (pa.map_(pa.large_string(), pa.uint8()), pa.map_(pa.string(), pa.int16())),
        (pa.struct([("a", pa.large_binary())]), pa.struct([("a", pa.binary())])),
    ],
    ids=str,
)
def test_a_type_is_read_as_the_nearest_one(stored: pa.DataType, read: pa.DataType) -> None:
    schema = readable_schema(pa.schema([("c", stored)]))
    assert schema.field("c").type == read


@pytest.mark.parametrize(
    ("of", "path"),
    [
        (INTERVAL, "'c'"),
        (pa.decimal256(60, 2), "'c'"),
        (pa.struct([("a", pa.list_(INTERVAL))]), r"'c\.a\[\]'"),
        (pa.map_(pa.string(), INTERVAL), r"'c\.value'"),
    ],
    ids=str,
)
def test_a_type_without_a_spark_type_is_refused_by_name(of: pa.DataType, path: str) -> None:
    with pytest.raises(TypeError, match=f"column {path} of type .* has no Spark type"):
        readable_schema(pa.schema([("c", of)]))


@pytest.mark.parametrize(
    ("stored", "values"),
    [
        (pa.uint64(), [2**64 - 1, None]),
        (pa.float16(), [1.5, None]),
        (pa.dictionary(pa.int8(), pa.string()), ["a", None]),
        (pa.list_(pa.uint8(), 2), [[1, 255], None]),
    ],
    ids=str,
)
def test_values_survive_the_cast(stored: pa.DataType, values: list[Any]) -> None:
    batch = pa.record_batch({"c": pa.array(values, stored)})
    found = cast_batch(batch, readable_schema(batch.schema))
    assert [_plain(value) for value in found.column(0).to_pylist()] == values


def _plain(value: Any) -> Any:
    return int(value) if value is not None and hasattr(value, "as_tuple") else value


def test_a_lossy_cast_names_the_column() -> None:
    batch = pa.record_batch({"moment": pa.array([1], pa.timestamp("ns"))})
    with pytest.raises(InvalidInputError, match=r"column 'moment'.*without loss") as caught:
        cast_batch(batch, readable_schema(batch.schema))
    assert caught.value.column == "moment"


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (pa.int64(), pa.uint8()),
        (pa.int32(), pa.float16()),
        (pa.int64(), pa.decimal128(21, 2)),
        (pa.float64(), pa.float16()),
        (pa.decimal128(38, 4), pa.decimal256(12, 2)),
        (pa.decimal128(20, 0), pa.uint64()),
        (pa.string(), pa.large_string()),
        (pa.string(), pa.dictionary(pa.int16(), pa.string())),
        (pa.binary(), pa.binary(16)),
        (pa.date32(), pa.date64()),
        (pa.timestamp("us", "UTC"), pa.timestamp("ns", "Europe/Berlin")),
        (pa.list_(pa.float32()), pa.list_(pa.float16(), 3)),
        (pa.struct([("a", pa.int64())]), pa.struct([("a", pa.int8())])),
        (pa.map_(pa.string(), pa.int64()), pa.map_(pa.large_string(), pa.int8())),
        (pa.null(), pa.string()),
    ],
    ids=str,
)
def test_what_a_dataset_takes_back(found: pa.DataType, wanted: pa.DataType) -> None:
    assert fits(found, wanted)
    none = pa.record_batch({"c": pa.array([None], found)})
    assert cast_batch(none, pa.schema({"c": wanted})).schema.field("c").type == wanted


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (pa.int64(), pa.string()),
        (pa.string(), pa.int64()),
        (pa.string(), pa.binary()),
        (pa.float64(), pa.int64()),
        (pa.int64(), pa.decimal128(20, 2)),
        (pa.bool_(), pa.int8()),
        (pa.timestamp("us"), pa.timestamp("us", "UTC")),
        (pa.struct([("a", pa.int8())]), pa.struct([("b", pa.int8())])),
        (pa.list_(pa.string()), pa.list_(pa.int8())),
        (pa.int64(), INTERVAL),
    ],
    ids=str,
)
def test_what_a_dataset_refuses(found: pa.DataType, wanted: pa.DataType) -> None:
    assert not fits(found, wanted)
