"""Bring the pages of the guide up to date that say what the code says: keys, assumptions and sources.

What is made stands between ``<!-- made -->`` and ``<!-- /made -->``; what is around it is written by hand.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

import yaml

from tilesim.machines import SystolicTopology, TiledTopology
from tilesim.report.keys import keys, spelt
from tilesim.report.workload_keys import workload_keys

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "tilesim"
GUIDE = PACKAGE / "guide"
PLACE = re.compile(r"(?<=<!-- made -->\n).*?(?=<!-- /made -->)", re.DOTALL)


def rewritten(page: str) -> str:
    """The text of the page ``page`` as it is today."""
    return PLACE.sub(lambda _: "\n".join(MADE[page]()) + "\n", (GUIDE / f"{page}.md").read_text(encoding="utf-8"))


def table(*rows: tuple[str, ...]) -> Iterator[str]:
    """A Markdown table; the first row is its heading."""
    heading, *body = rows
    for row in (heading, ("---",) * len(heading), *body):
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"


# ---- keys


def chip_keys() -> Iterator[str]:
    """Every key of a chip, as those have it that set nothing."""
    chips = {
        "tiled": TiledTopology(machine="tiled", name="-"),
        "systolic": SystolicTopology(machine="systolic", name="-"),
    }
    for machine, chip in chips.items():
        rows = [(f"`{key.key}`", _default(key.key, spelt(key)), key.meaning) for key in keys(chip)]
        yield from ("", f"## machine: {machine}", "", *table(("key", "default", "meaning"), *rows))
    yield ""


def _default(key: str, value: str) -> str:
    return "must be given" if key in {"machine", "name"} else f"`{value}`" if value else ""


def network_keys() -> Iterator[str]:
    """Every key of a network in YAML."""
    for section in workload_keys():
        yield from ("", f"## {section.title[0].upper()}{section.title[1:]}", "")
        if section.meaning:
            yield from (section.meaning, "")
        if section.keys:
            rows = [(f"`{key.key}`", key.value, key.default, key.meaning) for key in section.keys]
            yield from table(("key", "must be", "default", "meaning"), *rows)
            yield ""


# ---- assumptions


END = re.compile(r"(?<=[\w\])`]{2})\.(?=\s+[A-Z`]|\s*$)|\.(?=\s+Source:)")
"""Where a sentence ends, and not an abbreviation."""
SOURCE = re.compile(r"\**Source\**:\s+")


class Remark(NamedTuple):
    """A docstring of the package, or a string below an attribute, as one line of Markdown."""

    module: str
    """In dots, without ``tilesim``."""
    name: str
    """Of what it is about, within the module; "" for the module."""
    title: str
    """Its first sentence."""
    text: str

    @property
    def place(self) -> str:
        return f"`{self.module}{f'.{self.name}' if self.name else ''}`"

    @property
    def sentences(self) -> list[str]:
        return [sentence.strip() for sentence in END.split(self.text) if sentence.strip()]

    @property
    def basis(self) -> list[str]:
        """The clauses of its sentences that begin with "Source:"."""
        return [
            clause
            for sentence in self.sentences
            if SOURCE.match(sentence)
            for clause in re.split(r";\s+", SOURCE.sub("", sentence))
        ]


def remark_of(module: str, name: str, docstring: str) -> Remark:
    first = END.split(plain(docstring.partition("\n\n")[0]))[0]
    return Remark(module, name, first, plain(docstring))


def plain(docstring: str) -> str:
    """A docstring as Markdown: one line, without roles."""
    names = re.sub(r":\w+:`~?(?:[\w.]*\.)?(\w+)`", r"`\1`", docstring).replace("``", "`")
    return " ".join(re.sub(r"\*\*(\w+)\*\*:", r"\1:", names).split())


def remarks() -> Iterator[Remark]:
    """Every docstring of the package, and every string below an attribute."""
    for path in sorted(PACKAGE.rglob("*.py")):
        words = path.relative_to(PACKAGE).with_suffix("").parts
        module = ".".join(words[:-1] if words[-1] == "__init__" else words)
        yield from _within(ast.parse(path.read_text(encoding="utf-8")), module, "")


def _within(
    node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef, module: str, name: str
) -> Iterator[Remark]:
    if text := ast.get_docstring(node):
        yield remark_of(module, name, text)
    for statement, below in zip_longest(node.body, node.body[1:]):
        if isinstance(statement, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _within(statement, module, f"{name}.{statement.name}".lstrip("."))
        elif (
            isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) and isinstance(below.value.value, str)
        ):
            target = statement.targets[0] if isinstance(statement, ast.Assign) else getattr(statement, "target", None)
            if isinstance(target, ast.Name):
                yield remark_of(module, f"{name}.{target.id}".lstrip("."), below.value.value)


ASSUMED = re.compile(r"\bassum(?:ed|ption|ptions)\b", re.IGNORECASE)


def assumptions() -> Iterator[str]:
    """What is assumed, and where that is coded."""
    rows = [
        (remark.place, remark.title, "all of it" if clause == remark.title else clause)
        for remark in remarks()
        for clause in _assumed(remark)
    ]
    rows += [
        (f"`energy.yaml: {name}`", "What it costs", source) for name, source in _energies() if ASSUMED.search(source)
    ]
    yield from ("", *table(("where", "what it is", "assumed"), *rows), "")


def publications() -> Iterator[str]:
    """What publications are used for, and where."""
    rows = [(remark.place, "; ".join(c for c in remark.basis if not ASSUMED.search(c))) for remark in remarks()]
    yield from ("", *table(("where", "source"), *(row for row in rows if row[1])), "")


def _assumed(remark: Remark) -> Iterator[str]:
    """What a docstring says is assumed."""
    yield from (_stated(clause, "") for clause in remark.basis if ASSUMED.search(clause))
    before = ""
    for sentence in remark.sentences:
        if ASSUMED.search(sentence) and not SOURCE.match(sentence):
            yield _stated(sentence, before)
        before = sentence


def _stated(clause: str, before: str) -> str:
    """What is assumed, without the words that say so; a bare "assumption" is about the sentence before, or all."""
    shorter = re.sub(r"^Assumption, as is ", f"{before}; and ", clause)
    shorter = re.sub(r"^[Aa]ssumption(?: for|:) ", "", shorter)
    shorter = re.sub(r",? (?:is an assumption|are assumptions)$", "", shorter)
    return (before or "all of it") if shorter.lower() == "assumption" else shorter


def _energies() -> Iterator[tuple[str, str]]:
    entries: Mapping[str, Mapping[str, str]] = yaml.safe_load((PACKAGE / "energy.yaml").read_text(encoding="utf-8"))
    for name, entry in entries.items():
        yield name, entry["source"]


MADE: Mapping[str, Callable[[], Iterator[str]]] = {
    "chip-keys": chip_keys,
    "network-yaml": network_keys,
    "assumptions": assumptions,
    "publications": publications,
}


def main() -> None:
    """Rewrite the pages."""
    for page in MADE:
        (GUIDE / f"{page}.md").write_text(rewritten(page), encoding="utf-8")


if __name__ == "__main__":
    main()
