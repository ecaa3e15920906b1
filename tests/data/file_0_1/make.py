"""Write a small file of version 0.1 with the pylance that is installed, beside this script."""

import shutil
import tempfile
from pathlib import Path

import lance
import pyarrow as pa

ROWS = range(12)

table = pa.table(
    {
        "number": pa.array(ROWS, pa.int32()),
        "flag": [row % 2 == 0 for row in ROWS],
        "text": [f"text {row}" if row % 3 else None for row in ROWS],
        "key": pa.array([f"k{row % 3}" for row in ROWS]).dictionary_encode(),
        "list": [[{"x": row}] * (row % 3) for row in ROWS],
        "vector": pa.FixedSizeListArray.from_arrays(pa.array(range(24), pa.int8()), 2),
        "null": pa.nulls(12),
    }
)

with tempfile.TemporaryDirectory() as folder:
    lance.write_dataset(table, folder, data_storage_version="legacy", max_rows_per_group=5)
    (file,) = Path(folder, "data").iterdir()
    shutil.copy(file, Path(__file__).with_name("small.lance"))
