"""What a track is, told by the end of its path."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from tilesim.report.tracks import words


@dataclass(frozen=True)
class Role:
    """What the tracks are whose paths end as ``ending`` says (``*`` stands for anything).

    ``words``: what several of them are called. ``bus``: the bus that it is a link of. ``sends_on``: the bus on which
    it puts what it sends, as one of several masters.
    """

    ending: str
    words: str
    bus: str = ""
    sends_on: str = ""


ROLES: tuple[Role, ...] = (
    Role("ring.link*", "ring links", bus="ring"),
    Role("mesh.*", "mesh links", bus="mesh"),
    Role("instruction_bus.stop*", "instruction bus stops", bus="instruction bus"),
    Role("host.infeed", "host infeed", bus="host"),
    Role("host.outfeed", "host outfeed", bus="host"),
    Role("mac_array", "MAC arrays"),
    Role("tensor", "tensor controls"),
    Role("ring_consumer", "ring consumers"),
    Role("ring_producer", "ring producers", sends_on="ring"),
    Role("narrow_to_wide", "narrow to wide"),
    Role("wide_to_narrow", "wide to narrow"),
    Role("mesh_in_*", "mesh in"),
    Role("mesh_out_*", "mesh out"),
    Role("infeed", "infeed", sends_on="ring"),
    Role("outfeed", "outfeed"),
    Role("classifier", "classifier", sends_on="ring"),
    Role("controller", "controller"),
    Role("weight_memory", "weight memory", bus="weight memory"),
    Role("host.instructions", "host instructions", bus="instructions"),
    Role("matrix", "matrix unit"),
    Role("vector", "vector unit"),
    Role("weight_path", "weight path"),
    Role("weight_fetcher", "weight fetcher"),
    Role("dma_in", "DMA in", sends_on="host"),
    Role("dma_out", "DMA out", sends_on="host"),
    Role("sequencer", "sequencer"),
)
"""The first that fits a track is its role: all that a machine needs here is rows."""


def role(track: str) -> Role:
    """The role of a track; one that no row fits is called what its path ends in."""
    last = track.rpartition(".")[2]
    return next((known for known in ROLES if fnmatchcase(f".{track}", f"*.{known.ending}")), Role(last, words(last)))


def tracks_where(tracks: Iterable[str], holds: Callable[[Role], str]) -> dict[str, str]:
    """The tracks for whose role ``holds`` says something, and what."""
    words_of = ((track, holds(role(track))) for track in tracks)
    return {track: said for track, said in words_of if said}


def track_words(track: str) -> str:
    """A track as words: what it is on the chip."""
    return " ".join(words(part) for part in track.split(".")[1:]) or words(track)
