"""pennon: an independent implementation of the Lance columnar format.

Examples
--------
>>> import pyarrow as pa
>>> import pennon
>>> table = pa.table({"id": [1, 2, 3], "name": ["a", "b", "c"]})
>>> dataset = pennon.write_dataset(table, "memory://example/people")
>>> dataset.count_rows("id > 1")
2
>>> dataset.to_table(columns=["name"], filter="id > 1")["name"].to_pylist()
['b', 'c']
"""

from __future__ import annotations

from pennon._native import __version__
from pennon.blob import BlobFile
from pennon.dataset import (
    LanceDataset,
    dataset,
    write_dataset,
)
from pennon.exceptions import LanceError
from pennon.fragment import FragmentMetadata, LanceFragment
from pennon.operation import LanceOperation
from pennon.scanner import LanceScanner

__all__ = [
    "BlobFile",
    "FragmentMetadata",
    "LanceDataset",
    "LanceError",
    "LanceFragment",
    "LanceOperation",
    "LanceScanner",
    "__version__",
    "dataset",
    "write_dataset",
]
