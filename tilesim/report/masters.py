"""Bare transfers that were tried, as text: the transfers, the verdicts, and who occupies which nodes when."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tilesim.machines.trial import Suite, TrialDocument, TrialPair, TrialReading
from tilesim.printable import counted, printable
from tilesim.report.analysis.masters import Cell, Occupancy, hues, letters, occupancy, run_of_nodes
from tilesim.report.figures.style import colour
from tilesim.report.tables import folded, left, right, table

TICK = 10
"""Cycles from one number above the picture to the next."""
TWO_ROWS, TWO_UNDER_WAY, BROKEN = "*", "+", "^"
TWO = "bold red"
READING = {"refuted": "bold red", "not proven": "bold yellow", "proven": "bold green"}
"""Styles of verdicts."""


def trial_text(document: TrialDocument, columns: int) -> Group:
    """All of a trial, its picture at most so many ``columns`` wide."""
    title = Text.assemble(
        (printable(document["name"]), "bold"), " on ", (printable(document["topology"]), "bold"),
        f", {counted(len(document['transfers']), 'transfer')}",
    )  # fmt: skip
    parts: list[RenderableType] = [title, "", _transfers(document), "", _verdicts(document)]
    reasons = [*_reasons(document)]
    parts += ["", *reasons] if reasons else []
    return Group(*parts, "", *picture_text(document, columns))


def suite_table(suite: Suite) -> Table:
    """A line a case."""
    rows = table(*left("case"), *folded("transfers"), *left("single", "disjoint", "meet"))
    for case in suite.cases:
        rows.add_row(case.name, case.words, *(Text(word, READING[word]) for word in case.verdicts.values()))
    return rows


def _transfers(document: TrialDocument) -> Table:
    rows = table(*left("", "transfer", "master"), *folded("to"), *left("passes"), *right("rows"), *folded("after"))
    styles = _styles(document)
    for transfer in document["transfers"]:
        waits = ", ".join(f"{name} {when}" for name, when in transfer["after"].items())
        letter = Text(transfer["letter"], f"bold #ffffff on {styles[transfer['name']]}")
        passes, to = run_of_nodes(transfer, document["nodes"]), ", ".join(transfer["to"])
        rows.add_row(letter, transfer["name"], transfer["master"], to, passes, f"{transfer['rows']:,}", waits)
    return rows


def _verdicts(document: TrialDocument) -> Table:
    rows = table(*left("reading", "verdict", "pair"), *right("cycle"), *left("at"), *folded("begun no sooner than"))
    for reading in document["readings"]:
        name = f"{reading['reading']}{', which binds' * (reading['reading'] == document['reading'])}"
        verdict = Text(reading["verdict"], READING[reading["verdict"]])
        for line in [*_pair_cells(document, reading)] or [("", "", "", "")]:
            rows.add_row(name, verdict, *line)
            name, verdict = "", Text("")
        if reading["more"]:
            rows.add_row("", "", f"and {counted(reading['more'], 'pair')} more", "", "", "")
    return rows


def _pair_cells(document: TrialDocument, reading: TrialReading) -> Iterator[tuple[str, str, str, str]]:
    names = letters(document)
    for pair in reading["pairs"]:
        both = " ".join(names[name] for name in pair["transfers"])
        if pair["cycle"] is None:
            yield both, "", "", f"not seen in {counted(pair['runs'], 'run')}" if pair["runs"] else "no run was made"
        else:
            yield both, f"{pair['cycle']:,}", str(pair["stop"]), _times(pair)


def _times(pair: TrialPair) -> str:
    return ", ".join(f"{label} {cycle:,}" for label, cycle in (pair["start_times"] or {}).items())


def _reasons(document: TrialDocument) -> Iterator[Text]:
    """Why, of the reading that binds; and what else is wrong."""
    for reading in document["readings"]:
        if reading["reading"] == document["reading"]:
            for pair in reading["pairs"]:
                yield Text(f"{pair['verdict']} ({reading['reading']}): {printable(pair['reason'])}")
    yield from (Text(f"refuted {printable(sentence)}") for sentence in document["others"])


# ---- the picture


def picture_text(document: TrialDocument, columns: int) -> Iterator[RenderableType]:
    """Nodes over cycles, in stretches of at most so many ``columns``."""
    picture, occupied = document["picture"], occupancy(document)
    room = max(len(name) for name in document["nodes"]) + 2
    width = max(TICK, columns - room)
    yield Text(_shown(document, occupied), "bold")
    for first in range(occupied.window.start, occupied.window.stop, width):
        stretch = range(first, min(first + width, occupied.window.stop))
        yield Text("")
        yield Text(" " * room + _ticks(stretch))
        for node, name in enumerate(document["nodes"]):
            yield Text.assemble(f"{name:<{room}}", *_line(document, occupied, node, stretch))
        if marks := _marks(document, stretch):
            yield Text(" " * room + marks, "bold red")
    yield Text("")
    yield Text(_legend(occupied, bool(picture["breaches"])))
    yield from (Text(f"{BROKEN} {printable(breach['sentence'])}") for breach in picture["breaches"])


def _shown(document: TrialDocument, occupied: Occupancy) -> str:
    """Which run it is."""
    picture, window = document["picture"], occupied.window
    times = ", ".join(f"{label} {cycle:,}" for label, cycle in picture["start_times"].items())
    which = {
        "counterexample": f"A counterexample ({document['reading']}), with {times}",
        "start": f"A run with {times}",
        "run": "A run",
    }[picture["shows"]]
    hangs = "" if picture["ended"] else "; it hangs, with rows that nobody takes"
    return f"{which}: cycles {window.start:,} to {window.stop - 1:,}{hangs}"


def _ticks(stretch: range) -> str:
    """Every tenth cycle's number, where it begins."""
    line = ""
    for cycle in stretch:
        if cycle % TICK == 0 and len(line) <= cycle - stretch.start:
            line = line.ljust(cycle - stretch.start) + str(cycle)
    return line


