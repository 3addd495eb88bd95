"""Who is on which bus when, and why units wait."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tilesim.findings import sentence
from tilesim.printable import printable
from tilesim.report.analysis.contention import (
    DEFINITION,
    MASTERS_DEFINITION,
    KindAccount,
    Occupancy,
    accounts,
    occupancy,
)  # fmt: skip
from tilesim.report.document import SavedRun
from tilesim.report.page.build import PageSection
from tilesim.report.tracks import kind_of, master_hue, master_words, masters_of, stacked, track_words
from tilesim.statistics import RunStatistics

UNRECORDED = "There is no trace of this run: record one with `tilesim run ... --trace` to see its links over time."
PARTLY = (
    "The trace is of a part of the run: it lacks {missing:,} of the {all:,} cycles in which links carried something."
)


def contention(run: SavedRun) -> PageSection:
    """The section of links over time, if there is a trace, and of the reasons why units wait."""
    statistics = run.statistics
    units = accounts(statistics)
    kinds = (*stacked({"busy", *(kind for account, _ in units for kind in account.cycles)} - {"idle"}), "idle")
    shown = [
        (account, members if len(members) > 1 else [])
        for account, members in units
        if account.total > account.cycles["idle"]
    ]
    data: dict[str, Any] = {
        "cycles": statistics["cycles"],
        "units": [{**_account(account), "members": [*map(_words, members)]} for account, members in shown],
        "kinds": [{"name": kind, **kind_of(kind)._asdict()} for kind in kinds],
        "note": UNRECORDED,
    }
    members = [member.cycles.get(kind, 0) for _, members in shown for member in members for kind in kinds]
    columns = {"members": np.array(members, np.int64)}  # (member, kind)
    if run.trace is None:
        return PageSection("contention", "Contention", data, columns)
    occupied = occupancy(statistics, run.trace)
    columns |= {name: getattr(occupied, name).ravel() for name in ("edges", "carried", "waiting", "by_master")}
    return PageSection("contention", "Contention", {**data, **_links(statistics, occupied)}, columns)


def _links(run: RunStatistics, occupied: Occupancy) -> dict[str, Any]:
    missing, everything = int((occupied.expected - occupied.carried.sum(axis=1)).sum()), int(occupied.expected.sum())
    return {
        "links": [
            {"track": track, "bus": bus, "words": track_words(track)}
            for track, bus in zip(occupied.links, occupied.buses, strict=True)
        ],
        "masters": [
            {"words": master_words(track), "hue": hue}
            for track, hue in zip(occupied.masters, occupied.hues, strict=True)
        ],
        "findings": [*_findings(run)],
        "definitions": [DEFINITION, *([MASTERS_DEFINITION] if occupied.masters else [])],
        "note": "" if occupied.complete else PARTLY.format(missing=missing, all=everything),
    }


def _findings(run: RunStatistics) -> Iterator[dict[str, Any]]:
    """What the run noticed in a cycle of its own, in the colours of the masters that had to do with it."""
    numbers = masters_of(run)
    for finding in run.get("findings", ()):
        if finding.get("section") == "run" and "cycle" in finding:
            hues = [master_hue(numbers[name]) for name in finding.get("masters", ()) if name in numbers]
            yield {"cycle": finding["cycle"], "words": printable(sentence(finding)), "hues": hues}


def _account(account: KindAccount) -> dict[str, Any]:
    cycles = {kind: cycles for kind, cycles in account.cycles.items() if kind != "idle"}
    return {"words": _words(account), "count": len(account.tracks), "cycles": cycles,
            "idle": account.cycles["idle"], "total": account.total}  # fmt: skip


def _words(account: KindAccount) -> str:
    return track_words(account.words) if account.words in account.tracks else account.words
