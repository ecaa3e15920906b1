"""The exceptions of pennon.

All of them are :class:`LanceError`. Each is also the built-in exception that pylance raises in the
same place, so that existing handlers keep working.

Examples
--------
>>> import pennon
>>> try:
...     pennon.dataset("memory://nowhere")
... except pennon.exceptions.DatasetNotFoundError as error:
...     print(type(error).__name__, isinstance(error, ValueError))
DatasetNotFoundError True
"""

from __future__ import annotations

__all__ = [
    "CommitConflictError",
    "CorruptFileError",
    "DatasetAlreadyExistsError",
    "DatasetNotFoundError",
    "IncompatibleTransactionError",
    "InputDataError",
    "InvalidExpressionError",
    "InvalidInputError",
    "LanceError",
    "RowIndexError",
    "SchemaMismatchError",
    "StorageError",
    "UnknownColumnError",
    "UnsupportedFeatureError",
    "UnsupportedTypeError",
    "VersionNotFoundError",
]


class LanceError(Exception):
    """The base of all exceptions of pennon.

    Attributes
    ----------
    uri : str or None
        The dataset or file that the failure concerns.
    version : int or None
        The dataset's version.
    attempts : int or None
        How often the operation was tried.
    column : str or None
        The column, with dots between the names of nested fields.
    page : int or None
        The page's number within its column.
    """

    def __init__(
        self,
        message: str = "",
        *,
        uri: str | None = None,
        version: int | None = None,
        attempts: int | None = None,
        column: str | None = None,
        page: int | None = None,
    ) -> None:
        super().__init__(message)
        self.uri = uri
        self.version = version
        self.attempts = attempts
        self.column = column
        self.page = page

    def __str__(self) -> str:
        """The message, whatever the built-in base would make of it."""
        return str(self.args[0]) if self.args else ""


class DatasetNotFoundError(LanceError, ValueError, FileNotFoundError):
    """There is no dataset at the address."""


class VersionNotFoundError(LanceError, ValueError, OSError):
    """The dataset has no such version, or it was cleaned up."""


class DatasetAlreadyExistsError(LanceError, FileExistsError):
    """A dataset exists at the address, and the mode is "create"."""


class CommitConflictError(LanceError, OSError):
    """Another writer was faster; doing the operation again on the newest version may succeed."""


class IncompatibleTransactionError(LanceError, OSError):
    """Another writer changed the dataset so that the operation makes no sense any more."""


class UnsupportedFeatureError(LanceError, NotImplementedError, OSError, ValueError):
    """The dataset, the file or the call needs something that this release does not have."""


class UnsupportedTypeError(LanceError, OSError, ValueError):
    """A type that the format, or the file version asked for, cannot hold."""


class CorruptFileError(LanceError, OSError):
    """The bytes of a file contradict the format."""


class SchemaMismatchError(LanceError, OSError, ValueError):
    """The data's schema does not fit the dataset's; the message lists the differences."""


class UnknownColumnError(LanceError, ValueError, OSError):
    """A column that the dataset does not have."""


class InvalidExpressionError(LanceError, ValueError, OSError):
    """A predicate that cannot be parsed, or whose types do not fit."""


class InvalidInputError(LanceError, ValueError, OSError):
    """An argument out of its range, or data that contradicts its schema."""


class RowIndexError(LanceError, IndexError, OSError):
    """A row position beyond the dataset's end."""


class InputDataError(LanceError, OSError):
    """The source of the data to be written failed."""


class StorageError(LanceError, OSError):
    """The disk or the object store failed."""
