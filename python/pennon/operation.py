"""What a commit does: the operations of writers that write fragments themselves."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa

    from pennon.fragment import FragmentMetadata

__all__ = ["LanceOperation", "OperationParts"]


@dataclass
class OperationParts:
    """An operation in the form that the core takes."""

    name: str
    fragments: list[str] = field(default_factory=list)
    deleted_fragment_ids: list[int] = field(default_factory=list)
    predicate: str | None = None
    schema: pa.Schema | None = None
    version: int | None = None


def as_json(fragments: Iterable[FragmentMetadata]) -> list[str]:
    """Return fragments in the form that the core takes."""
    return [json.dumps(fragment.to_json()) for fragment in fragments]


class LanceOperation:
    """What a commit does, for writers that write fragments themselves."""

    class BaseOperation:
        """The base of all operations."""

        def _describe(self) -> OperationParts:
            raise NotImplementedError

    @dataclass
    class Append(BaseOperation):
        """Add fragments.

        Attributes
        ----------
        fragments : iterable of FragmentMetadata
            As returned by :func:`pennon.fragment.write_fragments`.
        """

        fragments: Iterable[FragmentMetadata]

        def _describe(self) -> OperationParts:
            return OperationParts("Append", fragments=as_json(self.fragments))

    @dataclass
    class Overwrite(BaseOperation):
        """Replace schema and rows, or make the dataset.

        Attributes
        ----------
        new_schema : pyarrow.Schema
            The schema that the fragments were written with.
        fragments : iterable of FragmentMetadata
            As returned by :func:`pennon.fragment.write_fragments` with ``mode="overwrite"``.
        """

        new_schema: pa.Schema
        fragments: Iterable[FragmentMetadata]

        def _describe(self) -> OperationParts:
            return OperationParts(
                "Overwrite", fragments=as_json(self.fragments), schema=self.new_schema
            )

    @dataclass
    class Delete(BaseOperation):
        """Replace fragments by versions with more deletions, and drop others.

        Attributes
        ----------
        updated_fragments : iterable of FragmentMetadata
            The fragments with their new deletion files.
        deleted_fragment_ids : iterable of int
            The fragments that have no rows left.
        predicate : str
            What was deleted, for the records.
        """

        updated_fragments: Iterable[FragmentMetadata]
        deleted_fragment_ids: Iterable[int]
        predicate: str

        def _describe(self) -> OperationParts:
            return OperationParts(
                "Delete",
                fragments=as_json(self.updated_fragments),
                deleted_fragment_ids=list(self.deleted_fragment_ids),
                predicate=self.predicate,
            )

    @dataclass
    class Restore(BaseOperation):
        """Make an older version the newest again.

        Attributes
        ----------
        version : int
            The version to bring back.
        """

        version: int

        def _describe(self) -> OperationParts:
            return OperationParts("Restore", version=self.version)
