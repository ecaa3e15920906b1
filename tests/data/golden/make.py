"""Make the golden datasets: small, one for each writer and file version, all of the same table.

    python tests/data/golden/make.py

What each proves stands in `README.md` beside this file. The datasets of pylance stay as they are;
those of pennon are made again, on purpose, when it writes other bytes than before.
"""

import shutil
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa

HERE = Path(__file__).parent
VERSIONS = ["2.1", "2.2"]
ROWS = 300


def table() -> pa.Table:
    """Columns that between them use every page layout and nearly every encoding."""
    rows = range(ROWS)
    texts = [f"text {i * 7919 % 1009} of {i % 13}" for i in rows]
    vector = pa.array([i / 8 for i in range(ROWS * 4)], pa.float32())
    pairs = [{"x": i, "y": None if i % 4 == 0 else f"y{i % 5}"} for i in rows]
    columns: dict[str, Any] = {
        "packed": pa.array([i % 17 for i in rows], pa.int32()),
        "runs": pa.array([i // 60 for i in rows], pa.int16()),
        "noise": pa.array([i * 0x9E3779B97F4A7C15 % (1 << 62) for i in rows], pa.int64()),
        "constant": pa.array([7] * ROWS, pa.uint8()),
        "nulls": pa.array([None if i % 3 else i for i in rows], pa.int64()),
        "nothing": pa.nulls(ROWS, pa.float64()),
        "flags": pa.array([i % 3 == 0 for i in rows]),
        "cents": pa.array([i * 101 for i in rows]).cast(pa.decimal128(19, 0)),
        "few": pa.array([f"category {i % 4}" for i in rows]),
        "texts": pa.array(texts),
        "long": pa.array(["".join(texts[i : i + 20]) for i in rows]),
        "bytes": pa.array([bytes([i % 256]) * (i % 9) for i in rows]),
        "wide": pa.array([bytes([i % 256]) * 300 for i in rows], pa.binary(300)),
        "vector": pa.FixedSizeListArray.from_arrays(vector, 4),
        "list": pa.array([None if i % 7 == 0 else list(range(i % 5)) for i in rows]),
        "struct": pa.array([None if i % 11 == 0 else pairs[i] for i in rows]),
        "structs": pa.array([pairs[i : i + i % 3] for i in rows]),
        "dictionary": pa.array([f"v{i % 6}" for i in rows]).dictionary_encode(),
        "instant": pa.array([10**15 + i * 10**6 for i in rows], pa.timestamp("us", "UTC")),
    }
    return pa.table(columns)


def path(writer: str, version: str) -> Path:
    """Where the dataset of a writer and version is."""
    return HERE / f"{writer}-{version}.lance"


def main() -> None:
    """Write the datasets that are not there, and those of pennon in any case."""
    for name in sys.argv[1:] or ["lance", "pennon"]:
        library = __import__(name)
        for version in VERSIONS:
            shutil.rmtree(path(name, version), ignore_errors=True)
            library.write_dataset(table(), path(name, version), data_storage_version=version)


if __name__ == "__main__":
    main()
