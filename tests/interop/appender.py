"""A process that appends single rows to a dataset: LIBRARY URI WRITER APPENDS."""

import importlib
import sys

import pyarrow as pa


def main(library: str, uri: str, writer: int, appends: int) -> None:
    """Append `appends` rows, each in a commit of its own."""
    module = importlib.import_module(library)
    for number in range(appends):
        row = pa.table({"writer": [writer], "number": [number]})
        module.write_dataset(row, uri, mode="append")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
