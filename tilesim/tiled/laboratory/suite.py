"""The suite of transfers with known verdicts: a table, a row a case, that other people's checkers can read as well.

``workloads/dual-master/suite.csv`` is made by ``scripts/make_dual_master.py``. Up to three transfers ``a``, ``b`` and
``c`` have a column each for master, receivers (with a space between two), rows, and what they wait for (``a passed``,
or ``a passed and b taken``). Each reading has its verdict, and if that is ``refuted``: which two break the rule, with
which start times (cycles before which instructions of the case's program do not begin), in which cycle and where.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

from msgspec import Struct

from tilesim.errors import InputError
from tilesim.machines.trial import Suite, SuiteCase, TrialDocument, TrialReading
from tilesim.printable import unknown
from tilesim.shipped import shipped
from tilesim.tiled.isa.assembly import ASSEMBLY
from tilesim.tiled.laboratory.program import program_of
from tilesim.tiled.laboratory.scenario import BareTransfer, Scenario
from tilesim.tiled.rules.ring.readings import Reading

NAMES = ("a", "b", "c")
TRANSFER = ("master", "to", "rows", "after")
WITNESS = ("pair", "starts", "cycle", "stop")
COLUMNS = (
    *("case", "family", "tiles", "hop_cycles"),
    *(f"{name}_{column}" for name in NAMES for column in TRANSFER),
    *(column for reading in Reading for column in (str(reading), *(f"{reading}_{word}" for word in WITNESS))),
    "also",
)
AND = " and "
HOP_CYCLES = "ring.hop_cycles"


class Case(Struct, frozen=True):
    """A row of the table; ``row`` has it as text, by column."""

    row: Mapping[str, str]

    @property
    def name(self) -> str:
        return self.row["case"]

    @property
    def scenario(self) -> Scenario:
        """The transfers."""
        return Scenario.model_validate(self.plain())

    def plain(self) -> dict[str, Any]:
        """What a file of transfers would hold."""
        keys = {"keys": {HOP_CYCLES: int(self.row["hop_cycles"])}} if self.row["hop_cycles"] != "1" else {}
        transfers = [_plain(name, self.row) for name in NAMES if self.row[f"{name}_master"]]
        return {"tiles": int(self.row["tiles"]), **keys, "transfers": transfers}

    def yaml(self) -> str:
        """The file of transfers."""
        plain = self.plain()
        lines = [f"tiles: {plain['tiles']}", *(f"keys: {_flow(keys)}" for keys in [plain.get("keys")] if keys)]
        return "\n".join([*lines, "transfers:", *(f"  - {_flow(each)}" for each in plain["transfers"]), ""])

    def start_times(self, reading: Reading) -> dict[str, int]:
        """Those with which the rule is broken, by instruction."""
        pairs = (word.partition("=") for word in self.row[f"{reading}_starts"].split())
        return {label: int(cycle) for label, _, cycle in pairs}


def table_path() -> Path:
    """The table."""
    return shipped("workloads") / "dual-master" / "suite.csv"


@cache
def cases() -> Mapping[str, Case]:
    """Every case by its name."""
    with table_path().open(encoding="utf-8", newline="") as lines:
        return {row["case"]: Case(row) for row in csv.DictReader(lines)}


def case_named(name: str) -> Case:
    """The case of that name. Raises InputError."""
    if name not in cases():
        advice = "a case of the suite, or a file with a / or an ending in its name"
        raise InputError(f"{name}: {unknown(name, cases(), advice)}; `tilesim masters suite` lists the cases")
    return cases()[name]


def suite() -> Suite:
    """The whole table, in words."""
    return Suite(table_path(), tuple(map(_in_words, cases().values())))


def row_of(family: str, scenario: Scenario, document: TrialDocument) -> dict[str, str]:
    """The row of a case, from what was found out of it."""
    row = {
        **dict.fromkeys(COLUMNS, ""),
        "case": document["name"],
        "family": family,
        "tiles": str(scenario.tiles),
        "hop_cycles": str(scenario.topology().ring.hop_cycles),
        "also": " ".join(dict.fromkeys(sentence.partition(":")[0] for sentence in document["others"])),
    }
    for transfer in scenario.transfers:
        row |= {f"{transfer.name}_{column}": word for column, word in _cells(transfer)}
    for reading in document["readings"]:
        row |= _verdict_cells(reading)
    return row


def _plain(name: str, row: Mapping[str, str]) -> dict[str, Any]:
    master, to, rows, after = (row[f"{name}_{column}"] for column in TRANSFER)
    waits = dict(wait.split() for wait in after.split(AND)) if after else {}
    places = [_place(word) for word in to.split()]
    return {
        "name": name,
        "master": _place(master),
        "to": places[0] if len(places) == 1 else places,
        "rows": int(rows),
        **({"after": waits} if waits else {}),
    }


def _flow(value: object) -> str:
    """In YAML, on one line."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {_flow(each)}' for key, each in value.items())}}}"
    return f"[{', '.join(map(str, value))}]" if isinstance(value, list) else str(value)


def _place(word: str) -> int | str:
    return int(word) if word.isdecimal() else word


def _cells(transfer: BareTransfer) -> Iterator[tuple[str, str]]:
    yield "master", str(transfer.master)
    yield "to", " ".join(map(str, transfer.to))
    yield "rows", str(transfer.rows)
    yield "after", _waits(transfer)


def _waits(transfer: BareTransfer) -> str:
    return AND.join(f"{name} {when}" for name, when in transfer.after.items())


def _verdict_cells(found: TrialReading) -> dict[str, str]:
    reading = found["reading"]
    seen = next((pair for pair in found["pairs"] if pair["start_times"] is not None), None)
    if seen is None or seen["start_times"] is None:
        return {reading: found["verdict"]}
    starts = " ".join(f"{label}={cycle}" for label, cycle in sorted(seen["start_times"].items()))
    words = (" ".join(seen["transfers"]), starts, str(seen["cycle"]), str(seen["stop"]))
    return {reading: found["verdict"], **{f"{reading}_{key}": word for key, word in zip(WITNESS, words, strict=True)}}


def _in_words(case: Case) -> SuiteCase:
    transfers = "; ".join(_sentence(transfer) for transfer in case.scenario.transfers)
    verdicts = {str(reading): case.row[reading] for reading in Reading}
    return SuiteCase(case.name, case.row["family"], transfers, verdicts, partial(_files, case))


def _files(case: Case) -> dict[str, str]:
    program = program_of(case.scenario, case.name)
    return {f"{case.name}.yaml": case.yaml(), f"{case.name}.tasm": ASSEMBLY.write(program)}


def _sentence(transfer: BareTransfer) -> str:
    waits, to = _waits(transfer), ",".join(map(str, transfer.to))
    return f"{transfer.name}: {transfer.master}->{to} x{transfer.rows}{f' after {waits}' if waits else ''}"
