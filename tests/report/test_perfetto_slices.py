"""Packets as arrays: any numbers in any shape are read back by the format's own definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as perfetto

from tests.report.saved import random_trace
from tilesim.report.perfetto_slices import SliceTables, event, stamp, varints
from tilesim.report.slices import Slices
from tilesim.sim.trace.trace import MOST, Trace

Event = perfetto.TrackEvent
TRACKS = ("chip.a", "chip.b.c", "chip.d")


def later(trace: Trace, cycles: int) -> Trace:
    """The same, but its numbers need more bytes."""
    columns = {**vars(trace), "start_cycle": trace.start_cycle + cycles}
    return Trace(**{name: columns[name] for name in Trace.__dataclass_fields__})


@given(st.integers(3, 9), st.data())
def test_numbers_take_the_same_bytes_whatever_they_are(width: int, data: st.DataObject) -> None:
    number = data.draw(st.integers(0, (1 << min(7 * width, 62)) - 1))
    octets = varints(np.array([number]), width).tobytes()
    assert len(octets) == width
    assert perfetto.TracePacket.FromString(b"\x40" + octets).timestamp == number  # field 8
    made = event(1, Event.TYPE_SLICE_END)
    made.timestamp = stamp("timestamp", width)
    plain = event(1, Event.TYPE_SLICE_END)
    assert made.ByteSize() == plain.ByteSize() + 1 + width


@pytest.mark.parametrize("shift", [0, 2**21, 2**40, MOST - 10_000])
@pytest.mark.parametrize("seed", range(4))
def test_every_span_begins_and_ends_in_the_order_of_time(seed: int, shift: int) -> None:
    trace = later(random_trace(seed, TRACKS, 60), shift)
    tables = SliceTables(Slices(trace))
    pairs = dict(enumerate(tables.pairs, 2))
    for track in range(len(TRACKS)):
        spans = np.flatnonzero(trace.track == track).tolist()
        found = perfetto.Trace.FromString(tables.packets(track, 7)).packet
        assert {packet.track_event.track_uuid for packet in found} <= {7}
        assert [packet.timestamp for packet in found] == sorted(packet.timestamp for packet in found)
        begins = [packet for packet in found if packet.track_event.type == Event.TYPE_SLICE_BEGIN]
        ends = [packet for packet in found if packet.track_event.type == Event.TYPE_SLICE_END]
        assert len(begins) == len(ends) == len(spans)
        for span, begin, end in zip(spans, begins, ends, strict=True):
            assert (begin.timestamp, end.timestamp) == (
                trace.start_cycle[span],
                (trace.start_cycle + trace.cycles)[span],
            )
            assert pairs[begin.track_event.name_iid] == (trace.what[span], trace.kind[span])
            moved = [a.uint_value for a in begin.track_event.debug_annotations if a.name_iid == 1]
            assert moved == [trace.bytes[span]] * bool(trace.bytes[span])
            wakes = [k + 1 for k in np.flatnonzero(Slices(trace).ends) if trace.released_by[k] == span]
            assert [*begin.track_event.flow_ids] == wakes
