"""Fragments: the pieces that a dataset's version is made of."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pennon import _native
from pennon._arrow import Source

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import pyarrow as pa
    from typing_extensions import Unpack

    from pennon._arrow import ReaderLike
    from pennon.dataset import LanceDataset
    from pennon.scanner import FragmentKeywords, LanceScanner, RowKeywords

__all__ = [
    "DataFile",
    "DeletionFile",
    "FragmentMetadata",
    "LanceFragment",
    "write_fragments",
]

DEFAULT_MAX_ROWS_PER_FILE = 1024 * 1024
"""Rows after which a new file is begun."""
DEFAULT_MAX_BYTES_PER_FILE = 90 * 1024**3
"""Bytes after which a new file is begun."""


@dataclass
class DataFile:
    """One file of a fragment and the fields that it stores.

    Attributes
    ----------
    path : str
        The file's name within the dataset's ``data`` directory.
    fields : list of int
        The ids of the fields that own a column.
    column_indices : list of int
        The column of each field.
    file_major_version, file_minor_version : int
        The file's format version.
    file_size_bytes : int or None
        The file's size, when known.
    base_id : int or None
        The base path that the file lies under, when it is not the dataset's own root.
    """

    path: str
    fields: list[int]
    column_indices: list[int] = field(default_factory=list)
    file_major_version: int = 0
    file_minor_version: int = 0
    file_size_bytes: int | None = None
    base_id: int | None = None

    def field_ids(self) -> list[int]:
        """Return the ids of the fields that own a column."""
        return self.fields


@dataclass
class DeletionFile:
    """Which rows of a fragment are deleted, as a file.

    Attributes
    ----------
    read_version : int
        The version that the deleting operation read.
    id : int
        A random number that makes the file's name unique.
    file_type : str
        ``"array"`` (an Arrow file) or ``"bitmap"`` (a Roaring bitmap).
    num_deleted_rows : int or None
        How many rows are deleted; None when the writer did not say.
    base_id : int or None
        The base path that the file lies under, when it is not the dataset's own root.
    """

    read_version: int
    id: int
    file_type: str
    num_deleted_rows: int | None
    base_id: int | None = None


@dataclass
class FragmentMetadata:
    """A fragment as the manifest describes it. Travels as JSON or by pickle.

    Attributes
    ----------
    id : int
        The fragment's id; 0 until a commit assigns one.
    files : list of DataFile
        The files that hold the fragment's columns.
    physical_rows : int
        Rows in the files, deleted ones included.
    deletion_file : DeletionFile or None
        Which rows are deleted.
    row_id_meta, created_at_version_meta, last_updated_at_version_meta, overlays
        Carried as they are.
    """

    id: int
    files: list[DataFile]
    physical_rows: int
    deletion_file: DeletionFile | None = None
    row_id_meta: Any = None
    created_at_version_meta: Any = None
    last_updated_at_version_meta: Any = None
    overlays: list[Any] = field(default_factory=list)

    @property
    def num_deletions(self) -> int:
        """Rows that are deleted, as far as the manifest says."""
        return (self.deletion_file.num_deleted_rows or 0) if self.deletion_file else 0

    @property
    def _is_counted(self) -> bool:
        """Whether the manifest says how many rows are deleted."""
        return self.deletion_file is None or self.deletion_file.num_deleted_rows is not None

    @property
    def num_rows(self) -> int:
        """Rows that are not deleted."""
        return self.physical_rows - self.num_deletions

    def data_files(self) -> list[DataFile]:
        """Return the files that hold the fragment's columns."""
        return self.files

    def to_json(self) -> dict[str, Any]:
        """Return the fragment as a dict that :func:`json.dumps` takes.

        Examples
        --------
        >>> from pennon.fragment import DataFile, FragmentMetadata
        >>> one = FragmentMetadata(0, [DataFile("a.lance", [0], [0], 2, 2, 10)], physical_rows=3)
        >>> import json
        >>> FragmentMetadata.from_json(json.dumps(one.to_json())) == one
        True
        """
        return {
            "id": self.id,
            "files": [dict(vars(file)) for file in self.files],
            "overlays": self.overlays,
            "physical_rows": self.physical_rows,
            "deletion_file": dict(vars(self.deletion_file)) if self.deletion_file else None,
            "row_id_meta": self.row_id_meta,
            "created_at_version_meta": self.created_at_version_meta,
            "last_updated_at_version_meta": self.last_updated_at_version_meta,
        }

    @staticmethod
    def from_json(json_data: str) -> FragmentMetadata:
        """Return the fragment that a JSON text describes."""
        parts = json.loads(json_data)
        deletion = parts.get("deletion_file")
        return FragmentMetadata(
            id=parts["id"],
            files=[DataFile(**file) for file in parts["files"]],
            physical_rows=parts["physical_rows"],
            deletion_file=DeletionFile(**deletion) if deletion else None,
            row_id_meta=parts.get("row_id_meta"),
            created_at_version_meta=parts.get("created_at_version_meta"),
            last_updated_at_version_meta=parts.get("last_updated_at_version_meta"),
            overlays=parts.get("overlays") or [],
        )


