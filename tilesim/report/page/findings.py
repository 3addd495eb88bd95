"""The banner of what a run noticed, and of why it ended early: sentences with the cycle to look at."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from tilesim.findings import Finding, sentence
from tilesim.printable import printable
from tilesim.report.document import SavedRun
from tilesim.report.page.build import PageSection
from tilesim.report.tracks import accounts_of, master_hue, masters_of, words
from tilesim.report.words import end_words
from tilesim.statistics import RunStatistics

AROUND = 16
"""Cycles before and behind a finding that are shown with it."""
PLURALS = {"meeting": "meetings of two transfers", "under way at once": "pairs of transfers under way at once",
           "mixed payload": "instructions that took mixed rows", "floating packet": "packets that float on the ring",
           "touched": "accesses that came too early"}  # fmt: skip
SINGULARS = {"meeting": "meeting of two transfers", "under way at once": "pair of transfers under way at once",
             "mixed payload": "instruction that took mixed rows", "floating packet": "packet that floats on the ring",
             "touched": "access that came too early"}  # fmt: skip
HEADING = re.compile(r"the \w+ program (hangs|ends) after [0-9,]+ cycles.*:")
"""The first line of a report, which the banner says itself."""


def findings(run: SavedRun) -> PageSection | None:
    """The section above all others; None where there is nothing to find fault with."""
    found, end = run.statistics.get("findings") or [], run.statistics.get("end")
    if not found and not end:
        return None
    data = {
        "counts": _counts(found),
        "findings": [_shown(finding, run.statistics) for finding in found],
        "end": _end(run.statistics),
    }
    return PageSection("findings", "Findings", data)


def _counts(found: Sequence[Finding]) -> str:
    """How many of each kind."""
    kinds = Counter(finding["kind"] for finding in found)
    return ", ".join(
        f"{count:,} {PLURALS.get(kind, kind)}" if count > 1 else f"{count} {SINGULARS.get(kind, kind)}"
        for kind, count in kinds.items()
    )


def _shown(finding: Finding, run: RunStatistics) -> dict[str, Any]:
    """A finding in words, in the colours of its masters, and where to look for it."""
    numbers = masters_of(run)
    named = finding.get("masters") or [finding[key] for key in ("master",) if key in finding]
    return {
        "kind": finding["kind"],
        "words": printable(sentence(finding)),
        "masters": [{"words": name, "hue": master_hue(numbers[name])} for name in named if name in numbers],
        "cycle": _run_cycle(finding, run),
        "tracks": list(_tracks(finding, run)),
        "instruction": finding.get("instruction") or next(iter(finding.get("instructions", ())), ""),
    }


def _run_cycle(finding: Finding, run: RunStatistics) -> int | None:
    """When, in cycles of the run section; those of the load are negative."""
    if "cycle" not in finding:
        return None
    return finding["cycle"] - (run["load_cycles"] if finding.get("section") == "load" else 0)


def _tracks(finding: Finding, run: RunStatistics) -> Iterator[str]:
    """Where to look: at the masters' senders, or at the tile that it is of."""
    named = [*finding.get("masters", ()), *([finding["master"]] if "master" in finding else [])]
    place = [f"tile {finding['tile']}"] if "tile" in finding else [finding.get("stop", "")]
    tracks = [unit["track"] for unit in accounts_of(run)]
    for name in [*named, *place]:
        ours = [track for track in tracks if words(track.split(".")[1]) == name]
        yield from [track for track in ours if track.endswith(("ring_producer", "infeed", "classifier"))][:1]


def _end(run: RunStatistics) -> dict[str, Any] | None:
    """How a run ended that did not come to its end, and the lines of its report."""
    end, found = run.get("end"), [sentence(finding) for finding in run.get("findings") or []]
    if end is None:
        return None
    lines = [line for line in end["report"] if not HEADING.fullmatch(line) and not any(said in line for said in found)]
    return {
        "heading": f"The run {end_words(end)}",
        "cycle": end["cycle"],
        "lines": [printable(line) for line in lines],
    }
