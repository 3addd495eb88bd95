"""The tracks of the timeline: what they are, how much each of them matters, and which counters stand above them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from tilesim.machines.description import Description
from tilesim.registry import description_of
from tilesim.report.tracks import accounts_of, groups, is_mac_array, role, tracks_where, words
from tilesim.sim.core.unit import Reason
from tilesim.statistics import RunStatistics, UnitStatistics


def active_cycles(unit: UnitStatistics) -> int:
    """Those of its spans."""
    return unit["busy_cycles"] + sum(unit["stall_cycles"].values())


def tracks_data(run: RunStatistics, tracks: Sequence[str]) -> dict[str, Any]:
    """Groups, roles, shares and counters, which say ``tracks`` by their places."""
    machine = description_of(run["machine"])
    roles = [role(track, machine).words for track in tracks]
    names = list(dict.fromkeys(roles))
    shares = waits(run)
    return {
        "groups": [
            {**asdict(group), "arrays": is_mac_array(tracks[group.tracks[0]], machine)}
            for group in groups(tracks, machine)
        ],
        "roles": names,
        "role_of": [names.index(name) for name in roles],
        "shares": [round(shares[track], 6) for track in tracks],
        "share_title": "by waits",
        "share_words": "the cycles in which they wait",
        "counters": list(_counters(run, tracks, machine)),
    }


def waits(run: RunStatistics) -> Mapping[str, float]:
    """Of each track the share of the run in which it waits for anything but work; of MAC arrays, in which they work
    or wait.
    """
    machine = description_of(run["machine"])
    shares: defaultdict[str, float] = defaultdict(float)
    for unit in accounts_of(run):
        waiting = sum(cycles for reason, cycles in unit["stall_cycles"].items() if reason != Reason.WORK)
        busy = unit["busy_cycles"] if is_mac_array(unit["track"], machine) else 0
        shares[unit["track"]] = (waiting + busy) / max(1, run["cycles"])
    return shares


def _counters(run: RunStatistics, tracks: Sequence[str], machine: Description) -> Iterator[dict[str, Any]]:
    """MACs in use; then the bytes a cycle of each bus that carried any, the one that carried most first."""
    arrays = [place for place, track in enumerate(tracks) if is_mac_array(track, machine)]
    if any(unit["busy_cycles"] for unit in run["units"] if is_mac_array(unit["track"], machine)):
        yield {"title": "MACs in use", "tracks": arrays, "unit": ""}
    members: dict[str, list[int]] = {}
    for place, track in enumerate(tracks):
        if bus := tracks_where([track], machine, lambda role: role.bus).get(track):
            members.setdefault(bus, []).append(place)
    carried = {bus: run["bytes"].get(bus.replace(" ", "_"), {"carried": 0})["carried"] for bus in members}
    for bus in sorted(members, key=lambda bus: -carried[bus]):
        if carried[bus]:
            title = words(bus)
            yield {"title": f"{title[:1].upper()}{title[1:]}", "tracks": members[bus], "unit": "B/cycle"}
