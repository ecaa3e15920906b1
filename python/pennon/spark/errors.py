"""Errors of tasks, raised on the driver as what they were.

Spark brings a task's failure to the driver as text inside an exception of its own. A task of this
package therefore writes its error down in a form that can be read back from that text.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager

from pennon import exceptions
from pennon.exceptions import LanceError

_FACTS = ("uri", "version", "attempts", "column", "page")
_REPORT = re.compile(r'\[pennon error (\{"class": .*\})\]')


class TaskError(RuntimeError):
    """A task's failure on its way to the driver."""


@contextmanager
def carried() -> Iterator[None]:
    """Inside a task: let an error of pennon arrive so that `typed_errors` knows it again."""
    try:
        yield
    except LanceError as error:
        facts = {name: getattr(error, name) for name in _FACTS}
        report = json.dumps({"class": type(error).__name__, "message": str(error), **facts})
        raise TaskError(f"{error} [pennon error {report}]") from error


@contextmanager
def typed_errors() -> Iterator[None]:
    """On the driver: raise the `pennon.LanceError` of a failed task as itself.

    `pennon.spark.write` does this on its own. The tasks of a scan run when an action asks for
    rows; Spark's exception then names the error in its text, and inside of this block it *is* the
    error, with Spark's exception as its cause.

    Raises
    ------
    pennon.LanceError
        The error of the task, with the file, column and other facts that it had there.

    Examples
    --------
    >>> with typed_errors():  # doctest: +SKIP
    ...     scan(spark, "/data/flights").count()
    """
    try:
        yield
    except Exception as failure:
        error = _error_in(str(failure))
        if error is None:
            raise
        raise error from failure


def _error_in(text: str) -> LanceError | None:
    """The error that a task has written into Spark's text, or None."""
    found = _REPORT.search(text)
    if found is None:
        return None
    try:
        report = json.loads(found[1])
    except ValueError:  # Spark shortens long texts
        return None
    name = report.pop("class")
    kind = getattr(exceptions, name) if name in exceptions.__all__ else LanceError
    error: LanceError = kind(report.pop("message"), **report)
    return error
