"""Fragments: reading one by one, and committing what other processes wrote."""

import json
import pickle
from typing import Any

import lance
import pyarrow as pa
import pytest
from libraries import both_libraries

import pennon
from pennon.exceptions import (
    CommitConflictError,
    DatasetNotFoundError,
    InvalidInputError,
    LanceError,
    VersionNotFoundError,
)
from pennon.fragment import DataFile, DeletionFile, FragmentMetadata, write_fragments

TABLE = pa.table({"id": range(10), "name": [None if i % 4 == 0 else f"n{i}" for i in range(10)]})


@both_libraries
def test_fragments_come_in_scan_order_with_their_sizes(library: Any, uri: str) -> None:
    library.write_dataset(TABLE, uri, max_rows_per_file=4)
    parts = library.write_dataset(TABLE, uri, mode="append").get_fragments()
    assert [part.fragment_id for part in parts] == [0, 1, 2, 3]
    assert [part.physical_rows for part in parts] == [4, 4, 2, 10]
    assert [part.count_rows() for part in parts] == [4, 4, 2, 10]
    assert [part.count_rows("name IS NULL") for part in parts] == [1, 1, 1, 3]


@both_libraries
def test_a_fragment_reads_its_own_rows(library: Any, uri: str) -> None:
    dataset = library.write_dataset(TABLE, uri, max_rows_per_file=4)
    dataset.delete("id = 5")
    part = dataset.get_fragments()[1]
    assert part.to_table()["id"].to_pylist() == [4, 6, 7]
    assert part.to_table(columns=["name"], filter="id > 4", limit=1).to_pylist() == [{"name": "n6"}]
    assert part.head(1)["id"].to_pylist() == [4]
    assert sum(batch.num_rows for batch in part.to_batches(columns=["id"])) == 3
    assert (
        part.scanner(filter="id = 4", with_row_id=True).to_table()["_rowid"][0].as_py() == 1 << 32
    )
    assert part.schema.equals(TABLE.schema)


@both_libraries
def test_chosen_fragments_are_scanned_in_the_order_given(library: Any, uri: str) -> None:
    dataset = library.write_dataset(TABLE, uri, max_rows_per_file=4)
    chosen = [dataset.get_fragment(2), dataset.get_fragment(0)]
    found = dataset.scanner(columns=["id"], fragments=chosen).to_table()
    assert found["id"].to_pylist() == [8, 9, 0, 1, 2, 3]
    assert dataset.scanner(fragments=[chosen[0]]).count_rows() == 2


@both_libraries
def test_an_unknown_fragment_is_none(library: Any, uri: str) -> None:
    assert library.write_dataset(TABLE, uri).get_fragment(7) is None


def test_a_fragment_offers_its_rows_as_a_stream(uri: str) -> None:
    part = pennon.write_dataset(TABLE, uri, max_rows_per_file=4).get_fragments()[2]
    assert pa.table(part).equals(TABLE.slice(8))
    assert pa.schema(part).equals(TABLE.schema)


def test_a_fragment_shows_its_rows_and_files(uri: str) -> None:
    (part,) = pennon.write_dataset(TABLE, uri).get_fragments()
    (file,) = part.data_files()
    assert repr(part) == f"LanceFragment(id=0, rows=10, files=[{file.path}])"


def test_a_fragment_pickles_at_its_version(uri: str) -> None:
    dataset = pennon.write_dataset(TABLE, uri)
    text = pickle.dumps(dataset.get_fragments()[0])
    dataset.delete("id < 5")
    assert pickle.loads(text).count_rows() == 10


def test_a_fragment_of_another_version_is_refused(uri: str) -> None:
    dataset = pennon.write_dataset(TABLE, uri)
    with pytest.raises(InvalidInputError, match="version 1 has no fragment 3"):
        pennon.LanceFragment(dataset, 3)


