"""Large objects: values that are stored away from the pages."""

from __future__ import annotations

import io

__all__ = ["BlobFile"]


class BlobFile(io.BytesIO):
    """The bytes of one large object, to be read like a file.

    Made by :meth:`pennon.LanceDataset.take_blobs`.
    """

    def readall(self) -> bytes:
        """Return the bytes from the current position on."""
        return self.read()

    def size(self) -> int:
        """Return the number of bytes."""
        return len(self.getbuffer())
