"""Write a small 2.0 dataset with the pylance that is installed, beside this file.

Each folder here was made in an environment of its own:

    pip install "pylance==0.13.0" "numpy<2" && python make.py
"""

import inspect
from pathlib import Path

import lance
import pyarrow as pa

ROWS = range(20)

table = pa.table(
    {
        "number": pa.array([row if row % 5 else None for row in ROWS], pa.int32()),
        "text": pa.array([f"text {row}" if row % 3 else None for row in ROWS]),
        "flag": pa.array([row % 2 == 0 for row in ROWS]),
        "list": pa.array([[f"item {row}"] * (row % 3) if row % 7 else None for row in ROWS]),
        "point": pa.array([{"x": row, "name": f"point {row}"} for row in ROWS]),
    }
)

options = {"data_storage_version": "2.0"}
if "data_storage_version" not in inspect.signature(lance.write_dataset).parameters:
    options = {"use_legacy_format": False}
lance.write_dataset(table, Path(__file__).with_name(lance.__version__), **options)
