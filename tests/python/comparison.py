"""Equality of Arrow data, value by value and null by null."""

import pyarrow as pa
import pyarrow.compute as pc


def assert_same(actual: pa.Table, expected: pa.Table) -> None:
    """Fail unless both tables have the same columns, types and values; NaN equals NaN."""
    assert actual.column_names == expected.column_names
    assert actual.schema.types == expected.schema.types
    assert actual.num_rows == expected.num_rows
    for name in expected.column_names:
        assert same_values(actual.column(name), expected.column(name)), (
            f"column {name!r} of type {expected.schema.field(name).type} differs"
        )


def same_values(left: pa.ChunkedArray, right: pa.ChunkedArray) -> bool:
    """Whether two columns of one type hold the same values; NaN equals NaN."""
    if pa.types.is_dictionary(left.type):
        return same_values(left.cast(left.type.value_type), right.cast(right.type.value_type))
    if left.equals(right):
        return True
    if not pa.types.is_floating(left.type):
        return False
    numbers_agree = _numbers(left).equals(_numbers(right))
    return bool(numbers_agree and pc.is_nan(left).equals(pc.is_nan(right)))


def _numbers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column in double precision, which holds every narrower float, with 0 for NaN."""
    wide = column.cast(pa.float64())
    return pc.if_else(pc.is_nan(wide), 0.0, wide)
