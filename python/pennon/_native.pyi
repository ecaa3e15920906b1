"""The extension module: what the core offers to the package around it."""

from collections.abc import Iterator
from typing import Any, Protocol

__version__: str

class ScanOptions(Protocol):
    columns: list[str] | None
    filter: str | None
    limit: int | None
    offset: int | None
    batch_size: int | None
    fragments: list[int] | None
    with_row_id: bool
    with_row_address: bool

class OperationParts(Protocol):
    name: str
    fragments: list[str]
    deleted_fragment_ids: list[int]
    predicate: str | None
    schema: Any
    version: int | None

class Batch:
    def __arrow_c_array__(
        self, requested_schema: object | None = None
    ) -> tuple[object, object]: ...

class Stream(Protocol):
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

class Scan:
    def __iter__(self) -> Iterator[Batch]: ...
    def __next__(self) -> Batch: ...
    def read_all(self) -> Stream: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

class Dataset:
    @staticmethod
    def open(uri: str, version: int | None = None, *, verify_checksums: bool = True) -> Dataset: ...
    @property
    def version(self) -> int: ...
    @property
    def data_storage_version(self) -> str: ...
    def latest_version(self) -> int: ...
    def versions(self) -> list[tuple[int, int, list[tuple[str, str]]]]: ...
    def __arrow_c_schema__(self) -> object: ...
    def scan(self, options: ScanOptions) -> Scan: ...
    def scan_schema(self, options: ScanOptions) -> object: ...
    def count(self, options: ScanOptions) -> int: ...
    def take(self, indices: list[int], columns: list[str] | None = None) -> Batch: ...
    def delete(
        self, predicate: str, conflict_retries: int, retry_timeout: float, sync: bool
    ) -> tuple[Dataset, int]: ...
    def checkout(self, version: int) -> Dataset: ...
    def checkout_latest(self) -> Dataset: ...
    def restore(self, sync: bool) -> Dataset: ...
    def fragments(self) -> list[str]: ...

def write_dataset(
    data: object,
    uri: str,
    *,
    mode: str,
    max_rows_per_file: int,
    max_bytes_per_file: int,
    data_storage_version: str | None,
    sync: bool,
) -> Dataset: ...
def write_fragments(
    data: object,
    uri: str,
    *,
    mode: str,
    max_rows_per_file: int,
    max_bytes_per_file: int,
    data_storage_version: str | None,
    sync: bool,
) -> list[str]: ...
def commit_fragments(
    uri: str,
    operation: OperationParts,
    *,
    read_version: int | None,
    max_retries: int,
    sync: bool,
) -> Dataset: ...
