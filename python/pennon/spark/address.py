"""One address that means the same on the driver and in every task."""

import os


def everywhere(uri: str | os.PathLike[str]) -> str:
    """Return `uri`, made absolute if it is a path: tasks may run in another working directory.

    Examples
    --------
    >>> everywhere("file:///data/flights"), everywhere("/data/flights")
    ('file:///data/flights', '/data/flights')
    """
    address = os.fspath(uri)
    return address if "://" in address else os.path.abspath(address)  # noqa: PTH100 -- keeps links
