"""What the tracks of a trace are, and what its kinds of spans are called: roles, groups, a tree of all, a legend."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import NamedTuple

from tilesim.machines.description import Description, Role
from tilesim.registry import description_of
from tilesim.sim.core.unit import BUSY, Reason
from tilesim.statistics import RunStatistics, UnitStatistics

DEEPEST = 8
"""Levels of the tree; what is deeper than a viewer can show is one name."""
MASTER_HUES = 12
"""Masters that have a colour each."""


# ---- what a unit may be doing


class Kind(NamedTuple):
    """``words`` for a legend, and a ``sentence`` that defines them."""

    words: str
    sentence: str


KINDS = {
    BUSY: Kind("busy", "Moves or computes something in this cycle; a link carries a word or row."),
    **{reason.kind: Kind(reason.words, reason.sentence) for reason in Reason},
}
"""In the order in which pictures stack them; idle is what is left."""
ORDER = {name: place for place, name in enumerate(KINDS)}


def stacked(kinds: Iterable[str]) -> list[str]:
    """Kinds of spans in the order in which pictures stack them, those that are not in the table last."""
    return sorted(kinds, key=lambda kind: (ORDER.get(kind, len(ORDER)), kind))


def kind_of(name: str) -> Kind:
    """The words for a kind of cycles; a reason that is not in the table stands for itself."""
    reason = name.removeprefix("stall:")
    return KINDS.get(name) or Kind(f"waits for {reason}", f"Can't go on: {reason}.")


# ---- what a track is


def accounts_of(run: RunStatistics) -> list[UnitStatistics]:
    """Those of all units and links."""
    return [*run["units"], *run["links"]]


def role(track: str, description: Description) -> Role:
    """The role of a track; one that no role fits is called what its path ends in."""
    last = track.rpartition(".")[2]
    fitting = (role for role in description.roles if fnmatchcase(f".{track}", f"*.{role.ending}"))
    return next(fitting, Role(last, words(last)))


def tracks_where(tracks: Iterable[str], description: Description, holds: Callable[[Role], str]) -> dict[str, str]:
    """The tracks for whose role ``holds`` says something, and what."""
    words_of = ((track, holds(role(track, description))) for track in tracks)
    return {track: said for track, said in words_of if said}


# ---- who sends on a bus


def masters_of(run: RunStatistics) -> dict[str, int]:
    """The nodes of a chip that may send on its bus, by their words (``tile 3``, as in findings), numbered as they stand
    there: the same on every run of a chip, whoever sends.
    """
    machine = description_of(run["machine"])
    senders = tracks_where((unit["track"] for unit in accounts_of(run)), machine, lambda role: role.sends_on)
    return {name: number for number, name in enumerate(dict.fromkeys(map(master_words, senders)))}


def master_words(track: str) -> str:
    """The node that a master's track is of: ``tile 3``."""
    parts = track.split(".")
    return words(parts[1]) if len(parts) > 1 else track


def master_hue(number: int) -> str:
    """The colour of a master by its number; from the :data:`MASTER_HUES`-th on they come again, never as those of
    anything else.
    """
    return f"master:{number % MASTER_HUES}"


def track_words(track: str) -> str:
    """A track as words: what it is on the chip."""
    return " ".join(words(part) for part in track.split(".")[1:]) or words(track)


def words(name: str) -> str:
    """A part of a track's path in words: ``mesh_in_east`` is ``mesh in east``, ``link4`` is ``link 4``."""
    return re.sub(r"(?<=[a-z])(?=[0-9]+$)", " ", name).replace("_", " ").replace("dma ", "DMA ").replace("mac ", "MAC ")


# ---- tracks in groups, as people look for them: the MAC arrays, then by bus and by tile


@dataclass(frozen=True)
class TrackGroup:
    """Tracks under one title: their places in the list of all, and what tells each from the others."""

    title: str
    tracks: tuple[int, ...]
    names: tuple[str, ...]


def groups(tracks: Sequence[str], description: Description) -> list[TrackGroup]:
    """All tracks in groups: the MAC arrays, those that the machine names, all others; numbers as they are counted."""
    members: dict[str, list[int]] = {}
    for place in sorted(range(len(tracks)), key=lambda place: _natural(tracks[place])):
        members.setdefault(_title(tracks[place], description), []).append(place)
    grouped = [
        TrackGroup(title, tuple(ours), tuple(_name(tracks[place], description) for place in ours))
        for title, ours in members.items()
    ]
    arrays = [_title(track, description) for track in tracks if is_mac_array(track, description)]
    order = list(dict.fromkeys([*arrays, *description.groups.values()]))
    ranks = {title: rank for rank, title in enumerate(order)}
    return sorted(grouped, key=lambda group: (ranks.get(group.title, len(ranks)), _natural(group.title)))


def is_mac_array(track: str, description: Description) -> bool:
    """Whether it is the track of one."""
    return bool(description.mac_arrays) and track.endswith(description.mac_arrays)


def _title(track: str, description: Description) -> str:
    if is_mac_array(track, description):
        title = role(track, description).words
        return f"{title[:1].upper()}{title[1:]}"
    part = track.split(".")[1:2] or [track]
    return description.groups.get(part[0]) or words(part[0]).capitalize()


def _name(track: str, description: Description) -> str:
    parts = track.split(".")
    if is_mac_array(track, description) and len(parts) > 2:
        return words(parts[1])
    inner = parts[2:] if len(parts) > 2 and parts[1] != "host" else parts[1:] or parts
    return " ".join(map(words, inner))


def _natural(text: str) -> list[tuple[int, str]]:
    """A key that puts link10 behind link9."""
    return [(int(part), "") if k % 2 else (-1, part) for k, part in enumerate(re.split(r"([0-9]{1,18})", text))]


# ---- tracks as a tree: a chip, its tiles and buses, their units and links


@dataclass(frozen=True)
class Track:
    """A unit, link or group of these. ``number`` and ``parent`` (0: none) count from 1, parents first; ``place`` is
    the one among the parent's children.
    """

    number: int
    parent: int
    place: int
    path: str
    name: str


def in_order(statistics: RunStatistics, recorded: Iterable[str]) -> list[str]:
    """The paths of all units and links of a run, in the order in which its statistics list them; then those that only
    its trace knows. Where there is nothing, there is at least a chip.
    """
    listed = [unit["track"] for unit in accounts_of(statistics)]
    return list(dict.fromkeys([*listed, *recorded])) or ["chip"]


def tree(paths: Iterable[str]) -> dict[str, Track]:
    """Each of the ``paths`` and the groups that it is in, by path: ``chip.tile3.tensor`` is in ``chip.tile3``."""
    nodes: dict[str, Track] = {}
    children: dict[str, int] = {}
    for path in paths:
        words = path.split(".", DEEPEST - 1)
        for depth, name in enumerate(words):
            group, own = ".".join(words[:depth]), ".".join(words[: depth + 1])
            if own in nodes:
                continue
            place = children[group] = children.get(group, -1) + 1
            parent = nodes[group].number if depth else 0
            nodes[own] = Track(len(nodes) + 1, parent, place, own, name)
    return nodes
