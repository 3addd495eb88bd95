"""A run as a file for the Perfetto trace viewer: nested tracks of slices, rates as counters, releases as flows.

A nanosecond of the file is a cycle of the chip, so that its times are whole numbers whatever the clock is.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count, islice
from typing import IO, Any

import numpy as np
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TracePacket, TrackDescriptor, TrackEvent
from perfetto.trace_builder.proto_builder import StreamingTraceProtoBuilder, TraceProtoBuilder

from tilesim.report.rates import Rate, rates, spans_of
from tilesim.report.slices import RELEASED, STALL, Lane, Slices, SpanRow, caption, lanes, layer_name, shown, slice_name
from tilesim.report.tracks import Track, in_order, tree
from tilesim.sim.trace.trace import Trace
from tilesim.statistics import RunStatistics

PACKETS = 16_384
"""So many packets are compressed together."""
SEQUENCE = 1
"""All packets are of one sequence, which shares its tables of names."""
ABOVE = -1000
"""From this place on, lanes and counters are above the other parts of their group."""

BYTES, LAYER, REASON = 1, 2, 3
"""The numbers of the arguments' names."""


def write_perfetto(statistics: RunStatistics, trace: Trace, file: IO[bytes], say: Callable[[int], None]) -> None:
    """Write the whole ``trace`` of a run into ``file``; ``say`` hears how many spans have been written.

    Each span is a slice of its unit's track, called by its instruction, its kind the category; a stall says in brackets
    what it is. Where it is known what let a stall end, a flow leads from there to an instant event at the stall's end:
    viewers take for the source of a flow what begins first, and that is mostly the stall.
    """
    packets, tables = _Packets(file), _Tables(trace)
    tracks = tree(in_order(statistics, trace.tracks))
    packets.add([tables.packet(), *_descriptors(tracks.values(), caption(statistics, trace.start))])
    packets.add(_overview(statistics, trace, tracks))
    slices = Slices(trace)
    for k, path in enumerate(trace.tracks):
        say(spans_of(trace, k).start)
        packets.add(_slices(slices.of(k), tracks[path].number, tables))
    packets.close()


class _Packets:
    """Packets on their way into a file, compressed many at a time."""

    def __init__(self, file: IO[bytes]) -> None:
        self._stream = StreamingTraceProtoBuilder(file)
        self._next = TraceProtoBuilder()

    def add(self, packets: Iterable[TracePacket]) -> None:
        """Take copies of ``packets``, each before the next one is asked for."""
        coming = iter(packets)
        while True:
            taken = self._next.trace.packet
            taken.extend(islice(coming, PACKETS - len(taken)))
            if len(taken) < PACKETS:
                return
            self.close()

    def close(self) -> None:
        """Write what has not been written yet."""
        if not self._next.trace.packet:
            return
        whole = self._stream.create_packet()
        whole.compressed_packets = zlib.compress(self._next.serialize())
        self._stream.write_packet(whole)
        self._next = TraceProtoBuilder()


