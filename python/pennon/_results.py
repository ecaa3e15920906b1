"""What operations on datasets return, beside data."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from datetime import datetime


class Version(TypedDict):
    """One version of a dataset."""

    version: int
    timestamp: datetime
    metadata: dict[str, str]


class DeleteResult(TypedDict):
    """What a delete did."""

    num_deleted_rows: int