class LanceFragment:
    """One fragment of a dataset at one version.

    Parameters
    ----------
    dataset
        The dataset at its version.
    fragment_id
        The fragment's id.
    fragment
        The fragment's metadata at that version; looked up when not given.
    """

    def __init__(
        self,
        dataset: LanceDataset,
        fragment_id: int,
        *,
        fragment: FragmentMetadata | None = None,
    ) -> None:
        self._ds = dataset
        self._metadata = fragment or dataset._fragment_metadata(fragment_id)

    def __repr__(self) -> str:
        """Show the fragment's id, rows and files."""
        files = ", ".join(file.path for file in self._metadata.files)
        return f"LanceFragment(id={self.fragment_id}, rows={self.count_rows()}, files=[{files}])"

    def __reduce__(self) -> tuple[type[LanceFragment], tuple[LanceDataset, int]]:
        """Pickle as the dataset at its version and the fragment's id."""
        return LanceFragment, (self._ds, self.fragment_id)

    @property
    def fragment_id(self) -> int:
        """The fragment's id."""
        return self._metadata.id

    @property
    def metadata(self) -> FragmentMetadata:
        """The fragment as the manifest describes it."""
        return self._metadata

    @property
    def schema(self) -> pa.Schema:
        """The dataset's schema."""
        return self._ds.schema

    @property
    def physical_rows(self) -> int:
        """Rows in the files, deleted ones included."""
        return self._metadata.physical_rows

    @property
    def num_deletions(self) -> int:
        """Rows that are deleted."""
        return self.physical_rows - self.count_rows()

    def data_files(self) -> list[DataFile]:
        """Return the files that hold the fragment's columns."""
        return self._metadata.files

    def deletion_file(self) -> str | None:
        """Return the path of the deletion file within the dataset, if there is one."""
        file = self._metadata.deletion_file
        if file is None:
            return None
        suffix = "arrow" if file.file_type == "array" else "bin"
        return f"_deletions/{self.fragment_id}-{file.read_version}-{file.id}.{suffix}"

    def count_rows(self, filter: str | None = None) -> int:
        """Return how many rows are not deleted and satisfy the filter.

        Without a filter no data is read: the manifest knows.
        """
        if filter is None and self._metadata._is_counted:
            return self._metadata.num_rows
        return self.scanner(columns=[], filter=filter).count_rows()

    def scanner(self, **options: Unpack[FragmentKeywords]) -> LanceScanner:
        """Return a scanner over this fragment; options as in :meth:`LanceDataset.scanner`."""
        return self._ds.scanner(fragments=[self], **options)

    def to_table(
        self,
        columns: Sequence[str] | None = None,
        filter: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
        **options: Unpack[RowKeywords],
    ) -> pa.Table:
        """Read the fragment; options as in :meth:`LanceDataset.scanner`."""
        scanner = self._ds.scanner(columns, filter, limit, offset, fragments=[self], **options)
        return scanner.to_table()

    def to_batches(self, **options: Unpack[FragmentKeywords]) -> Iterator[pa.RecordBatch]:
        """Read the fragment batch by batch; options as in :meth:`LanceDataset.scanner`."""
        return self.scanner(**options).to_batches()

    def head(self, num_rows: int) -> pa.Table:
        """Return the first rows."""
        return self.to_table(limit=num_rows)

    def __arrow_c_schema__(self) -> object:
        """Offer the schema through the Arrow C data interface."""
        return self.scanner().__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Offer the rows through the Arrow C stream interface."""
        return self.scanner().__arrow_c_stream__(requested_schema)


def write_fragments(
    data: ReaderLike,
    dataset_uri: str | Path | LanceDataset,
    schema: pa.Schema | None = None,
    *,
    mode: str = "append",
    max_rows_per_file: int = DEFAULT_MAX_ROWS_PER_FILE,
    max_bytes_per_file: int = DEFAULT_MAX_BYTES_PER_FILE,
    data_storage_version: str | None = None,
    durable: bool = True,
) -> list[FragmentMetadata]:
    """Write data files that no version refers to yet.

    This is the first half of a distributed write: workers call it, one process collects what they
    return and commits it with :meth:`LanceDataset.commit`.

    Parameters
    ----------
    data
        What to write, as in :func:`pennon.write_dataset`.
    dataset_uri
        The dataset's address; it need not exist yet.
    schema
        The schema to store the data under; taken from the data when not given.
    mode
        ``"append"`` stores the columns under the field ids of the existing dataset; ``"create"``
        and ``"overwrite"`` under fresh ones.
    max_rows_per_file, max_bytes_per_file
        When a new file, and so a new fragment, is begun.
    data_storage_version
        The file version: ``"2.1"`` or ``"2.2"``. Default: the dataset's own, or ``"2.2"``.
    durable
        Whether the files have reached the disk when this returns.

    Returns
    -------
    list of FragmentMetadata
        One per file; none when there are no rows.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import pennon
    >>> from pennon.fragment import write_fragments
    >>> table = pa.table({"id": [1, 2, 3]})
    >>> parts = write_fragments(table, "memory://example/parts", mode="create")
    >>> operation = pennon.LanceOperation.Overwrite(table.schema, parts)
    >>> pennon.LanceDataset.commit("memory://example/parts", operation).count_rows()
    3
    """
    from pennon._modes import check_mode
    from pennon.dataset import address_of

    check_mode(mode)
    source = Source(data, schema)
    with source.failures():
        written = _native.write_fragments(
            source.stream,
            address_of(dataset_uri),
            mode=mode,
            max_rows_per_file=max_rows_per_file,
            max_bytes_per_file=max_bytes_per_file,
            data_storage_version=data_storage_version,
            sync=durable,
        )
    return [FragmentMetadata.from_json(fragment) for fragment in written]
