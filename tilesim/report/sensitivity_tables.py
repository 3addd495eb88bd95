"""What each key of a chip is worth, as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tilesim.printable import printable
from tilesim.report.sensitivity import (
    SensitivityDocument,
    SensitivityKey,
    SensitivityStep,
    by_key,
    change_words,
    counts_words,
    matters,
    value_words,
)
from tilesim.report.tables import folded, left, right, table
from tilesim.report.words import Ending, cause_words, energy_text
from tilesim.units import format_seconds

Keys = Sequence[tuple[SensitivityKey, Sequence[SensitivityStep]]]


def sensitivity_tables(document: SensitivityDocument, every: bool = False) -> Group:
    """The keys that change anything, those that change the time most first; the others by their names, or ``every`` one
    in full; and what could not be.
    """
    keys = by_key(document)
    effective = [(key, steps) for key, steps in keys if matters(steps)]
    idle = [(key, steps) for key, steps in keys if not matters(steps) and any(s["status"] == "ran" for s in steps)]
    parts: list[RenderableType] = [*_heading(document)]
    if shown := [*effective, *(idle if every else [])]:
        parts += ["", _steps(shown)]
    if idle and not every:
        parts += ["", Text("Without effect", "bold"), Text(", ".join(_idle(key, steps) for key, steps in idle))]
    if whole := [line for key, steps in keys for line in _left_out(key, steps, every)]:
        parts += ["", Text("Left out", "bold"), _sentences(whole)]
    return Group(*parts)


def _heading(document: SensitivityDocument) -> Iterator[Text]:
    base = document["base"]
    yield Text.assemble(
        (printable(document["network"]), "bold"),
        " on ",
        (printable(document["topology"]), "bold"),
        f": {counts_words(document)}",
    )
    time, energy = format_seconds(base["time_us"] / 1e6), energy_text(base["energy_pj"])
    area = f", {base['area_mm2']:,.3g} mm2" if base["area_mm2"] else ""
    bound = printable(cause_words(base["bound_by"]))
    yield Text(f"as it is: {base['cycles']:,} cycles = {time}, {energy}{area}, bound by {bound}")
    yield Text(printable(f"that is: {base['command']}"))


def _steps(keys: Keys) -> Table:
    lines = table(*folded("key"), *right("from", "to", "time", "cycles", "energy", "area"))
    for key, steps in keys:
        name, value = key["key"], printable(value_words(key["key"], key["value"]))
        for step in steps:
            if step["status"] == "ran":
                lines.add_row(Ending(printable(name)), value, *_numbers(step))
                name = value = ""
    return lines


def _numbers(step: SensitivityStep) -> Iterator[str]:
    yield printable(value_words(step["key"], step["value"]))
    for ratio in (step["time_ratio"], step["cycles_ratio"], step["energy_ratio"], step["area_ratio"]):
        yield change_words(ratio)


def _idle(key: SensitivityKey, steps: Sequence[SensitivityStep]) -> str:
    """Its name, and the area that a step saves for nothing."""
    saved = [
        f"{value_words(step['key'], step['value'])}: area {change_words(step['area_ratio'])}"
        for step in steps
        if step["area_ratio"] and step["area_ratio"] < 1
    ]
    return printable(f"{key['key']} ({', '.join(saved)})" if saved else key["key"])


def _left_out(key: SensitivityKey, steps: Sequence[SensitivityStep], every: bool) -> Iterator[tuple[str, str]]:
    """Steps that did not run, and why; steps that there are not only where ``every`` one is asked for."""
    for step in steps:
        if step["status"] != "ran":
            yield f"{key['key']}={value_words(key['key'], step['value'])}", step["reason"]
    if key["unstepped"] and (every or not steps):
        yield key["key"], key["unstepped"]


def _sentences(lines: Sequence[tuple[str, str]]) -> Table:
    shown = table(*left(""), *folded(""))
    shown.show_header = False
    for what, why in lines:
        shown.add_row(Text(printable(what)), Text(printable(why)))
    return shown
