"""A run as a file of the JSON format of Chrome's trace viewer, which many other viewers read too.

A nanosecond of the file is a cycle of the chip; the format counts in microseconds, so they have three decimals.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import count, islice
from typing import IO, TypeAlias

from tilesim.report.rates import Rate, rates, spans_of
from tilesim.report.slices import RELEASED, STALL, Lane, Slices, SpanRow, caption, lanes, layer_name, shown, slice_name
from tilesim.report.tracks import Track, in_order, tree
from tilesim.sim.trace.trace import Trace
from tilesim.statistics import RunStatistics

Texts: TypeAlias = Callable[[int, int], tuple[str, str]]

EVENTS = 8192
"""So many events are written together."""
DECIMALS = 6
"""Those of a counter."""
RELEASE = f'"name": "{RELEASED}", "cat": "{RELEASED}"'


def write_chrome(statistics: RunStatistics, trace: Trace, file: IO[bytes], say: Callable[[int], None]) -> None:
    """Write the whole ``trace`` of a run into ``file``; ``say`` hears how many spans have been written.

    The format has two levels: groups of units are its processes, called by their whole paths, and units its threads.
    The rest is as in the file for Perfetto.
    """
    tracks = tree(in_order(statistics, trace.tracks))
    head = {"displayTimeUnit": "ns", "otherData": {"run": caption(statistics, trace.start)}}
    file.write(json.dumps(head)[:-1].encode() + b', "traceEvents": [')
    _write(file, _overview(statistics, trace, tracks), b"\n")
    slices, texts = Slices(trace), _texts(trace)
    for k, path in enumerate(trace.tracks):
        say(spans_of(trace, k).start)
        _write(file, _slices(slices.of(k), _place(tracks[path]), texts), b",\n")
    file.write(b"\n]}\n")


def _write(file: IO[bytes], events: Iterable[str], separator: bytes) -> None:
    """Write ``events`` behind a ``separator``, and commas between them."""
    coming = iter(events)
    while some := list(islice(coming, EVENTS)):
        file.write(separator + ",\n".join(some).encode())
        separator = b",\n"


def _texts(trace: Trace) -> Texts:
    """Tells of each instruction and kind what is always the same of its slices, as JSON: what an event begins with, and
    its arguments but the bytes.
    """

    @cache
    def texts(what: int, kind: int) -> tuple[str, str]:
        layer, name = int(trace.layer_of[what]), trace.kinds[kind]
        event = {"ph": "X", "name": slice_name(trace.whats[what], name), "cat": shown(name)}
        arguments: dict[str, str] = {}
        if layer >= 0:
            arguments["layer"] = layer_name(trace.layers[layer])
        if name.startswith(STALL):
            arguments["stall"] = shown(name.removeprefix(STALL))
        return json.dumps(event)[:-1], json.dumps(arguments)[1:-1]

    return texts


def _place(track: Track) -> str:
    """Where the events of a track are, as JSON."""
    return f'"pid": {track.parent or track.number}, "tid": {track.number}'


def _overview(statistics: RunStatistics, trace: Trace, tracks: Mapping[str, Track]) -> Iterator[str]:
    """What the tracks are called; sections, layers and counters."""
    root, number = next(iter(tracks.values())), count(len(tracks) + 1)
    yield from _names(tracks)
    for lane in lanes(statistics, trace.start):
        yield from _lane(lane, Track(next(number), root.number, -1, "", lane.title))
    for rate in rates(statistics, trace):
        yield from _counter(rate, tracks[rate.path].number)


def _names(tracks: Mapping[str, Track]) -> Iterator[str]:
    groups = {track.parent or track.number for track in tracks.values()}
    for track in tracks.values():
        if track.number in groups:
            yield from _name(f'"pid": {track.number}', "process", shown(track.path), track.number)
        else:
            yield from _name(_place(track), "thread", shown(track.name), track.place)


def _name(place: str, what: str, name: str, order: int) -> Iterator[str]:
    yield f'{{"ph": "M", "name": "{what}_name", {place}, "args": {json.dumps({"name": name})}}}'
    yield f'{{"ph": "M", "name": "{what}_sort_index", {place}, "args": {{"sort_index": {order}}}}}'


def _lane(lane: Lane, track: Track) -> Iterator[str]:
    yield from _name(_place(track), "thread", lane.title, track.place)
    for name, start, cycles in lane.episodes:
        yield f'{{"ph": "X", "name": {json.dumps(shown(name))}, {_place(track)}, {_when(start, cycles)}}}'


def _counter(rate: Rate, group: int) -> Iterator[str]:
    for cycle, value in rate.changes():
        values = json.dumps({rate.unit: round(value, DECIMALS)})
        yield f'{{"ph": "C", "name": {json.dumps(rate.name)}, "pid": {group}, "ts": {_time(cycle)}, "args": {values}}}'


def _slices(spans: Iterable[SpanRow], place: str, texts: Texts) -> Iterator[str]:
    for start, cycles, kind, what, moved, releases, release in spans:
        event, arguments = texts(what, kind)
        if moved:
            arguments = f'"bytes": {moved}, {arguments}' if arguments else f'"bytes": {moved}'
        yield f'{event}, {place}, {_when(start, cycles)}, "args": {{{arguments}}}}}'
        for number in releases:
            yield f'{{"ph": "s", "id": {number}, {RELEASE}, {place}, "ts": {_time(start)}}}'
        if release:  # a flow ends in what begins next
            end = _time(start + cycles)
            yield f'{{"ph": "f", "id": {release}, {RELEASE}, {place}, "ts": {end}}}'
            yield f'{{"ph": "i", "s": "t", {RELEASE}, {place}, "ts": {end}}}'


def _when(start: int, cycles: int) -> str:
    return f'"ts": {_time(start)}, "dur": {_time(cycles)}'


def _time(cycles: int) -> str:
    return f"{cycles // 1000}.{cycles % 1000:03}"