def test_rows_are_counted_where_the_manifest_does_not_say(uri: str) -> None:
    dataset = pennon.write_dataset(TABLE, uri)
    dataset.delete("id < 3")
    metadata = dataset.get_fragments()[0].metadata
    assert metadata.deletion_file is not None
    metadata.deletion_file.num_deleted_rows = None
    part = pennon.LanceFragment(dataset, 0, fragment=metadata)
    assert (part.count_rows(), part.num_deletions) == (7, 3)


@both_libraries
def test_fragments_of_other_processes_are_appended_at_once(library: Any, uri: str) -> None:
    library.write_dataset(TABLE, uri)
    written = [
        part
        for piece in (TABLE.slice(0, 3), TABLE.slice(3, 4))
        for part in library.fragment.write_fragments(piece, uri)
    ]
    assert library.dataset(uri).latest_version == 1
    operation = library.LanceOperation.Append(written)
    dataset = library.LanceDataset.commit(uri, operation, read_version=1)
    assert (dataset.version, dataset.count_rows()) == (2, 17)
    assert [part.fragment_id for part in dataset.get_fragments()] == [0, 1, 2]


@both_libraries
def test_an_overwrite_can_make_a_dataset(library: Any, uri: str) -> None:
    written = library.fragment.write_fragments(TABLE, uri, mode="create", max_rows_per_file=4)
    assert [part.physical_rows for part in written] == [4, 4, 2]
    operation = library.LanceOperation.Overwrite(TABLE.schema, written)
    dataset = library.LanceDataset.commit(uri, operation)
    assert (dataset.version, dataset.to_table().equals(TABLE)) == (1, True)


@both_libraries
def test_an_overwrite_replaces_rows_and_schema(library: Any, uri: str) -> None:
    library.write_dataset(TABLE, uri)
    other = pa.table({"y": [1.5]})
    written = library.fragment.write_fragments(other, uri, mode="overwrite")
    operation = library.LanceOperation.Overwrite(other.schema, written)
    dataset = library.LanceDataset.commit(uri, operation, read_version=1)
    assert (dataset.version, dataset.to_table().equals(other)) == (2, True)


@both_libraries
def test_a_delete_names_changed_and_dropped_fragments(library: Any, uri: str) -> None:
    dataset = library.write_dataset(TABLE, uri, max_rows_per_file=4)
    changed = dataset.get_fragments()[0].metadata
    operation = library.LanceOperation.Delete([changed], [1], "id BETWEEN 4 AND 7")
    dataset = library.LanceDataset.commit(uri, operation, read_version=1)
    assert dataset.to_table()["id"].to_pylist() == [0, 1, 2, 3, 8, 9]


@both_libraries
def test_a_restore_can_be_committed(library: Any, uri: str) -> None:
    library.write_dataset(TABLE, uri).delete("id > 1")
    operation = library.LanceOperation.Restore(1)
    dataset = library.LanceDataset.commit(uri, operation, read_version=2)
    assert (dataset.version, dataset.count_rows()) == (3, 10)


def test_appends_and_operations_without_read_version_use_the_newest(uri: str) -> None:
    pennon.write_dataset(TABLE, uri)
    operation = pennon.LanceOperation.Append(write_fragments(TABLE, uri))
    pennon.write_dataset(TABLE, uri, mode="append")
    assert pennon.LanceDataset.commit(uri, operation).count_rows() == 30


def test_a_delete_needs_the_version_that_it_describes(uri: str) -> None:
    pennon.write_dataset(TABLE, uri)
    with pytest.raises(InvalidInputError, match="read_version"):
        pennon.LanceDataset.commit(uri, pennon.LanceOperation.Delete([], [0], "true"))


def test_a_delete_that_lost_its_fragment_is_a_conflict(uri: str) -> None:
    dataset = pennon.write_dataset(TABLE, uri)
    metadata = dataset.get_fragments()[0].metadata
    dataset.delete("id = 1")
    with pytest.raises(CommitConflictError):
        pennon.LanceDataset.commit(
            uri, pennon.LanceOperation.Delete([metadata], [], "false"), read_version=1
        )
    assert dataset.latest_version == 2


