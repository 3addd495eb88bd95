"""Who depends on whom, as far as a machine's description says it, by places of tracks in a trace."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import cache
from typing import TypeAlias

from tilesim.machines import description
from tilesim.machines.description import Ends

Places: TypeAlias = Callable[[int], tuple[int, ...]]
"""Of a track, by its place, the places of others, the likeliest first."""


class Dependences:
    """What a description says of ``tracks``; each is worked out when somebody asks."""

    def __init__(self, tracks: Sequence[str], said: description.Dependences) -> None:
        self._tracks = tracks
        self._place_of = {track: place for place, track in enumerate(tracks)}
        self.started_by = self._places_of(said.started_by)
        self.taken_by = self._places_of(said.taken_by)
        self.freed_by = self._places_of(said.freed_by)
        self.told_by = self._places_of(said.told_by)

    def _places_of(self, ends: Ends) -> Places:
        return cache(lambda track: tuple(dict.fromkeys(self._named(self._tracks[track], ends))))

    def _named(self, track: str, ends: Ends) -> Iterator[int]:
        for end, others in ends.items():
            match = re.fullmatch(_expression(end), track)
            if match:
                number = match.groupdict().get("number", "")
                for other in others:
                    first = number == "0" and other.replace("#-1", "#") == end  # of a ring
                    wanted = match["above"] + other
                    yield from self._last(wanted) if first else self._fitting(wanted, number)
                return

    def _fitting(self, wanted: str, number: str) -> list[int]:
        name = wanted.replace("#-1", str(int(number or 0) - 1)).replace("#", number)
        if "*" not in name:
            return [self._place_of[name]] if name in self._place_of else []
        return [place for place, track in enumerate(self._tracks) if fnmatchcase(track, name)]

    def _last(self, wanted: str) -> list[int]:
        every = self._fitting(wanted.replace("#-1", "*"), "")
        return sorted(every, key=lambda place: (len(self._tracks[place]), self._tracks[place]))[-1:]


@cache
def _expression(end: str) -> str:
    """What tracks with this end are: what is ``above``, and perhaps a ``number``."""
    words = re.escape(end).replace(r"\#", "(?P<number>[0-9]{1,18})").replace(r"\*", ".*")
    return rf"(?P<above>(?:[^.]+\.)*?){words}"