def _line(document: TrialDocument, occupied: Occupancy, node: int, stretch: range) -> Iterator[tuple[str, str]]:
    names, styles = letters(document), _styles(document)
    for cycle in stretch:
        yield _sign(occupied.at(node, cycle), names, styles)


def _sign(cell: Cell, names: dict[str, str], styles: dict[str, str]) -> tuple[str, str]:
    """One character, and its style: a row stands on its master's colour."""
    if len(cell.passing) > 1:
        return TWO_ROWS, TWO
    if cell.passing:
        [name] = cell.passing
        return names[name], f"bold #ffffff on {styles[name]}"
    if len(cell.under_way) > 1:
        return TWO_UNDER_WAY, TWO
    if cell.under_way:
        [name] = cell.under_way
        return names[name].lower(), styles[name]
    return ".", "dim"


def _styles(document: TrialDocument) -> dict[str, str]:
    return {name: colour(hue) for name, hue in hues(document).items()}


def _marks(document: TrialDocument, stretch: range) -> str:
    cycles = {breach["cycle"] for breach in document["picture"]["breaches"]}
    return "".join(BROKEN if cycle in cycles else " " for cycle in stretch).rstrip()


def _legend(occupied: Occupancy, broken: bool) -> str:
    cells = occupied.cells.values()
    signs = ["A: a row of A is sent, forwarded or taken", "a: A is under way past the node, without a row there"]
    if any(len(cell.under_way) > 1 and not cell.passing for cell in cells):
        signs.append(f"{TWO_UNDER_WAY}: two are under way there")
    if any(len(cell.passing) > 1 for cell in cells):
        signs.append(f"{TWO_ROWS}: rows of two in one cycle")
    if broken:
        signs.append(f"{BROKEN}: the rule is broken")
    return "; ".join(signs)
