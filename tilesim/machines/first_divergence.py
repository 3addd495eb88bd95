"""Where two traces of the same program part."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, zip_longest

Span = tuple[str, int, int, str, str]
"""A track, its first cycle, how many, what kind of time it is, and the instruction."""
Spans = Sequence[Span]
Stretch = tuple[int, int, str]
"""First cycle, that after the last, and what kind of time it is."""


@dataclass(frozen=True)
class Divergence:
    """The first cycle, counted from the start of a ``section`` (``load`` or ``run``), in which two traces say different
    things of the unit ``track``, and what each of them says.
    """

    section: str
    track: str
    cycle: int
    event: str
    stepped: str


def find_divergence(event: Spans, stepped: Spans, run: Collection[str]) -> Divergence | None:
    """The earliest one; of several in one cycle, that of the first track by name. Traces that only call instructions
    otherwise don't part. ``run``: the labels of the run program, with whose first instruction its section begins.
    """
    for section, ours, theirs in zip(("load", "run"), _sections(event, run), _sections(stepped, run), strict=True):
        one, other = _by_track(ours), _by_track(theirs)
        divergences = [
            divergence
            for track in sorted({*one, *other})
            if (divergence := _divergence(section, track, one.get(track, []), other.get(track, []))) is not None
        ]
        if divergences:
            return min(divergences, key=lambda divergence: divergence.cycle)
    return None


def _sections(spans: Spans, run: Collection[str]) -> tuple[Spans, Spans]:
    """The spans of either section, those of the second counted from its own start."""
    start = min((span[1] for span in spans if span[4] in run), default=0)
    later = [(span[0], span[1] - start, *span[2:]) for span in spans if span[1] >= start]
    return [span for span in spans if span[1] < start], later


def _by_track(spans: Iterable[Span]) -> dict[str, list[Span]]:
    """The spans of each track, in order; idleness is none."""
    known = sorted(span for span in spans if span[3] != "idle" and span[2])
    return {track: list(group) for track, group in groupby(known, key=lambda span: span[0])}


def _divergence(section: str, track: str, ours: list[Span], theirs: list[Span]) -> Divergence | None:
    for one, other in zip_longest(_stretches(ours), _stretches(theirs)):
        if one != other:
            cycle = _parting(one, other)
            return Divergence(section, track, cycle, _said(ours, cycle), _said(theirs, cycle))
    return None


def _stretches(spans: list[Span]) -> list[Stretch]:
    """Adjoining spans of a kind are one stretch, whatever the instruction."""
    stretches: list[Stretch] = []
    for _, start, cycles, kind, _ in spans:
        first = stretches.pop()[0] if stretches and stretches[-1][1:] == (start, kind) else start
        stretches.append((first, start + cycles, kind))
    return stretches


def _parting(one: Stretch | None, other: Stretch | None) -> int:
    """The first cycle in which one of two stretches holds and the other one doesn't."""
    known = [stretch for stretch in (one, other) if stretch is not None]
    if len(known) == 2 and (known[0][0], known[0][2]) == (known[1][0], known[1][2]):
        return min(stretch[1] for stretch in known)
    return min(stretch[0] for stretch in known)


def _said(spans: list[Span], cycle: int) -> str:
    """What a trace says of a cycle."""
    for _, start, cycles, kind, what in spans:
        if start <= cycle < start + cycles:
            doing = kind.replace("stall:", "waits for ")
            return f"{doing} in {what}" if what else doing
    return "idle"
