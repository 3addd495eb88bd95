"""The file for Perfetto, read back with the format's own definition."""

from __future__ import annotations

import io
import zlib
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as perfetto

from tests.report.saved import made_up, random_trace
from tests.report.traced import NASTY, digits, small
from tilesim.report import perfetto_file
from tilesim.report.document import SavedRun
from tilesim.report.slices import LONGEST
from tilesim.sim.trace.trace import Trace

CLEARED = perfetto.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
Event = perfetto.TrackEvent


@dataclass
class Slice:
    track: str
    name: str
    category: str
    start: int
    end: int = -1
    arguments: dict[str, Any] = field(default_factory=dict)


@dataclass
class Shown:
    """What a viewer would show: ``flows`` lead from a slice to an instant in another one."""

    tracks: dict[int, str] = field(default_factory=dict)
    order: dict[str, int] = field(default_factory=dict)
    slices: list[Slice] = field(default_factory=list)
    flows: list[tuple[Slice, Slice, int]] = field(default_factory=list)
    counters: dict[str, list[tuple[int, float]]] = field(default_factory=dict)
    descriptions: list[str] = field(default_factory=list)


def packets(data: bytes) -> list[Any]:
    outer = perfetto.Trace.FromString(data).packet
    return [p for each in outer for p in perfetto.Trace.FromString(zlib.decompress(each.compressed_packets)).packet]


def written(statistics: Any, trace: Trace) -> Shown:
    file = io.BytesIO()
    perfetto_file.write_perfetto(statistics, trace, file, lambda _: None)
    return shown(packets(file.getvalue()))


def shown(found: list[Any]) -> Shown:
    """Reads packets as a viewer does: by time, and in the order of the file where that is the same."""
    [tables] = [packet for packet in found if packet.HasField("interned_data")]
    assert (found[0], tables.sequence_flags) == (tables, CLEARED)
    assert len({packet.trusted_packet_sequence_id for packet in found}) == 1
    names, categories, arguments, texts = (
        {each.iid: getattr(each, what) for each in getattr(tables.interned_data, table)}
        for table, what in (
            ("event_names", "name"),
            ("event_categories", "name"),
            ("debug_annotation_names", "name"),
            ("debug_annotation_string_values", "str"),
        )
    )
    result, opened, flows = Shown(), {}, {}
    for packet in found:
        if packet.HasField("track_descriptor"):
            told = packet.track_descriptor
            path = f"{result.tracks[told.parent_uuid]} > {told.name}" if told.parent_uuid else told.name
            assert told.uuid not in result.tracks
            result.tracks[told.uuid], result.order[path] = path, told.sibling_order_rank
            result.descriptions += [told.description] * bool(told.description)
    for packet in sorted((p for p in found if p.HasField("track_event")), key=lambda p: p.timestamp):
        event = packet.track_event
        path = result.tracks[event.track_uuid]
        if event.type == Event.TYPE_SLICE_BEGIN:
            assert event.track_uuid not in opened, "slices overlap"
            given = {
                arguments[a.name_iid]: a.uint_value or texts[a.string_value_iid].decode()
                for a in event.debug_annotations
            }
            category = categories[event.category_iids[0]] if event.category_iids else ""
            began = opened[event.track_uuid] = Slice(
                path, event.name or names[event.name_iid], category, packet.timestamp, -1, given
            )
            flows |= dict.fromkeys(event.flow_ids, began)
            result.slices.append(began)
        elif event.type == Event.TYPE_SLICE_END:
            opened.pop(event.track_uuid).end = packet.timestamp
        elif event.type == Event.TYPE_INSTANT:
            assert names[event.name_iid] == "released"
            [flow] = event.terminating_flow_ids
            result.flows.append((flows.pop(flow), opened[event.track_uuid], packet.timestamp))
        else:
            result.counters.setdefault(path, []).append((packet.timestamp, event.double_counter_value))
    assert not opened
    assert not flows
    return result


@pytest.fixture(scope="module")
def run() -> SavedRun:
    return digits()


@pytest.fixture(scope="module")
def trace(run: SavedRun) -> Trace:
    assert run.trace is not None
    return run.trace


def test_a_small_run_packet_by_packet() -> None:
    found = written(*small())
    assert found.slices == [
        Slice("chip > section", "loading", "", 0, 8),
        Slice("chip > tile1 > tensor", "stall:flag", "stall:flag", 0, 10, {"stall": "flag"}),
        Slice("chip > ring > link0", "send", "busy", 9, 13, {"bytes": 64, "layer": "send"}),
        Slice("chip > section", "run", "", 10, 30),
        Slice("chip > tile1 > tensor", "send (stall:flag)", "stall:flag", 11, 20, {"layer": "send", "stall": "flag"}),
        Slice("chip > layers", "send", "", 12, 30),
        Slice("chip > tile0 > mac_array", "send", "busy", 12, 17, {"layer": "send"}),
        Slice("chip > tile1 > tensor", "send", "busy", 20, 27, {"bytes": 16, "layer": "send"}),
    ]
    assert [(out.track, into.track, into.start, at) for out, into, at in found.flows] == [
        ("chip > ring > link0", "chip > tile1 > tensor", 0, 10),
        ("chip > tile0 > mac_array", "chip > tile1 > tensor", 11, 20),
    ]
    assert found.counters["chip > ring > ring bytes a cycle"] == [(0, 0), (9, 16), (13, 0)]
    assert found.counters["chip > MAC utilisation"] == [(0, 0), (12, 100), (17, 0)]
    [description] = found.descriptions
    assert description == "send on by hand: 20 cycles from cycle 10 on; 1 ns here is 1 cycle of its clock of 500 MHz"


