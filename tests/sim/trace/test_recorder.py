"""The trace: spans that adjoin become one, and its hash depends on what happened alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tilesim.errors import InputError
from tilesim.sim.trace.recorder import Recorder, Recording
from tilesim.sim.trace.trace import Trace

SPANS = [
    ("b", 0, 4, "busy", "op1", 16),
    ("b", 4, 2, "busy", "op1", 8),
    ("b", 6, 2, "stall:port", "op1", 0),
    ("a", 2, 3, "busy", "op2", 4),
    ("b", 9, 1, "busy", "op1", 4),
    ("b", 10, 1, "busy", "op3", 4),
]


def trace(spans: list[tuple[str, int, int, str, str, int]]) -> Trace:
    recorder = Recorder()
    for span in spans:
        recorder.record(*span)
    return recorder.trace()


def test_adjoining_spans_of_one_track_kind_and_instruction_become_one() -> None:
    found = trace(SPANS)
    assert [found.tracks[k] for k in found.track] == ["a", "b", "b", "b", "b"]
    assert found.start_cycle.tolist() == [2, 0, 6, 9, 10]
    assert found.cycles.tolist() == [3, 6, 2, 1, 1]
    assert found.bytes.tolist() == [4, 24, 0, 4, 4]
    assert [found.kinds[k] for k in found.kind] == ["busy", "busy", "stall:port", "busy", "busy"]
    assert [found.whats[k] for k in found.what] == ["op2", "op1", "op1", "op1", "op3"]


def test_the_hash_does_not_depend_on_the_order_of_tracks() -> None:
    other = sorted(SPANS, key=lambda span: span[0])
    assert trace(SPANS).sha256 == trace(other).sha256


@pytest.mark.parametrize(("place", "value"), [(0, "c"), (1, 1), (2, 1), (3, "stall:fifo"), (4, "op9"), (5, 17)])
def test_the_hash_depends_on_every_column(place: int, value: str | int) -> None:
    changed = list(SPANS[3])
    changed[place] = value
    assert trace(SPANS).sha256 != trace([*SPANS[:3], tuple(changed), *SPANS[4:]]).sha256  # type: ignore[list-item]


def test_an_empty_trace_has_empty_columns() -> None:
    found = trace([])
    assert found.tracks == ()
    assert found.start_cycle.dtype == np.int64
    assert set(found.columns()) == {
        "schema", "tracks", "kinds", "whats", "layers", "track", "start_cycle", "cycles", "kind", "what", "bytes",
        "released_by", "layer_of", "start",
    }  # fmt: skip


def test_a_window_counts_from_the_beginning_of_the_run() -> None:
    recorder = Recorder(Recording(range(5, 8)))
    recorder.record("a", 0, 10, "busy", "load", 0)
    recorder.begin(10)
    for start, cycles in ((10, 5), (14, 2), (16, 1), (17, 4)):
        recorder.record("a", start, cycles, "busy", f"op{start}", 4 * cycles)
    starts, lengths = np.array([12, 15, 17, 18]), np.array([3, 1, 3, 1])
    recorder.record_all("b", starts, lengths, ("busy",), np.zeros(4, np.int64), "op", 8 * lengths)
    found = recorder.trace()
    assert [found.whats[k] for k in found.what] == ["op14", "op16", "op17", "op", "op"]
    assert found.start_cycle.tolist() == [15, 16, 17, 15, 17]
    assert found.cycles.tolist() == [1] * 5
    assert found.bytes.tolist() == [4, 4, 4, 8, 8]
    assert found.start == 10


def test_only_the_tracks_that_match_are_wanted() -> None:
    recorder = Recorder(Recording(tracks=("chip.tile0.*", "chip.ring.*")))
    assert [recorder.wants(f"chip.{track}") for track in ("tile0.tensor", "ring.link3", "tile1.tensor")] == [
        True, True, False,
    ]  # fmt: skip
    assert Recorder().wants("anything")


def test_a_recording_knows_its_patterns_that_nothing_matches() -> None:
    recording = Recording(tracks=("chip.tile0.*", "chip.tile9.*", "ring"))
    assert recording.unmatched(["chip.tile0.tensor", "chip.ring.link0"]) == ["chip.tile9.*", "ring"]
    assert Recording().unmatched(["chip.tile0.tensor"]) == []


@pytest.mark.parametrize("window", [(5, 2), range(5, 2), range(0, 9, 2), 7])
def test_a_window_is_cycles_in_a_row(window: Any) -> None:
    with pytest.raises(InputError) as caught:
        Recording(window=window, tracks="chip.*")  # type: ignore[arg-type]
    assert caught.value.faults == (
        f"window must be a range of cycles, such as range(1000, 2000), not {window!r}",
        "tracks must be a tuple of patterns, such as ('chip.*',), not 'chip.*'",
    )
