"""Slices of a track for Perfetto, a million of them in a second.

Perfetto's own classes make one packet of each shape, with numbers in it that stand for what differs; these are then
overwritten in as many copies as there are spans, a column at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace as Packets
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TracePacket, TrackEvent

from tilesim.report.rates import spans_of
from tilesim.report.slices import STALL, Slices

BYTES, LAYER, REASON = 1, 2, 3
"""The numbers of the arguments' names."""
SEQUENCE = 1
"""All packets are of one sequence, which shares its tables of names."""
RELEASED_NAME = 1
"""The number of the name of an event that ends a stall; those of slices follow."""
FLOW_BYTES = 8

Words = NDArray[np.int64]
Octets = NDArray[np.uint8]


def packet() -> TracePacket:
    """One of the sequence."""
    return TracePacket(trusted_packet_sequence_id=SEQUENCE, sequence_flags=TracePacket.SEQ_NEEDS_INCREMENTAL_STATE)


def event(track: int, kind: int) -> TracePacket:
    """A packet with an event of a track."""
    made = packet()
    made.track_event.track_uuid = track
    made.track_event.type = kind
    return made


@dataclass(frozen=True)
class SliceTables:
    """What names of slices and of layers are called in the file: numbers, in whose place the text stands once."""

    slices: Slices

    @cached_property
    def _pairs(self) -> tuple[Words, Words]:
        trace = self.slices.trace
        return np.unique(trace.what.astype(np.int64) * len(trace.kinds) + trace.kind, return_inverse=True)

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Instruction and kind of each name, in the order of their numbers."""
        return [divmod(pair, len(self.slices.trace.kinds)) for pair in self._pairs[0].tolist()]

    @cached_property
    def names(self) -> Words:
        """The number of each span's name."""
        return self._pairs[1] + RELEASED_NAME + 1

    @cached_property
    def width(self) -> int:
        """Bytes of which every number in the packets can be made."""
        trace = self.slices.trace
        ends = trace.start_cycle + trace.cycles
        most = max(int(column.max(initial=0)) for column in (ends, trace.bytes, self.names, trace.layer_of))
        return max(3, -(-(most + 1 + LAYER).bit_length() // 7))

    def packets(self, track: int, number: int) -> bytes:
        """Those of all spans of a track, which has a ``number`` in the file: where each begins, then what released it
        if it is a stall of which that is known, then its end.
        """
        spans = spans_of(self.slices.trace, track)
        return _written([*self._begins(spans, number), *self._ends(spans, number)], spans.stop - spans.start)

    def _begins(self, spans: slice, number: int) -> Iterator[_Copies]:
        trace = self.slices.trace
        first, last = self.slices.released_places(spans)
        columns: dict[str, Words] = {
            "timestamp": trace.start_cycle[spans],
            "name": self.names[spans],
            "bytes": trace.bytes[spans],
            "layer": trace.layer_of[trace.what[spans]].astype(np.int64) + 1,
        }
        shapes = np.column_stack([trace.kind[spans], columns["bytes"] > 0, columns["layer"] > 0, last - first])
        for shape, which in _alike(shapes):
            kind, moves, has_layer, flows = shape
            made = self._begin(number, kind, moves, has_layer, flows)
            released = self.slices.released[first[which][:, None] + np.arange(flows)]
            yield _Copies(
                made, self.width, which, 0, {name: column[which] for name, column in columns.items()}, released
            )

    def _begin(self, number: int, kind: int, moves: int, has_layer: int, flows: int) -> TracePacket:
        trace, made = self.slices.trace, event(number, TrackEvent.TYPE_SLICE_BEGIN)
        made.timestamp = self._stamp("timestamp")
        begun = made.track_event
        begun.name_iid = self._stamp("name")
        begun.category_iids.append(kind + 1)
        if moves:
            begun.debug_annotations.add(name_iid=BYTES, uint_value=self._stamp("bytes"))
        if has_layer:
            begun.debug_annotations.add(name_iid=LAYER, string_value_iid=self._stamp("layer"))
        if trace.kinds[kind].startswith(STALL):
            begun.debug_annotations.add(name_iid=REASON, string_value_iid=len(trace.layers) + kind + 1)
        begun.flow_ids.extend([_FLOW] * flows)
        return made

    def _ends(self, spans: slice, number: int) -> Iterator[_Copies]:
        trace, every = self.slices.trace, np.arange(spans.stop - spans.start)
        cycles = trace.start_cycle[spans] + trace.cycles[spans]
        flows = self.slices.ends[spans]
        instant = event(number, TrackEvent.TYPE_INSTANT)
        instant.timestamp = self._stamp("timestamp")
        instant.track_event.name_iid = RELEASED_NAME
        instant.track_event.terminating_flow_ids.append(_FLOW)
        some = np.flatnonzero(flows)
        yield _Copies(instant, self.width, some, 1, {"timestamp": cycles[some]}, flows[some][:, None])
        end = event(number, TrackEvent.TYPE_SLICE_END)
        end.timestamp = self._stamp("timestamp")
        yield _Copies(end, self.width, every, 2, {"timestamp": cycles}, flows[:, None][:, :0])

    def _stamp(self, name: str) -> int:
        return stamp(name, self.width)


# ---- copies of a packet, with columns of numbers in them

_STAMPS = ("timestamp", "name", "bytes", "layer")
_FLOW = int.from_bytes(b"\xf5flow\xf5id")
"""What stands for the number of a flow, which takes eight bytes whatever it is."""
ROLES = 3
"""Packets that a span may have, one of each role: its beginning, what released it, its end."""


def stamp(name: str, width: int) -> int:
    """A number that is written in ``width`` bytes, and stands for one of a column."""
    return (1 << 7 * width) - 1 - _STAMPS.index(name)


def varints(numbers: Words, width: int) -> Octets:
    """(n, width): numbers as the format has them, seven bits a byte, the lowest first; small ones take as many bytes as
    large ones.
    """
    octets = (numbers[:, None] >> np.arange(0, 7 * width, 7) & 0x7F).astype(np.uint8)
    octets[:, :-1] |= 0x80
    return octets


@dataclass(frozen=True)
class _Copies:
    """Copies of a packet: ``which`` spans have one, and in what ``role``."""

    made: TracePacket
    width: int
    which: Words
    role: int
    columns: Mapping[str, Words]
    flows: Words
    """(copies, flows of each)."""

    @cached_property
    def octets(self) -> bytes:
        return bytes(Packets(packet=[self.made]).SerializeToString())

    def filled(self) -> Octets:
        """(copies, bytes of one): with their numbers in them."""
        copies = np.tile(np.frombuffer(self.octets, np.uint8), (len(self.which), 1))
        for name, column in self.columns.items():
            place = self._place(name)
            if place >= 0:
                copies[:, place : place + self.width] = varints(column, self.width)
        place = 0
        for flow in self.flows.T:
            place = self.octets.index(_FLOW.to_bytes(FLOW_BYTES, "little"), place)
            copies[:, place : place + FLOW_BYTES] = flow.astype("<u8")[:, None].view(np.uint8)
            place += FLOW_BYTES
        return copies

    def _place(self, name: str) -> int:
        """Where what stands for a column is; -1 if this shape has none."""
        return self.octets.find(varints(np.array([stamp(name, self.width)]), self.width).tobytes())


def _alike(shapes: Words) -> Iterator[tuple[list[int], Words]]:
    """Each shape that occurs among the rows of ``shapes``, and which rows have it."""
    rows, of_row = np.unique(shapes, axis=0, return_inverse=True)
    order = np.argsort(of_row, kind="stable")
    ends = np.cumsum(np.bincount(of_row, minlength=len(rows)))
    yield from zip(rows.tolist(), np.split(order, ends[:-1]), strict=True)


def _written(copies: Sequence[_Copies], spans: int) -> bytes:
    """All packets, span by span."""
    lengths = np.zeros((spans, ROLES), np.int64)
    for each in copies:
        lengths[each.which, each.role] = len(each.octets)
    places = np.cumsum(lengths).reshape(lengths.shape) - lengths
    octets = np.empty(int(lengths.sum()), np.uint8)
    for each in copies:
        begins = places[each.which, each.role]
        octets[begins[:, None] + np.arange(len(each.octets))] = each.filled()
    return octets.tobytes()
