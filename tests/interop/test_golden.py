"""Small files that are kept: what was written once is read for ever, and written the same way."""

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

import lance
import pytest

import pennon

if TYPE_CHECKING:
    import pyarrow as pa

MAKE = Path(__file__).parents[1] / "data" / "golden" / "make.py"
SPEC = importlib.util.spec_from_file_location("golden_make", MAKE)
assert SPEC is not None
assert SPEC.loader is not None
golden = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(golden)


def data_file(dataset: Path) -> bytes:
    (file,) = (dataset / "data").iterdir()
    return file.read_bytes()


@pytest.mark.parametrize("version", golden.VERSIONS)
@pytest.mark.parametrize("writer", ["lance", "pennon"])
def test_both_libraries_read_what_is_kept(writer: str, version: str) -> None:
    expected: pa.Table = golden.table()
    path = golden.path(writer, version)
    for library in (pennon, lance):
        dataset = library.dataset(path)
        assert dataset.to_table().equals(expected)
        assert dataset.take([299, 0, 63]).equals(expected.take([299, 0, 63]))


@pytest.mark.parametrize("version", golden.VERSIONS)
def test_the_same_table_gives_the_same_bytes(version: str, tmp_path: Path) -> None:
    pennon.write_dataset(golden.table(), tmp_path / "again", data_storage_version=version)
    assert data_file(tmp_path / "again") == data_file(golden.path("pennon", version))
