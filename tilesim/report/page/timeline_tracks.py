"""The tracks of the timeline: what they are, how much each of them matters, and which counters stand above them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from tilesim.machines.description import Description
from tilesim.registry import description_of
from tilesim.report.analysis.dependences import Dependences
from tilesim.report.document import SavedRun
from tilesim.report.tracks import accounts_of, groups, is_mac_array, role, tracks_where, words
from tilesim.sim.core.unit import Reason
from tilesim.statistics import RunStatistics, UnitStatistics


def active_cycles(unit: UnitStatistics) -> int:
    """Those of its spans."""
    return unit["busy_cycles"] + sum(unit["stall_cycles"].values())


def tracks_data(saved: SavedRun, tracks: Sequence[str]) -> dict[str, Any]:
    """Groups, roles, shares and counters, which say ``tracks`` by their places, the trace's first."""
    run = saved.statistics
    machine = description_of(run["machine"])
    roles = [role(track, machine).words for track in tracks]
    names = list(dict.fromkeys(roles))
    shares, waiting = path_shares(saved), waits(run)
    dependences = Dependences(tracks, machine.dependences)
    return {
        "groups": [
            {**asdict(group), "arrays": is_mac_array(tracks[group.tracks[0]], machine)}
            for group in groups(tracks, machine)
        ],
        "roles": names,
        "role_of": [names.index(name) for name in roles],
        "shares": [round(shares[track], 6) for track in tracks],
        "waits": [round(waiting[track], 6) for track in tracks],
        "started_by": [dependences.started_by(place) for place in range(len(tracks))],
        "counters": list(_counters(run, tracks, machine)),
    }


def path_shares(run: SavedRun) -> Mapping[str, float]:
    """Of each track the share of the run in which it is what the run waits for."""
    shares: defaultdict[str, float] = defaultdict(float)
    if (path := run.path) is None:
        return shares
    known = path.track >= 0
    cycles = np.bincount(path.track[known], path.cycles[known], len(path.tracks)).tolist()
    shares.update(
        (track, of_track / max(1, run.statistics["cycles"]))
        for track, of_track in zip(path.tracks, cycles, strict=True)
    )
    return shares


def waits(run: RunStatistics) -> Mapping[str, float]:
    """Of each track the share of the run in which it waits for anything but work."""
    shares: defaultdict[str, float] = defaultdict(float)
    for unit in accounts_of(run):
        waiting = sum(cycles for reason, cycles in unit["stall_cycles"].items() if reason != Reason.WORK)
        shares[unit["track"]] = waiting / max(1, run["cycles"])
    return shares


def _counters(run: RunStatistics, tracks: Sequence[str], machine: Description) -> Iterator[dict[str, Any]]:
    """The share of MAC arrays that are busy; then the bytes a cycle of each bus that carried any, most first."""
    arrays = [place for place, track in enumerate(tracks) if is_mac_array(track, machine)]
    if any(unit["busy_cycles"] for unit in run["units"] if is_mac_array(unit["track"], machine)):
        yield {"title": "MAC arrays busy", "tracks": arrays, "unit": ""}
    members: dict[str, list[int]] = {}
    for place, track in enumerate(tracks):
        if bus := tracks_where([track], machine, lambda role: role.bus).get(track):
            members.setdefault(bus, []).append(place)
    carried = {bus: run["bytes"].get(bus.replace(" ", "_"), {"carried": 0})["carried"] for bus in members}
    for bus in sorted(members, key=lambda bus: -carried[bus]):
        if carried[bus]:
            title = words(bus)
            yield {"title": f"{title[:1].upper()}{title[1:]}", "tracks": members[bus], "unit": "B/cycle"}