class _Tables:
    """The names in a trace, each with a number above 0: what stands once in the file, and not in each packet."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        kinds = len(trace.kinds)
        pairs = np.unique(trace.what.astype(np.int64) * kinds + trace.kind).tolist()
        self._slices = {divmod(pair, kinds): iid for iid, pair in enumerate(pairs, 2)}

    def packet(self) -> TracePacket:
        """The packet with all names, which begins the sequence."""
        trace = self._trace
        packet = _packet()
        packet.sequence_flags = TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
        data = packet.interned_data
        _number(data.event_categories, trace.kinds)
        _number(data.event_names, [RELEASED, *(slice_name(trace.whats[w], trace.kinds[k]) for w, k in self._slices)])
        _number(data.debug_annotation_names, ("bytes", "layer", "stall"))
        texts = (*map(layer_name, trace.layers), *(shown(kind.removeprefix(STALL)) for kind in trace.kinds))
        for iid, text in enumerate(texts, 1):
            data.debug_annotation_string_values.add(iid=iid, str=text.encode())
        return packet

    def begin(self, track: int, what: int, kind: int, moves: bool) -> TracePacket:
        """A packet that begins a slice; if it ``moves`` bytes, their number is its first argument."""
        trace = self._trace
        packet = _event(track, TrackEvent.TYPE_SLICE_BEGIN)
        event = packet.track_event
        event.name_iid = self._slices[what, kind]
        event.category_iids.append(kind + 1)
        if moves:
            event.debug_annotations.add(name_iid=BYTES)
        layer = int(trace.layer_of[what])
        if layer >= 0:
            event.debug_annotations.add(name_iid=LAYER, string_value_iid=layer + 1)
        if trace.kinds[kind].startswith(STALL):
            event.debug_annotations.add(name_iid=REASON, string_value_iid=len(trace.layers) + kind + 1)
        return packet


def _number(table: Any, names: Iterable[str]) -> None:
    for iid, name in enumerate(names, 1):
        table.add(iid=iid, name=shown(name))


def _packet() -> TracePacket:
    return TracePacket(trusted_packet_sequence_id=SEQUENCE, sequence_flags=TracePacket.SEQ_NEEDS_INCREMENTAL_STATE)


def _event(track: int, kind: int) -> TracePacket:
    packet = _packet()
    packet.track_event.track_uuid = track
    packet.track_event.type = kind
    return packet


def _descriptors(tracks: Iterable[Track], description: str) -> Iterator[TracePacket]:
    for track in tracks:
        packet = _described(track)
        if not track.parent:
            packet.track_descriptor.description = description
        yield packet


def _described(track: Track) -> TracePacket:
    packet = _packet()
    told = packet.track_descriptor
    told.uuid = track.number
    told.name = shown(track.name)
    told.child_ordering = TrackDescriptor.EXPLICIT
    told.sibling_order_rank = track.place
    told.sibling_merge_behavior = TrackDescriptor.SIBLING_MERGE_BEHAVIOR_NONE
    if track.parent:
        told.parent_uuid = track.parent
    return packet


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
    begin = _event(track.number, TrackEvent.TYPE_SLICE_BEGIN)
    end = _event(track.number, TrackEvent.TYPE_SLICE_END)
    for episode in lane.episodes:
        begin.timestamp, begin.track_event.name = episode.start_cycle, shown(episode.name)
        end.timestamp = episode.end
        yield from (begin, end)


def _counter(rate: Rate, track: Track) -> Iterator[TracePacket]:
    described = _described(track)
    described.track_descriptor.counter.unit_name = rate.unit
    yield described
    event = _event(track.number, TrackEvent.TYPE_COUNTER)
    for cycle, value in rate.changes():
        event.timestamp, event.track_event.double_counter_value = cycle, value
        yield event


def _slices(spans: Iterable[SpanRow], track: int, tables: _Tables) -> Iterator[TracePacket]:
    """Packets of which each is to be copied before the next one is asked for: they are used again."""
    begins: dict[tuple[int, int, bool], TracePacket] = {}
    end = _event(track, TrackEvent.TYPE_SLICE_END)
    released = _event(track, TrackEvent.TYPE_INSTANT)
    released.track_event.name_iid = 1
    for start, cycles, kind, what, moved, releases, release in spans:
        key = what, kind, moved > 0
        begin = begins.get(key) or begins.setdefault(key, tables.begin(track, *key))
        begin.timestamp = start
        if moved:
            begin.track_event.debug_annotations[0].uint_value = moved
        if releases:
            begin.track_event.flow_ids.extend(releases)
        yield begin
        if releases:
            begin.track_event.ClearField("flow_ids")
        end.timestamp = released.timestamp = start + cycles
        if release:
            released.track_event.terminating_flow_ids[:] = (release,)
            yield released
        yield end
