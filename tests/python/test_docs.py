"""The Python blocks of the pages run as they stand, page by page, from top to bottom."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


def program(page: Path) -> str:
    """The page's blocks as one program, each line at the line number that it has on the page."""
    text = page.read_text(encoding="utf-8")
    lines = [""] * text.count("\n")
    for block in BLOCK.finditer(text):
        first = text.count("\n", 0, block.start(1))
        for offset, line in enumerate(block[1].splitlines()):
            lines[first + offset] = line
    return "\n".join(lines)


def active_session() -> Any:
    """The Spark session that is there: a page makes one, or finds that of other tests."""
    sql = sys.modules.get("pyspark.sql")
    return None if sql is None else sql.SparkSession.getActiveSession()


@pytest.mark.spark
@pytest.mark.parametrize(
    "page", [page for page in PAGES if program(page).strip()], ids=lambda page: page.name
)
def test_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    before = active_session()
    try:
        exec(compile(program(page), page, "exec"), {"__name__": "__main__"})
    finally:
        after = active_session()
        if after is not None and before is None:
            after.stop()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    targets = LINK.findall(page.read_text(encoding="utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []
