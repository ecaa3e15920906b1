"""Files of ours beside those that pylance makes of the same data, column by column.

A file of ours has checksums, which other files do not have; they are left out of account here, and
take a thousandth of the file.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import lance
import lance.file
import numpy as np
import pyarrow as pa
import pytest

import pennon

ROWS = 20_000

Make = Callable[[np.random.Generator, int], Any]


def text(rng: np.random.Generator, rows: int) -> list[str]:
    words = np.array(["carefully", "final", "deposits", "sleep", "the", "quickly", "ironic"])
    return [" ".join(words[rng.integers(0, len(words), 4)]) for _ in range(rows)]


def vectors(rng: np.random.Generator, rows: int, dimension: int) -> pa.Array:
    items = pa.array(rng.standard_normal(rows * dimension).astype("f4"))
    return pa.FixedSizeListArray.from_arrays(items, dimension)


COLUMNS: dict[str, Make] = {
    **{
        f"{name}.{content}": make
        for name in ("int8", "uint16", "int32", "int64", "uint64", "float32", "float64")
        for content, make in {
            "random": lambda r, n, t=name: (
                r.integers(0, 100, n).astype(t)
                if t == "int8"
                else r.integers(0, 60_000, n).astype(t)
            ),
            "small": lambda r, n, t=name: r.integers(0, 13, n).astype(t),
            "runs": lambda r, n, t=name: np.repeat(r.integers(0, 100, n // 50), 50).astype(t),
            "constant": lambda _, n, t=name: np.full(n, 7, t),
            "sorted": lambda r, n, t=name: np.sort(r.integers(0, 100, n)).astype(t),
        }.items()
    },
    "int64.negative": lambda r, n: r.integers(-1000, 1000, n),
    "int64.rare": lambda r, n: pa.array(r.integers(0, 10**9, n), mask=r.random(n) < 0.99),
    "int64.nulls": lambda r, n: pa.array(r.integers(0, 99, n), mask=r.random(n) < 0.3),
    "float64.noise": lambda r, n: r.random(n),
    "float64.cents": lambda r, n: np.round(r.random(n) * 100, 2),
    "bool.random": lambda r, n: r.random(n) < 0.5,
    "bool.rare": lambda r, n: r.random(n) < 0.01,
    "decimal.small": lambda r, n: pa.array(r.integers(0, 10**6, n)).cast(pa.decimal128(19, 0)),
    "decimal.few": lambda r, n: pa.array(r.integers(0, 50, n)).cast(pa.decimal128(19, 0)),
    "timestamp.steps": lambda _, n: pa.array(np.arange(n) * 1000 + 10**15, pa.timestamp("us")),
    "date": lambda r, n: pa.array(r.integers(8000, 11000, n).astype("i4"), pa.date32()),
    "string.few": lambda r, n: [f"category {i}" for i in r.integers(0, 10, n)],
    "string.many": lambda r, n: [f"customer {i:06}" for i in r.integers(0, 1000, n)],
    "string.unique": lambda _, n: [f"https://example.com/{i * 7919 % 100_003}" for i in range(n)],
    "string.text": text,
    "string.nulls": lambda _, n: [None if i % 3 else f"name {i}" for i in range(n)],
    "string.long": lambda r, n: [" ".join(text(r, 20)) for _ in range(n // 20)],
    "binary": lambda r, n: [r.bytes(20) for _ in range(n)],
    "vectors": lambda r, n: vectors(r, n, 4),
    "embeddings": lambda r, n: vectors(r, n // 10, 128),
    "list": lambda _, n: [list(range(i % 5)) for i in range(n)],
    "list.strings": lambda _, n: [[f"tag {j}" for j in range(i % 4)] for i in range(n)],
    "struct": lambda _, n: [{"a": i % 9, "b": f"b{i % 99}"} if i % 7 else None for i in range(n)],
    "dictionary": lambda _, n: pa.array([f"v{i % 9}" for i in range(n)]).dictionary_encode(),
}


def bytes_of(dataset: Path) -> int:
    """The sizes of the data files, without what they have for us alone."""
    total = 0
    for file in (dataset / "data").iterdir():
        buffers = lance.file.LanceFileReader(str(file)).metadata().global_buffers
        own = sum(buffer.size for buffer in buffers[1:])
        # The entry that says where the block is, and the gap after it.
        total += file.stat().st_size - own - (16 + 64 if len(buffers) > 1 else 0)
    return total


@pytest.mark.parametrize("version", ["2.1", "2.2"])
@pytest.mark.parametrize("name", COLUMNS)
def test_no_file_is_larger_than_the_one_of_pylance(name: str, version: str, tmp_path: Path) -> None:
    column = pa.array(COLUMNS[name](np.random.default_rng(1), ROWS))
    table = pa.table({"x": column})
    pennon.write_dataset(table, tmp_path / "ours", data_storage_version=version)
    lance.write_dataset(table, tmp_path / "theirs", data_storage_version=version)
    assert lance.dataset(tmp_path / "ours").to_table().equals(table)
    assert bytes_of(tmp_path / "ours") <= bytes_of(tmp_path / "theirs")


MILLION = 1_000_000

BEST: dict[str, tuple[Make, int]] = {
    "string, 10 values": (lambda r, n: [f"category-{i}" for i in r.integers(0, 10, n)], 521_060),
    "string, 1,000 values": (
        lambda r, n: [f"customer-{i:05}" for i in r.integers(0, 1000, n)],
        1_290_344,
    ),
    "string, 50,000 values": (
        lambda r, n: [f"customer-{i:06}" for i in r.integers(0, 50_000, n)],
        6_482_397,
    ),
    "sorted int64": (lambda _, n: np.arange(n), 616_528),
    "timestamp, regular step": (
        lambda _, n: pa.array(np.arange(n) * 10**6 + 10**15, pa.timestamp("us")),
        1_693_570,
    ),
    "float64, 2 decimals": (lambda r, n: np.round(r.random(n) * 100, 2), 5_029_623),
    "bool, 1 % true": (lambda r, n: r.random(n) < 0.01, 33_332),
    "int64, 99 % null": (
        lambda r, n: pa.array(r.integers(0, 10**9, n), mask=r.random(n) < 0.99),
        318_068,
    ),
}


@pytest.mark.parametrize("name", BEST)
def test_a_column_takes_no_more_than_the_best_that_settings_of_pylance_reach(
    name: str, tmp_path: Path
) -> None:
    make, best = BEST[name]
    table = pa.table({"x": pa.array(make(np.random.default_rng(0), MILLION))})
    pennon.write_dataset(table, tmp_path / "ours")
    assert pennon.dataset(tmp_path / "ours").to_table().equals(table)
    assert bytes_of(tmp_path / "ours") <= best
