"""Many processes append to one dataset at once, of both implementations."""

import subprocess
import sys
from pathlib import Path

import lance
import pyarrow as pa
import pytest

import pennon

pytestmark = [pytest.mark.interop, pytest.mark.slow]

APPENDS = 25
APPENDER = Path(__file__).with_name("appender.py")


@pytest.mark.parametrize(
    "libraries",
    [["pennon"] * 8, ["pennon", "lance"] * 4],
    ids=["pennon", "pennon-and-pylance"],
)
def test_every_row_of_concurrent_appends_is_there_once(
    libraries: list[str], tmp_path: Path
) -> None:
    uri = str(tmp_path / "shared")
    schema = pa.schema([("writer", pa.int64()), ("number", pa.int64())])
    pennon.write_dataset(schema.empty_table(), uri)

    processes = [
        subprocess.Popen([sys.executable, APPENDER, library, uri, str(writer), str(APPENDS)])
        for writer, library in enumerate(libraries)
    ]
    assert [process.wait(timeout=300) for process in processes] == [0] * len(libraries)

    expected = [(writer, number) for writer in range(len(libraries)) for number in range(APPENDS)]
    for module in (pennon, lance):
        dataset = module.dataset(uri)
        rows = dataset.to_table().to_pylist()
        assert sorted((row["writer"], row["number"]) for row in rows) == expected
        assert dataset.version == 1 + len(expected)