def test_the_tree_is_the_chip_in_the_order_of_its_statistics(run: SavedRun, trace: Trace) -> None:
    found = written(run.statistics, trace)
    units = [unit["track"] for unit in (*run.statistics["units"], *run.statistics["links"])]
    paths = [" > ".join(unit.split(".")) for unit in units]
    assert set(paths) <= set(found.order)
    assert [path for path in found.order if path in paths] == paths
    tiles = sorted(path for path in found.order if path.startswith("chip > tile") and path.count(">") == 1)
    assert tiles == ["chip > tile0", "chip > tile1"]
    assert found.order["chip > layers"] < found.order["chip > tile0"] < found.order["chip > tile1"]


def test_every_span_is_a_slice_and_durations_are_those_of_the_statistics(run: SavedRun, trace: Trace) -> None:
    found = written(run.statistics, trace)
    sums: Counter[tuple[str, str]] = Counter()
    moved: Counter[str] = Counter()
    spans = [each for each in found.slices if each.category]
    for each in spans:
        inside = min(each.end, trace.start + run.statistics["cycles"]) - max(each.start, trace.start)
        sums[each.track, each.category] += max(0, inside)
        moved[each.track] += each.arguments.get("bytes", 0) * (each.start >= trace.start)
    assert len(spans) == len(trace.track)
    for unit in (*run.statistics["units"], *run.statistics["links"]):
        path = " > ".join(unit["track"].split("."))
        accounts = {"busy": unit["busy_cycles"], **{f"stall:{why}": n for why, n in unit["stall_cycles"].items()}}
        assert {kind: n for (track, kind), n in sums.items() if track == path and n} == {
            kind: n for kind, n in accounts.items() if n
        }
        assert moved[path] == unit.get("bytes", moved[path])


def test_flows_lead_from_what_released_to_the_end_of_the_stall(run: SavedRun, trace: Trace) -> None:
    found = written(run.statistics, trace)
    expected = set()
    for k in (trace.released_by >= 0).nonzero()[0].tolist():
        j = int(trace.released_by[k])
        ends = [(trace.tracks[trace.track[i]], int(trace.start_cycle[i])) for i in (j, k)]
        expected.add((*ends, int(trace.start_cycle[k] + trace.cycles[k])))
    seen = {
        ((out.track.replace(" > ", "."), out.start), (into.track.replace(" > ", "."), into.start), at)
        for out, into, at in found.flows
    }
    assert seen == expected


@pytest.mark.parametrize("seed", range(5))
def test_no_flow_goes_back_in_time(seed: int) -> None:
    trace = random_trace(seed, ("chip.a", "chip.b.c"), 40)
    ends = (trace.start_cycle + trace.cycles).tolist()
    forward = [(j, k) for k, j in enumerate(trace.released_by.tolist()) if j >= 0 and trace.start_cycle[j] < ends[k]]
    assert 0 < len(forward) < (trace.released_by >= 0).sum()
    found = written(made_up(trace).statistics, trace)
    rows = [(path.replace(".", " > "), k) for k, path in enumerate(trace.tracks)]
    place = {
        (path, int(trace.start_cycle[i])): i for path, k in rows for i in np.flatnonzero(trace.track == k).tolist()
    }
    seen = {(place[out.track, out.start], place[into.track, into.start]) for out, into, _ in found.flows}
    assert seen == set(forward)


def test_names_that_would_break_something_are_text() -> None:
    found = written(*small(NASTY))
    names = {each.name for each in found.slices} | {each.arguments.get("layer", "") for each in found.slices}
    assert any(name.endswith("\\udc80end (stall:flag)") for name in names)
    assert all(name.isprintable() and len(name) <= LONGEST for name in names)
    short = NASTY.replace(300 * "x", "")
    assert "</script><script>alert('ä\"\\')</script>\\u202e\\x00\\x1b[31m\\n\\udc80end" in {
        each.name for each in written(*small(short)).slices
    }


def test_packets_are_compressed_in_pieces_and_told_of(
    run: SavedRun, trace: Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, pieces, heard = io.BytesIO(), io.BytesIO(), []
    perfetto_file.write_perfetto(run.statistics, trace, whole, heard.append)
    monkeypatch.setattr(perfetto_file, "PIECE_BYTES", 1000)
    perfetto_file.write_perfetto(run.statistics, trace, pieces, lambda _: None)
    assert packets(pieces.getvalue()) == packets(whole.getvalue())
    assert len(perfetto.Trace.FromString(whole.getvalue()).packet) == 1
    assert len(perfetto.Trace.FromString(pieces.getvalue()).packet) > 10
    assert heard == sorted(heard)
    assert 0 < heard[-1] < len(trace.track)
