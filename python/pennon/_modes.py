"""What a write does with what is there already."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pennon.exceptions import InvalidInputError

WriteMode: TypeAlias = Literal["create", "append", "overwrite"]
WRITE_MODES = ("create", "append", "overwrite")


def check_mode(mode: str) -> None:
    """Fail unless this is a write mode."""
    if mode not in WRITE_MODES:
        msg = f"mode must be one of {', '.join(WRITE_MODES)}, not '{mode}'"
        raise InvalidInputError(msg)
