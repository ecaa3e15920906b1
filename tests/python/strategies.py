"""Hypothesis strategies for Arrow tables.

A strategy draws the *shape* of the data (types, rows, null pattern, value pattern, a seed); numpy
fills it in. So a table of 20,000 rows costs Hypothesis a dozen choices and shrinks well.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

MAX_ROWS = 20_000

NullPattern: TypeAlias = Literal["none", "all", "rare", "half", "runs", "first", "last"]
ValuePattern: TypeAlias = Literal["any", "small", "constant", "sorted", "runs", "few"]
Rng: TypeAlias = np.random.Generator
Integers: TypeAlias = "np.ndarray[Any, np.dtype[np.int64]]"

_DAY_MS = 86_400_000
_INTEGERS = [f(8 * 2**i) for f in ("int{}".format, "uint{}".format) for i in range(4)]
_DECIMALS = [
    pa.decimal128(5, 2),
    pa.decimal128(18, 0),
    pa.decimal128(38, 10),
    pa.decimal256(50, 5),
]

FLAT_TYPES: list[pa.DataType] = [
    *(pa.type_for_alias(name) for name in _INTEGERS),
    pa.float16(),
    pa.float32(),
    pa.float64(),
    pa.bool_(),
    pa.null(),
    pa.string(),
    pa.large_string(),
    pa.binary(),
    pa.large_binary(),
    pa.binary(3),
    pa.binary(16),
    pa.date32(),
    pa.date64(),
    pa.time32("s"),
    pa.time32("ms"),
    pa.time64("us"),
    pa.time64("ns"),
    *(pa.timestamp(unit) for unit in ("s", "ms", "us", "ns")),
    pa.timestamp("us", "UTC"),
    pa.timestamp("ns", "Europe/Berlin"),
    *(pa.duration(unit) for unit in ("s", "ms", "us", "ns")),
    *_DECIMALS,
    pa.dictionary(pa.int8(), pa.string()),
    pa.dictionary(pa.int32(), pa.string()),
]
"""Every type without children."""


@dataclass(frozen=True)
class Column:
    """The shape of one column."""

    type: pa.DataType
    nulls: NullPattern
    values: ValuePattern
    seed: int

    def array(self, rows: int) -> pa.Array:
        """Fill the shape in."""
        if pa.types.is_null(self.type):
            return pa.nulls(rows)
        rng = np.random.default_rng(self.seed)
        full = _fill(self.type, integers(rng, rows, self.values))
        missing = null_mask(rng, rows, self.nulls)
        positions = pa.array(np.arange(rows), mask=missing)
        return full if self.nulls == "none" else full.take(positions)


def every_pattern(of: pa.DataType, rows: int) -> pa.Table:
    """A table of one type, with a column for each null pattern and each value pattern."""
    patterns = product(get_args(NullPattern), get_args(ValuePattern))
    return pa.table(
        {
            f"{nulls}_{values}": Column(of, nulls, values, seed=rows).array(rows)
            for nulls, values in patterns
        }
    )


def row_counts(max_rows: int = MAX_ROWS) -> st.SearchStrategy[int]:
    """Row counts around the sizes at which chunks and pages of the format end."""
    edges = [0, 1, 2, 7, 8, 9, 1023, 1024, 1025, 4095, 4096, 4097, 8192, 8193]
    return st.one_of(
        st.sampled_from([edge for edge in edges if edge <= max_rows]),
        st.integers(0, max_rows),
    )


def columns(types: list[pa.DataType] | None = None) -> st.SearchStrategy[Column]:
    """Shapes of columns of the given types."""
    return st.builds(
        Column,
        type=st.sampled_from(types or FLAT_TYPES),
        nulls=st.sampled_from(get_args(NullPattern)),
        values=st.sampled_from(get_args(ValuePattern)),
        seed=st.integers(0, 2**32 - 1),
    )


@st.composite
def tables(
    draw: st.DrawFn,
    *,
    types: list[pa.DataType] | None = None,
    max_columns: int = 4,
    max_rows: int = MAX_ROWS,
) -> pa.Table:
    """Tables of flat columns, in one or several batches, some of them slices of longer arrays."""
    rows = draw(row_counts(max_rows))
    shapes = draw(st.lists(columns(types), min_size=1, max_size=max_columns))
    skipped = draw(st.sampled_from([0, 0, 1, 5]))
    arrays = [shape.array(rows + skipped).slice(skipped) for shape in shapes]
    table = pa.table(arrays, names=[f"c{number}" for number in range(len(arrays))])
    cuts = sorted(draw(st.lists(st.integers(0, rows), max_size=3)))
    pieces = [
        table.slice(start, stop - start)
        for start, stop in zip([0, *cuts], [*cuts, rows], strict=True)
    ]
    return pa.concat_tables(pieces)


def null_mask(rng: Rng, rows: int, pattern: NullPattern) -> "np.ndarray[Any, np.dtype[np.bool_]]":
    """Which rows are null."""
    position = np.arange(rows)
    masks: dict[NullPattern, Callable[[], Any]] = {
        "none": lambda: np.zeros(rows, bool),
        "all": lambda: np.ones(rows, bool),
        "rare": lambda: rng.random(rows) < 0.01,
        "half": lambda: rng.random(rows) < 0.5,
        "runs": lambda: (position // 100) % 2 == 1,
        "first": lambda: position < rows // 2,
        "last": lambda: position >= rows // 2,
    }
    mask: np.ndarray[Any, np.dtype[np.bool_]] = masks[pattern]()
    return mask


def integers(rng: Rng, rows: int, pattern: ValuePattern) -> Integers:
    """Numbers that every type derives its values from."""
    info = np.iinfo(np.int64)
    made: dict[ValuePattern, Callable[[], Any]] = {
        "any": lambda: rng.integers(info.min, info.max, rows, endpoint=True),
        "small": lambda: rng.integers(0, 100, rows),
        "constant": lambda: np.full(rows, rng.integers(-1000, 1000)),
        "sorted": lambda: np.sort(rng.integers(0, 2**40, rows)),
        "runs": lambda: np.repeat(rng.integers(0, 2**31, rows // 50 + 1), 50)[:rows],
        "few": lambda: rng.choice(rng.integers(info.min, info.max, 5), rows),
    }
    numbers: Integers = made[pattern]()
    return numbers


def _fill(of: pa.DataType, numbers: Integers) -> pa.Array:
    make = next(make for holds, make in _FAMILIES if holds(of))
    return make(of, numbers)


def _booleans(_of: pa.DataType, numbers: Integers) -> pa.Array:
    return pa.array(numbers % 2 == 1)


def _integers(of: pa.DataType, numbers: Integers) -> pa.Array:
    return pa.array(numbers.astype(of.to_pandas_dtype()))


def _dictionary(of: pa.DataType, numbers: Integers) -> pa.Array:
    return _texts(pa.string(), numbers % 50).dictionary_encode().cast(of)


def _fixed_bytes(of: pa.DataType, numbers: Integers) -> pa.Array:
    raw = numbers.astype("<i8").view("u1").reshape(-1, 8)
    return pa.array([bytes(row.tobytes() * 2)[: of.byte_width] for row in raw], of)


def _floats(of: pa.DataType, numbers: Integers) -> pa.Array:
    """Round decimals, and now and then one of the special values."""
    values = (numbers % 2_000_001 - 1_000_000) / 100
    rng = np.random.default_rng(len(numbers))
    special = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-8])
    values = np.where(rng.random(len(values)) < 0.02, rng.choice(special, len(values)), values)
    return pa.array(np.clip(values, -60000, 60000).astype(of.to_pandas_dtype()), of)


def _decimals(of: pa.DataType, numbers: Integers) -> pa.Array:
    """Unscaled values of at most 18 digits, sign-extended to the type's width."""
    limit = 10 ** min(of.precision, 18)
    words = np.empty((len(numbers), of.byte_width // 8), "<i8")
    words[:, 0] = numbers % (2 * limit - 1) - (limit - 1)
    words[:, 1:] = (words[:, :1] >> 63)[:, :]
    return pa.Array.from_buffers(of, len(numbers), [None, pa.py_buffer(words.tobytes())])


def _temporal(of: pa.DataType, numbers: Integers) -> pa.Array:
    if pa.types.is_date64(of):
        return pa.array(numbers % 100_000 * _DAY_MS).view(of)
    if pa.types.is_time(of):
        per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[of.unit]
        numbers = numbers % (86_400 * per_second)
    if of.bit_width == 32:
        return pa.array((numbers % 2**31).astype(np.int32)).view(of)
    return pa.array(numbers).view(of)


def _texts(of: pa.DataType, numbers: Integers) -> pa.Array:
    """Texts of 0 to 30 letters, every hundredth of several hundred bytes, not all of them ASCII."""
    texts = [_text(int(number)) for number in numbers]
    if pa.types.is_binary(of) or pa.types.is_large_binary(of):
        return pa.array([text.encode() + b"\xff\x00" * (len(text) % 2) for text in texts], of)
    return pa.array(texts, of)


def _text(number: int) -> str:
    word = f"{number:x}" if number % 7 else "größer 日本"
    return (word * (1 + number % 100 // 99 * 40))[: number % 1000]


_FAMILIES: list[
    tuple[Callable[[pa.DataType], bool], Callable[[pa.DataType, Integers], pa.Array]]
] = [
    (pa.types.is_boolean, _booleans),
    (pa.types.is_integer, _integers),
    (pa.types.is_floating, _floats),
    (pa.types.is_decimal, _decimals),
    (pa.types.is_dictionary, _dictionary),
    (pa.types.is_temporal, _temporal),
    (pa.types.is_fixed_size_binary, _fixed_bytes),
    (lambda _of: True, _texts),
]
