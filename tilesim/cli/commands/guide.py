"""``tilesim guide``: the pages that explain tilesim, in a terminal."""

from __future__ import annotations

import re
import sys
from difflib import get_close_matches
from pathlib import Path
from shutil import get_terminal_size
from typing import Annotated

import typer

from tilesim.cli.output import tell
from tilesim.errors import InputError

PAGES = Path(__file__).resolve().parents[2] / "guide"
INDEX = "README"
PICTURE = re.compile(r"^!\[([^]]*)\]\([^)]+\)$", re.MULTILINE)
BAR = re.compile(r"(?<!\\)\|")
"""Between two cells of a table."""
MARGIN = 3
"""Columns around a cell."""
TABLE = re.compile(r"^\|.*\n\| ?--.*\n(?:\|.*\n)+", re.MULTILINE)
PLACE_LINK = re.compile(r"\[([^]]+)\]\(#[\w-]+\)")
PAGE_LINK = re.compile(r"\[([^]]+)\]\(([\w-]+)\.md(?:#[\w-]*)?\)")


def command(
    page: Annotated[
        str, typer.Argument(metavar="PAGE", help="The page to show; without it, the list of all.", show_default=False)
    ] = "",
) -> None:
    """Show a page of the guide, or the list of its pages.

    In a terminal it is set in type; elsewhere it is the Markdown of the page.
    """
    text = _contents() if not page else _with_words_for_links(_text(page))
    if not (page and sys.stdout.isatty()):
        tell(*text.splitlines())
        return
    from rich.markdown import Markdown

    from tilesim.report.terminal import show

    fitting = TABLE.sub(lambda table: _fitting(table[0], get_terminal_size().columns), text)
    show(Markdown(fitting, code_theme="ansi_dark", inline_code_theme="ansi_dark", hyperlinks=False))


def _contents() -> str:
    """The list of pages: the index, with what to type in place of links."""
    index = (PAGES / f"{INDEX}.md").read_text(encoding="utf-8")
    entry = re.compile(r"^- \[([\w-]+)\]\([\w-]+\.md\): ", re.MULTILINE)
    width = max(map(len, entry.findall(index)))
    return entry.sub(lambda link: f"  {link[1]:{width}}  ", index).replace("## ", "").partition("\n\n")[2]


def _text(page: str) -> str:
    names = {path.stem for path in PAGES.glob("*.md")} - {INDEX}
    if page in names:
        return (PAGES / f"{page}.md").read_text(encoding="utf-8")
    near = get_close_matches(page.lower(), sorted(names), 1)
    advice = f"did you mean {near[0]}?" if near else "`tilesim guide` lists them"
    raise InputError(f"there is no page {page!r} in the guide; {advice}")


def _with_words_for_links(text: str) -> str:
    """A page for those who can click on nothing: links as what to type, pictures as what they show."""
    words = PLACE_LINK.sub(r"\1", PICTURE.sub(r"*(In the repository: \1)*", text))
    return PAGE_LINK.sub(r"\1 (`tilesim guide \2`)", words)


def _fitting(table: str, columns: int) -> str:
    """A table as it is, or, if its longest words do not fit side by side and would be cut, a list of its rows."""
    heading, _, *rows = ([cell.strip() for cell in BAR.split(line)[1:-1]] for line in table.splitlines())
    longest = (
        max(len(word.strip("`")) for row in rows for word in row[place].split() or [""])
        for place in range(len(heading))
    )
    if sum(longest) + MARGIN * len(heading) <= columns:
        return table
    return "".join(_listed(heading, row) for row in rows)


def _listed(heading: list[str], row: list[str]) -> str:
    first, *others = row
    return "\n".join(
        [f"- {first}", *(f"  - {name}: {cell}" for name, cell in zip(heading[1:], others, strict=True) if cell), ""]
    )
