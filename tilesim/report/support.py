"""What stands between models and a run, as text that a person reads in a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile

from rich.console import Group, RenderableType
from rich.table import Column, Table
from rich.text import Text

from tilesim.network.obstacles import Obstacle, SupportDocument
from tilesim.printable import printable
from tilesim.report.tables import folded, grid, left, right, table
from tilesim.report.words import Ending, short_name
from tilesim.units import format_bytes

LISTED = 3
"""Names, or sentences, that stand for all."""
COUNTED = {"operator": "operator", "type": "place", "shape": "tensor"}
"""What the count of each sort of obstacle is of."""


def support_summary(document: SupportDocument) -> Group:
    """A verdict a model, and then what stands in the way of each, with the remedies."""
    parts: list[RenderableType] = [_verdicts(document)]
    for model in document["models"]:
        if model["obstacles"]:
            parts += ["", Text(printable(model["model"]), "bold"), _obstacles(model["obstacles"])]
        if model["notes"] and not model["obstacles"]:
            parts += ["", Text(printable(model["model"]), "bold")]
        parts += [Text(printable(note)) for note in model["notes"]]
    return Group(*parts)


def _verdicts(document: SupportDocument) -> Table:
    chip = document["topology"]
    verdict = left(f"on {printable(chip)}" if chip else "verdict")
    in_the_way = Column("in the way", overflow="fold")
    lines = table(*folded("model"), *right("layers", "MACs", "parameters"), *verdict, in_the_way)
    words = _apart([printable(model["model"]) for model in document["models"]])
    for word, model in zip(words, document["models"], strict=True):
        sizes = (model["layers"], model["macs"], model["parameter_bytes"])
        shown = [
            "-" if size is None else write(size)
            for size, write in zip(sizes, (_count, _count, format_bytes), strict=True)
        ]
        lines.add_row(Ending(word), *shown, model["verdict"], Text(_brief(model["obstacles"])))
    return lines


def _apart(words: Sequence[str]) -> list[str]:
    """Paths without the folders that all of them begin with, and without the file's name that all of them have."""
    paths = [word.split("/") for word in words]
    several = [path for path in paths if len(path) > 1]
    if len(several) < 2:
        return [*words]
    alike = sum(1 for _ in takewhile(lambda parts: len({*parts}) == 1, zip(*several, strict=False)))
    ends = 1 if len({path[-1] for path in several}) == 1 else 0
    shown = [path[alike : len(path) - ends] if len(path) > 1 else path for path in paths]
    return ["/".join(part or path) for part, path in zip(shown, paths, strict=True)]


def _count(number: int) -> str:
    return f"{number:,}"


def _brief(obstacles: Sequence[Obstacle]) -> str:
    words = {"form": "form of {}", "chip": "the chip"}
    return _some([words.get(obstacle["about"], "{}").format(printable(obstacle["what"])) for obstacle in obstacles])


def _some(words: Sequence[str]) -> str:
    """The first of many."""
    rest = len(words) - LISTED
    return ", ".join(words[:LISTED]) + (f" and {rest:,} more" if rest > 0 else "")


def _obstacles(obstacles: Sequence[Obstacle]) -> Table:
    paragraphs = grid(Column(max_width=24, overflow="fold"), Column(overflow="fold"))
    for obstacle in obstacles:
        lines = [Text(line) for line in _lines(obstacle)]
        paragraphs.add_row(Text(printable(obstacle["what"])), Group(*lines, Text.assemble("-> ", obstacle["remedy"])))
    return paragraphs


def _lines(obstacle: Obstacle) -> Iterator[str]:
    """Of operators, numbers and sizes the names say enough; what else there is, sentences say."""
    if counted := COUNTED.get(obstacle["about"]):
        count, names = obstacle["count"], [short_name(name) for name in obstacle["names"]]
        yield f"{count:,} {counted}{'s' if count > 1 else ''}: {_some(names)}" if names else f"{count:,} {counted}"
        return
    sentences = [printable(sentence) for sentence in obstacle["sentences"]]
    yield from sentences[:LISTED]
    if len(sentences) > LISTED:
        yield f"and {len(sentences) - LISTED:,} more like these"
