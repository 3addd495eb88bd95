"""Tracks in groups, as people look for them: by bus and by tile."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

GROUPS = {
    "host": "Host and controller",
    "controller": "Host and controller",
    "infeed": "Host and controller",
    "outfeed": "Host and controller",
    "classifier": "Classifier tile",
    "ring": "Ring bus",
    "mesh": "Mesh",
    "instruction_bus": "Instruction bus",
    "sequencer": "Host and sequencer",
    "dma_in": "Host and sequencer",
    "dma_out": "Host and sequencer",
    "weight_memory": "Weights",
    "weight_fetcher": "Weights",
    "weight_path": "Weights",
    "matrix": "Array and vector unit",
    "vector": "Array and vector unit",
}
"""The title of the group that a track's second word belongs to; any other word titles its own."""
ORDER = tuple(dict.fromkeys(GROUPS.values()))
"""The groups that come before all others."""


@dataclass(frozen=True)
class Group:
    """Tracks under one title: their places in the list of all, and what tells each from the others."""

    title: str
    tracks: tuple[int, ...]
    names: tuple[str, ...]


def groups(tracks: Sequence[str]) -> list[Group]:
    """All tracks in groups, buses before tiles, numbers in the order of counting."""
    members: dict[str, list[int]] = {}
    titles = GROUPS | ({"host": GROUPS["sequencer"]} if any(map(_is_sequencer, tracks)) else {})
    for place in sorted(range(len(tracks)), key=lambda place: _natural(tracks[place])):
        members.setdefault(_title(tracks[place], titles), []).append(place)
    grouped = [
        Group(title, tuple(ours), tuple(_name(tracks[place]) for place in ours)) for title, ours in members.items()
    ]
    return sorted(grouped, key=lambda group: (_rank(group.title), _natural(group.title)))


def words(name: str) -> str:
    """A part of a track's path in words: ``mesh_in_east`` is ``mesh in east``, ``link4`` is ``link 4``."""
    return re.sub(r"(?<=[a-z])(?=[0-9]+$)", " ", name).replace("_", " ").replace("dma ", "DMA ")


def _is_sequencer(track: str) -> bool:
    return track.split(".")[1:2] == ["sequencer"]


def _title(track: str, titles: Mapping[str, str]) -> str:
    part = track.split(".")[1:2] or [track]
    return titles.get(part[0]) or words(part[0]).capitalize()


def _name(track: str) -> str:
    parts = track.split(".")
    inner = parts[2:] if len(parts) > 2 and parts[1] != "host" else parts[1:] or parts
    return " ".join(map(words, inner))


def _rank(title: str) -> int:
    return ORDER.index(title) if title in ORDER else len(ORDER)


def _natural(text: str) -> list[tuple[int, str]]:
    """A key that puts link10 behind link9."""
    return [(int(part), "") if k % 2 else (-1, part) for k, part in enumerate(re.split(r"([0-9]{1,18})", text))]