def test_nothing_is_committed_to_what_is_not_there(uri: str) -> None:
    operation = pennon.LanceOperation.Append([])
    with pytest.raises(DatasetNotFoundError):
        pennon.LanceDataset.commit(uri, operation, read_version=1)
    pennon.write_dataset(TABLE, uri)
    with pytest.raises(VersionNotFoundError, match="99"):
        pennon.LanceDataset.commit(uri, operation, read_version=99)


@pytest.mark.parametrize("version", ["2.1", "2.2"])
def test_fragments_look_as_those_of_pylance(version: str, uri: str) -> None:
    ours, theirs = (
        library.write_dataset(TABLE, f"{uri}-{library.__name__}", data_storage_version=version)
        for library in (pennon, lance)
    )
    for dataset in (ours, theirs):
        dataset.delete("id IN (2, 3)")
    for a, b in zip(ours.get_fragments(), theirs.get_fragments(), strict=True):
        assert alike(a.metadata.to_json()) == alike(b.metadata.to_json())


def alike(fragment: dict[str, Any]) -> dict[str, Any]:
    """A fragment without names that are random and sizes that differ."""
    files = [file | {"path": "", "file_size_bytes": 0} for file in fragment["files"]]
    return fragment | {"files": files, "deletion_file": fragment["deletion_file"] | {"id": 0}}


def test_either_library_reads_the_others_fragments(uri: str) -> None:
    pennon.write_dataset(TABLE, uri).delete("id = 1")
    ours, theirs = (
        library.dataset(uri).get_fragments()[0].metadata.to_json() for library in (pennon, lance)
    )
    assert ours == theirs
    assert lance.FragmentMetadata.from_json(json.dumps(ours)).to_json() == ours
    assert FragmentMetadata.from_json(json.dumps(theirs)).to_json() == theirs


def test_either_library_commits_the_others_fragments(uri: str) -> None:
    pennon.write_dataset(TABLE, uri)
    for writer, committer in ((lance, pennon), (pennon, lance)):
        texts = [json.dumps(p.to_json()) for p in writer.fragment.write_fragments(TABLE, uri)]
        parts = [committer.FragmentMetadata.from_json(text) for text in texts]
        operation = committer.LanceOperation.Append(parts)
        version = committer.dataset(uri).version
        committer.LanceDataset.commit(uri, operation, read_version=version)
    assert pennon.dataset(uri).to_table().equals(lance.dataset(uri).to_table())
    assert pennon.dataset(uri).count_rows() == 30


def test_metadata_and_operations_pickle(uri: str) -> None:
    written = write_fragments(TABLE, uri, mode="create")
    for operation in (
        pennon.LanceOperation.Append(written),
        pennon.LanceOperation.Overwrite(TABLE.schema, written),
        pennon.LanceOperation.Delete(written, [3], "id = 1"),
        pennon.LanceOperation.Restore(2),
    ):
        assert pickle.loads(pickle.dumps(operation)) == operation


def test_metadata_round_trips_through_json() -> None:
    file = DataFile("a.lance", [0, 1], [0, 1], 2, 2, 1234)
    deletions = DeletionFile(read_version=3, id=17, file_type="bitmap", num_deleted_rows=4)
    metadata = FragmentMetadata(5, [file], physical_rows=10, deletion_file=deletions)
    assert FragmentMetadata.from_json(json.dumps(metadata.to_json())) == metadata
    assert (metadata.num_rows, metadata.num_deletions) == (6, 4)
    assert metadata.data_files()[0].field_ids() == [0, 1]


def test_no_rows_are_no_fragments(uri: str) -> None:
    assert write_fragments(TABLE.slice(0, 0), uri, mode="create") == []


def test_uncommitted_fragments_of_wrong_columns_are_refused(uri: str) -> None:
    pennon.write_dataset(TABLE, uri)
    with pytest.raises(LanceError, match="extra"):
        write_fragments(pa.table({"extra": [1]}), uri)
    with pytest.raises(InvalidInputError, match="mode must be one of"):
        write_fragments(TABLE, uri, mode="upsert")
