"""Datasets: versions, time travel, and what a handle tells about itself."""

import pickle
from datetime import datetime, timedelta, timezone
from typing import Any

import pyarrow as pa
import pytest
from libraries import both_libraries

import pennon

TABLE = pa.table({"id": [1, 2, 3], "name": ["a", None, "c"]})


def three_versions(library: Any, uri: str) -> Any:
    """Three rows, then four, then three of those."""
    library.write_dataset(TABLE, uri)
    library.write_dataset(TABLE.slice(0, 1), uri, mode="append")
    library.dataset(uri).delete("id = 2")
    return library.dataset(uri)


@both_libraries
def test_every_write_makes_a_version(library: Any, uri: str) -> None:
    dataset = three_versions(library, uri)
    assert (dataset.version, dataset.latest_version) == (3, 3)
    assert [entry["version"] for entry in dataset.versions()] == [1, 2, 3]


@both_libraries
def test_versions_tell_their_time_and_their_size(library: Any, uri: str) -> None:
    entries = three_versions(library, uri).versions()
    now = datetime.now(timezone.utc).replace(tzinfo=None)
    assert all(now - timedelta(minutes=5) < entry["timestamp"] <= now for entry in entries)
    assert [entry["metadata"]["total_rows"] for entry in entries] == ["3", "4", "3"]
    assert [entry["metadata"]["total_fragments"] for entry in entries] == ["1", "2", "2"]


@both_libraries
def test_every_version_stays_readable(library: Any, uri: str) -> None:
    three_versions(library, uri)
    counts = [library.dataset(uri, version=number).count_rows() for number in (1, 2, 3)]
    assert counts == [3, 4, 3]
    assert library.dataset(uri, version=1).to_table().equals(TABLE)


@both_libraries
def test_a_handle_stays_at_its_version(library: Any, uri: str) -> None:
    old = library.write_dataset(TABLE, uri)
    library.write_dataset(TABLE, uri, mode="append")
    assert (old.version, old.count_rows(), old.latest_version) == (1, 3, 2)
    old.checkout_latest()
    assert (old.version, old.count_rows()) == (2, 6)


@both_libraries
def test_checkout_version_leaves_the_handle_alone(library: Any, uri: str) -> None:
    dataset = three_versions(library, uri)
    old = dataset.checkout_version(2)
    assert (old.version, old.count_rows()) == (2, 4)
    assert (dataset.version, dataset.count_rows()) == (3, 3)


@both_libraries
def test_restore_brings_a_version_back_as_a_new_one(library: Any, uri: str) -> None:
    old = three_versions(library, uri).checkout_version(1)
    old.restore()
    assert (old.version, old.latest_version) == (4, 4)
    assert library.dataset(uri).to_table().equals(TABLE)


@both_libraries
def test_the_schema_belongs_to_the_version(library: Any, uri: str) -> None:
    library.write_dataset(TABLE, uri)
    library.write_dataset(TABLE.select(["name"]), uri, mode="overwrite")
    assert library.dataset(uri).schema.names == ["name"]
    assert library.dataset(uri, version=1).schema.equals(TABLE.schema)


@both_libraries
def test_counting_knows_filters(library: Any, uri: str) -> None:
    dataset = library.write_dataset(TABLE, uri)
    assert dataset.count_rows() == 3
    assert dataset.count_rows("name IS NULL") == 1
    assert dataset.count_rows(filter="id > 5") == 0


@both_libraries
def test_a_dataset_pickles_at_its_version(library: Any, uri: str) -> None:
    dataset = three_versions(library, uri).checkout_version(2)
    copy = pickle.loads(pickle.dumps(dataset))
    assert (copy.uri, copy.version, copy.count_rows()) == (uri, 2, 4)


def test_a_dataset_shows_its_address_size_and_columns(uri: str) -> None:
    text = repr(pennon.write_dataset(TABLE, uri))
    assert text.splitlines() == [
        f"LanceDataset('{uri}', version=1, rows=3, fragments=1, format=2.2)",
        "  id: int64",
        "  name: string",
    ]


def test_a_dataset_has_a_length(uri: str) -> None:
    assert len(pennon.write_dataset(TABLE, uri)) == 3


def test_a_dataset_in_memory_lives_as_long_as_the_process() -> None:
    uri = "memory://test/lives"
    pennon.write_dataset(TABLE, uri)
    pennon.write_dataset(TABLE, uri, mode="append")
    assert pennon.dataset(uri).count_rows() == 6
    assert pennon.dataset(uri, version=1).to_table().equals(TABLE)


def test_datasets_in_memory_are_apart_by_name() -> None:
    pennon.write_dataset(TABLE, "memory://test/one")
    with pytest.raises(pennon.exceptions.DatasetNotFoundError):
        pennon.dataset("memory://test/two")


@both_libraries
def test_paths_and_file_urls_name_the_same_dataset(library: Any, tmp_path: Any) -> None:
    library.write_dataset(TABLE, tmp_path / "dataset")
    url = f"file://{tmp_path}/dataset"
    assert library.dataset(url).to_table().equals(TABLE)
    assert library.dataset(str(tmp_path / "dataset")).count_rows() == 3


def test_a_dataset_is_opened_at_a_version_or_at_the_newest(uri: str) -> None:
    three_versions(pennon, uri)
    assert pennon.LanceDataset(uri).version == 3
    assert pennon.LanceDataset(uri, 1).version == 1
