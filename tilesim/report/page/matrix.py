"""Who waits for whom: a matrix of victims and culprits, and the transfers that most waited for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.machines.description import Description
from tilesim.printable import printable
from tilesim.registry import description_of
from tilesim.report import transfers
from tilesim.report.analysis.blame import DEFINITION, NOBODY, Blame, blame
from tilesim.report.analysis.contention import senders_of
from tilesim.report.document import SavedRun
from tilesim.report.page.build import PageSection
from tilesim.report.tracks import kind_of, role, track_words, tracks_where, words
from tilesim.report.words import instant_words, short_name
from tilesim.statistics import RunStatistics

UNTRACED = (
    "There is no trace of this run, so nobody knows who kept whom waiting: record one with `tilesim run ... --trace`."
)
PARTLY = "The trace is of a part of the run: {missing:,} of the {all:,} stalled cycles were not recorded."
SCRIPTS = ("matrix_range.js", "matrix_transfers.js", "matrix.js")
COLUMNS = ("kind", "resource", "cycles", "longest_start", "longest_cycles")


def matrix(run: SavedRun) -> PageSection:
    """The section of who keeps whom waiting."""
    found = blame(run.statistics, run.trace, run.stalls)
    shown, place = _shown(found)
    columns: dict[str, NDArray[Any]] = {
        "victim": place[found.victim],
        "culprit": np.where(found.culprit >= 0, place[np.maximum(found.culprit, 0)], found.culprit),
        **{name: getattr(found, name) for name in COLUMNS},
    }
    data: dict[str, Any] = {
        **_units([found.tracks[k] for k in shown], run.statistics),
        "cycles": run.statistics["cycles"],
        "kinds": [{"kind": kind, **kind_of(kind)._asdict()} for kind in found.kinds],
        "resources": found.resources,
        "nobody": {str(place): words for place, words in NOBODY.items()},
        "definition": DEFINITION,
        "note": _note(run, found),
        "transfers": [*_transfers(run)],
        "what_if": transfers.DEFINITION,
    }
    if run.trace is not None:
        senders = senders_of(run.statistics, run.trace)
        known = {found.tracks[k]: number for number, k in enumerate(shown)}
        links = tracks_where(run.trace.tracks, description_of(run.statistics["machine"]), lambda role: role.bus)
        data["links"] = {track: bus for track, bus in links.items() if bus in senders}
        for bus, names in senders.items():
            columns[f"sender.{bus}"] = np.array([known.get(name, -1) for name in names], np.int64)
    return PageSection("matrix", "Who waits for whom", data, columns, SCRIPTS)


def _transfers(run: SavedRun) -> Iterator[dict[str, Any]]:
    """Those that most is waited for, with what the run would save if that was simulated."""
    simulated = run.instant_cycles or {}
    for each in transfers.transfers(run)[: max(transfers.SHOWN, len(simulated))]:
        saved = run.statistics["cycles"] - simulated[each.label] if each.label in simulated else None
        yield {
            "label": printable(each.label), "unit": track_words(each.track), "layer": short_name(each.layer),
            "path": each.path_cycles, "waited": each.waited_cycles, "victims": each.victims,
            "command": each.command, "saved": saved,
        }  # fmt: skip


def _shown(found: Blame) -> tuple[list[int], NDArray[np.int64]]:
    """The units that wait or keep waiting, and of all units their places among these."""
    shown = np.unique(np.concatenate([found.victim, found.culprit[found.culprit >= 0]]))
    place = np.full(len(found.tracks), -1, np.int64)
    place[shown] = np.arange(len(shown))
    return shown.tolist(), place


def _units(tracks: list[str], statistics: RunStatistics) -> dict[str, Any]:
    """The units with what they are and where they are, as places in lists."""
    machine = description_of(statistics["machine"])
    of_track = [role(track, machine) for track in tracks]
    where = [_place(track, machine) for track in tracks]
    titles = list(dict.fromkeys(where))
    roles = list(dict.fromkeys(role.words for role in of_track))
    return {
        "tracks": tracks,
        "words": [printable(track_words(track)) for track in tracks],
        "roles": roles,
        "places": titles,
        "role_of": [roles.index(role.words) for role in of_track],
        "place_of": [titles.index(title) for title in where],
    }


def _place(track: str, machine: Description) -> str:
    """The tile or the bus that a unit is of."""
    part = (track.split(".")[1:2] or [track])[0]
    return machine.groups.get(part) or words(part).capitalize()


def _note(run: SavedRun, found: Blame) -> str:
    missing, every = int(found.cycles[found.longest_start < 0].sum()), int(found.cycles.sum())
    if run.trace is None:
        return UNTRACED
    partly = PARTLY.format(missing=missing, all=every) if missing else ""
    instant = instant_words(run.statistics)
    return " ".join(filter(None, (partly, f"In this run {instant}." if instant else "")))
