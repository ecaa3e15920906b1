"""Deleting rows: deletion vectors, and fragments that lose their last row."""

from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest
from libraries import both_libraries

import pennon
from pennon.exceptions import InvalidInputError, UnknownColumnError

TABLE = pa.table({"id": range(20), "name": [None if i % 4 == 0 else f"n{i}" for i in range(20)]})


def ids(dataset: Any) -> list[int]:
    """The ids that are left."""
    left: list[int] = dataset.to_table(columns=["id"])["id"].to_pylist()
    return left


@both_libraries
def test_delete_removes_rows_in_a_new_version(library: Any, uri: str) -> None:
    dataset = library.write_dataset(TABLE, uri)
    assert dataset.delete("id >= 3") == {"num_deleted_rows": 17}
    assert (dataset.version, dataset.count_rows(), ids(dataset)) == (2, 3, [0, 1, 2])
    assert library.dataset(uri, version=1).count_rows() == 20


@both_libraries
def test_data_files_stay_and_a_deletion_file_says_what_is_gone(library: Any, uri: str) -> None:
    dataset = library.write_dataset(TABLE, uri)
    before = dataset.get_fragments()[0].data_files()
    dataset.delete("id IN (3, 5)")
    (part,) = dataset.get_fragments()
    assert [file.path for file in part.data_files()] == [file.path for file in before]
    assert (part.physical_rows, part.num_deletions, part.count_rows()) == (20, 2, 18)
    assert (Path(uri) / part.deletion_file()).is_file()


@both_libraries
def test_a_second_delete_adds_to_the_first(library: Any, uri: str) -> None:
    dataset = library.write_dataset(TABLE, uri)
    dataset.delete("id < 3")
    assert dataset.delete("id < 5") == {"num_deleted_rows": 2}
    assert dataset.get_fragments()[0].num_deletions == 5
    assert ids(dataset) == list(range(5, 20))


@both_libraries
def test_a_fragment_without_rows_leaves_the_dataset(library: Any, uri: str) -> None:
    dataset = library.write_dataset(TABLE, uri, max_rows_per_file=5)
    dataset.delete("id < 7")
    parts = dataset.get_fragments()
    assert [part.fragment_id for part in parts] == [1, 2, 3]
    assert [part.num_deletions for part in parts] == [2, 0, 0]


@both_libraries
def test_all_rows_can_be_deleted(library: Any, uri: str) -> None:
    dataset = library.write_dataset(TABLE, uri, max_rows_per_file=5)
    assert dataset.delete("true") == {"num_deleted_rows": 20}
    assert (dataset.count_rows(), dataset.get_fragments()) == (0, [])
    assert dataset.to_table().equals(TABLE.schema.empty_table())
    assert ids(library.write_dataset(TABLE.slice(0, 1), uri, mode="append")) == [0]


@both_libraries
def test_rows_whose_predicate_is_null_stay(library: Any, uri: str) -> None:
    dataset = library.write_dataset(TABLE, uri)
    dataset.delete("name <> 'n1'")
    assert ids(dataset) == [0, 1, 4, 8, 12, 16]


@both_libraries
def test_positions_count_over_the_rows_that_are_left(library: Any, uri: str) -> None:
    dataset = library.write_dataset(TABLE, uri, max_rows_per_file=5)
    dataset.delete("id % 2 = 0")
    assert dataset.take([0, 4, 9])["id"].to_pylist() == [1, 9, 19]
    assert dataset.to_table(limit=2, offset=3)["id"].to_pylist() == [7, 9]


@pytest.mark.parametrize("rows", [100, 10_000, 100_000])
def test_few_and_many_deletions_read_alike_in_pylance(rows: int, uri: str) -> None:
    dataset = pennon.write_dataset(pa.table({"id": range(rows)}), uri)
    dataset.delete("id % 3 = 0")
    expected = [number for number in range(rows) if number % 3]
    assert ids(dataset) == expected
    assert ids(lance.dataset(uri)) == expected
    lance.dataset(uri).validate()


def test_both_forms_of_deletion_file_are_written(uri: str) -> None:
    dataset = pennon.write_dataset(pa.table({"id": range(100_000)}), uri)
    forms = []
    for predicate in ("id < 3", "id % 2 = 0"):
        dataset.delete(predicate)
        deletions = dataset.get_fragments()[0].metadata.deletion_file
        assert deletions is not None
        forms.append(deletions.file_type)
    assert forms == ["array", "bitmap"]


def test_a_wrong_predicate_changes_nothing(uri: str) -> None:
    dataset = pennon.write_dataset(TABLE, uri)
    with pytest.raises(UnknownColumnError, match="did you mean 'name'"):
        dataset.delete("nmae = 'x'")
    with pytest.raises(InvalidInputError, match="'true' deletes all rows"):
        dataset.delete(None)  # type: ignore[arg-type]
    assert (dataset.version, dataset.latest_version) == (1, 1)


@both_libraries
def test_a_delete_that_lost_its_rows_is_done_again_on_the_newest_version(
    library: Any, uri: str
) -> None:
    old = library.write_dataset(TABLE, uri)
    library.write_dataset(TABLE, uri, mode="append")
    library.dataset(uri).delete("id = 1")
    assert old.delete("id < 3") == {"num_deleted_rows": 4}
    assert old.version == 4
    assert ids(old) == [*range(3, 20), *range(3, 20)]
