"""A run as a file for the Perfetto trace viewer: nested tracks of slices, rates as counters, releases as flows.

A nanosecond of the file is a cycle of the chip, so that its times are whole numbers whatever the clock is.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count
from typing import IO, Any

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace as Packets
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TracePacket, TrackDescriptor, TrackEvent
from perfetto.trace_builder.proto_builder import StreamingTraceProtoBuilder

from tilesim.report.perfetto_slices import SliceTables, event, packet
from tilesim.report.rates import Rate, rates, spans_of
from tilesim.report.slices import RELEASED, STALL, Lane, Slices, caption, lanes, layer_name, shown, slice_name
from tilesim.report.tracks import Track, in_order, tree
from tilesim.sim.trace.trace import Trace
from tilesim.statistics import RunStatistics

PIECE_BYTES = 1 << 20
"""So many bytes are compressed together, or a few more."""
EFFORT = 4
"""How hard they are compressed."""
ABOVE = -1000
"""From this place on, lanes and counters are above the other parts of their group."""


def write_perfetto(statistics: RunStatistics, trace: Trace, file: IO[bytes], say: Callable[[int], None]) -> None:
    """Write the whole ``trace`` of a run into ``file``; ``say`` hears how many spans have been written.

    Each span is a slice of its unit's track, called by its instruction, its kind the category; a stall says in brackets
    what it is. Where it is known what let a stall end, a flow leads from there to an instant event at the stall's end:
    viewers take for the source of a flow what begins first, and that is mostly the stall.
    """
    pieces, tables = _Pieces(file), SliceTables(Slices(trace))
    tracks = tree(in_order(statistics, trace.tracks))
    pieces.add(_serialised([_names(tables), *_descriptors(tracks.values(), caption(statistics, trace.start))]))
    pieces.add(_serialised(_overview(statistics, trace, tracks)))
    for k, path in enumerate(trace.tracks):
        say(spans_of(trace, k).start)
        pieces.add(tables.packets(k, tracks[path].number))
    pieces.close()


class _Pieces:
    """Packets on their way into a file, compressed many at a time."""

    def __init__(self, file: IO[bytes]) -> None:
        self._stream = StreamingTraceProtoBuilder(file)
        self._next = bytearray()

    def add(self, packets: bytes) -> None:
        self._next += packets
        if len(self._next) >= PIECE_BYTES:
            self.close()

    def close(self) -> None:
        """Write what has not been written yet."""
        whole = self._stream.create_packet()
        whole.compressed_packets = zlib.compress(self._next, EFFORT)
        self._stream.write_packet(whole)
        self._next.clear()


def _serialised(packets: Iterable[TracePacket]) -> bytes:
    """Packets, each taken before the next one is asked for, as they may be used again."""
    taken = Packets()
    taken.packet.extend(packets)
    return bytes(taken.SerializeToString())


def _names(tables: SliceTables) -> TracePacket:
    """The packet with all names, each with a number above 0, which begins the sequence."""
    trace, made = tables.slices.trace, packet()
    made.sequence_flags = TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
    data = made.interned_data
    _number(data.event_categories, trace.kinds)
    _number(data.event_names, [RELEASED, *(slice_name(trace.whats[w], trace.kinds[k]) for w, k in tables.pairs)])
    _number(data.debug_annotation_names, ("bytes", "layer", "stall"))
    texts = (*map(layer_name, trace.layers), *(shown(kind.removeprefix(STALL)) for kind in trace.kinds))
    for iid, text in enumerate(texts, 1):
        data.debug_annotation_string_values.add(iid=iid, str=text.encode())
    return made


def _number(table: Any, names: Iterable[str]) -> None:
    for iid, name in enumerate(names, 1):
        table.add(iid=iid, name=shown(name))


def _descriptors(tracks: Iterable[Track], description: str) -> Iterator[TracePacket]:
    for track in tracks:
        made = _described(track)
        if not track.parent:
            made.track_descriptor.description = description
        yield made


def _described(track: Track) -> TracePacket:
    made = packet()
    told = made.track_descriptor
    told.uuid = track.number
    told.name = shown(track.name)
    told.child_ordering = TrackDescriptor.EXPLICIT
    told.sibling_order_rank = track.place
    told.sibling_merge_behavior = TrackDescriptor.SIBLING_MERGE_BEHAVIOR_NONE
    if track.parent:
        told.parent_uuid = track.parent
    return made


def _overview(statistics: RunStatistics, trace: Trace, tracks: Mapping[str, Track]) -> Iterator[TracePacket]:
    """Sections, layers and counters, above the parts of their group."""
    root, number = next(iter(tracks.values())), count(len(tracks) + 1)
    for place, lane in enumerate(lanes(statistics, trace.start), ABOVE):
        yield from _lane(lane, Track(next(number), root.number, place, "", lane.title))
    for rate in rates(statistics, trace):
        yield from _counter(rate, Track(next(number), tracks[rate.path].number, -1, "", rate.name))


def _lane(lane: Lane, track: Track) -> Iterator[TracePacket]:
    told = _described(track)
    told.track_descriptor.sibling_merge_behavior = TrackDescriptor.SIBLING_MERGE_BEHAVIOR_BY_TRACK_NAME
    yield told
    begin = event(track.number, TrackEvent.TYPE_SLICE_BEGIN)
    end = event(track.number, TrackEvent.TYPE_SLICE_END)
    for episode in lane.episodes:
        begin.timestamp, begin.track_event.name = episode.start_cycle, shown(episode.name)
        end.timestamp = episode.end
        yield from (begin, end)


def _counter(rate: Rate, track: Track) -> Iterator[TracePacket]:
    described = _described(track)
    described.track_descriptor.counter.unit_name = rate.unit
    yield described
    counted = event(track.number, TrackEvent.TYPE_COUNTER)
    for cycle, value in rate.changes():
        counted.timestamp, counted.track_event.double_counter_value = cycle, value
        yield counted
