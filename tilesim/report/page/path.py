"""The section of the critical path: its steps as columns, and what to call everything on it."""

from __future__ import annotations

from typing import Any

from tilesim.printable import printable
from tilesim.report.analysis.critical_path import DEFINITION, NOT_RECORDED, ON_ITS_WAY, CriticalPath, roles_of
from tilesim.report.document import SavedRun
from tilesim.report.page.build import PageSection
from tilesim.report.tracks import Kind, kind_of, track_words
from tilesim.report.words import short_name
from tilesim.sim.trace.trace import Trace

COLUMNS = ("track", "start", "cycles", "kind", "what", "layer")
OWN_KINDS = {
    ON_ITS_WAY: Kind("on its way", "What the unit has sent has not come to the one that it sets to work."),
    NOT_RECORDED: Kind("not recorded", "No span of the trace says what the run waited for."),
}
"""Kinds of steps that are of no span."""
PARTLY = "Of the run's {cycles:,} cycles, {unknown} not on the path: {why}."


def path(run: SavedRun) -> PageSection | None:
    """The section of what a run waited for from its beginning to its end; None without a trace."""
    if run.trace is None or run.path is None:
        return None
    columns = {name: getattr(run.path, name) for name in COLUMNS}
    return PageSection("path", "Critical path", _data(run, run.trace, run.path), columns)


def _data(run: SavedRun, trace: Trace, found: CriticalPath) -> dict[str, Any]:
    """Tracks, kinds and layers are places in these lists, tracks those of the timeline."""
    words = roles_of(run.statistics, found)
    roles = list(dict.fromkeys(words.values()))
    return {
        "cycles": run.statistics["cycles"],
        "tracks": [
            {"name": track, "words": printable(track_words(track)), "role": roles.index(words[place])}
            for place, track in enumerate(found.tracks)
        ],
        "roles": roles,
        "kinds": [{"kind": kind, **(OWN_KINDS.get(kind) or kind_of(kind))._asdict()} for kind in found.kinds],
        "layers": [{"name": name, "short": short_name(name)} for name in trace.layers],
        "definition": DEFINITION,
        "note": _note(run, found),
    }


def _note(run: SavedRun, found: CriticalPath) -> str:
    """How much of the run no span explains, where that is anything."""
    unknown = int(found.cycles[found.kind == found.kinds.index(NOT_RECORDED)].sum())
    if not unknown:
        return ""
    why = "the run ended there" if run.statistics.get("end") else "the trace does not say what the run waited for"
    are = f"{unknown:,} {'is' if unknown == 1 else 'are'}"
    return PARTLY.format(cycles=run.statistics["cycles"], unknown=are, why=why)
