"""The tests' own data: what the strategies promise."""

import pyarrow as pa
import pytest
from comparison import same_values
from hypothesis import given
from strategies import FLAT_TYPES, MAX_ROWS, Column, tables


@pytest.mark.parametrize("of", FLAT_TYPES, ids=str)
def test_a_column_has_its_type_and_rows(of: pa.DataType) -> None:
    array = Column(of, "half", "any", seed=1).array(3000)
    array.validate(full=True)
    assert (array.type, len(array)) == (of, 3000)
    assert pa.types.is_null(of) or 1000 < array.null_count < 2000


@given(tables())
def test_tables_are_valid_and_bounded(table: pa.Table) -> None:
    table.validate(full=True)
    assert table.num_rows <= MAX_ROWS


def test_comparison_tells_nan_from_zero_and_null() -> None:
    def column(*values: float | None) -> pa.ChunkedArray:
        return pa.chunked_array([pa.array(values, pa.float64())])

    nan = float("nan")
    assert same_values(column(nan, None, 1), column(nan, None, 1))
    assert not same_values(column(nan), column(0.0))
    assert not same_values(column(nan), column(None))
