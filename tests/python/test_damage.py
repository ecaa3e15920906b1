"""Damage to data files is noticed before it becomes a value."""

import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import pennon
from pennon import exceptions

ROWS = 5_000
FLIPS = 2_000


def table() -> pa.Table:
    rng = np.random.default_rng(0)
    return pa.table(
        {
            "integer": rng.integers(0, 1000, ROWS),
            "noise": rng.standard_normal(ROWS),
            "name": [f"name {i % 317} of {i}" for i in range(ROWS)],
            "few": [f"category {i % 7}" if i % 5 else None for i in range(ROWS)],
            "list": [list(range(i % 4)) for i in range(ROWS)],
            "vector": pa.FixedSizeListArray.from_arrays(rng.random(ROWS * 8).astype("f4"), 8),
        }
    )


@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2"])
def test_no_flipped_bit_gives_another_value(version: str, tmp_path: Path) -> None:
    expected = table()
    uri = tmp_path / "d.lance"
    pennon.write_dataset(expected, uri, data_storage_version=version)
    (file,) = (uri / "data").iterdir()
    intact = file.read_bytes()
    chance = random.Random(42)
    for _ in range(FLIPS // 3):
        damaged = bytearray(intact)
        damaged[chance.randrange(len(intact))] ^= 1 << chance.randrange(8)
        file.write_bytes(damaged)
        with pytest.raises((exceptions.CorruptFileError, exceptions.UnsupportedFeatureError)):
            pennon.dataset(uri).to_table()
    file.write_bytes(intact)
    assert pennon.dataset(uri).to_table().equals(expected)


def test_only_what_is_read_is_verified(tmp_path: Path) -> None:
    uri = tmp_path / "d.lance"
    pennon.write_dataset(table(), uri)
    (file,) = (uri / "data").iterdir()
    damaged = bytearray(file.read_bytes())
    damaged[100] ^= 1  # within the first column's pages
    file.write_bytes(damaged)
    assert pennon.dataset(uri).to_table(columns=["vector"]).num_rows == ROWS
    with pytest.raises(exceptions.CorruptFileError, match="checksums differ") as raised:
        pennon.dataset(uri).to_table(columns=["integer"])
    assert raised.value.uri == str(file)
    unverified = pennon.dataset(uri, verify_checksums=False)
    assert unverified.to_table(columns=["name"]).num_rows == ROWS
