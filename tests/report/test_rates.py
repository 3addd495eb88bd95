from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.report.traced import digits, small
from tilesim.report.rates import STEPS, rates, spans_of, spread, steps


def test_sums_are_those_of_the_statistics() -> None:
    run = digits("edge-2x2")
    assert run.trace is not None
    found = {rate.path: rate for rate in rates(run.statistics, run.trace)}
    assert found.keys() == {"chip.ring", "chip.mesh", "chip.instruction_bus", "chip.host", "chip"}
    for bus, moved in run.statistics["bytes"].items():
        rate = found[f"chip.{bus}"]
        during = rate.edges[:-1] >= run.trace.start
        assert (rate.values * np.diff(rate.edges))[during].sum() == pytest.approx(moved["carried"])
    macs = found["chip"]
    mean = (macs.values * np.diff(macs.edges)).sum() / run.statistics["cycles"]
    assert mean == pytest.approx(100 * run.statistics["mac_utilisation"])


def test_steps_are_round_and_one_begins_with_the_run() -> None:
    _, trace = small()
    for factor, width in ((1, 1), (49, 1), (50, 2), (1000, 50)):
        long = replace(trace, start_cycle=trace.start_cycle * factor, start=trace.start * factor + 7)
        edges = steps(long)
        assert set(np.diff(edges)[1:].tolist()) == {width}
        assert edges[0] == 0
        assert long.start in edges.tolist()
        assert edges[-1] >= (long.start_cycle + long.cycles).max()
        assert len(edges) <= STEPS + 3


def test_an_amount_is_spread_over_its_span() -> None:
    _, trace = small()
    amounts = np.array([100.0, 9.0, 14.0])
    found = spread(trace, spans_of(trace, 2), amounts, np.array([0, 5, 12, 22, 40]))
    assert found.tolist() == [50, 51, 12, 10]


def test_a_run_without_macs_or_bytes_has_no_rates() -> None:
    statistics, trace = small()
    assert rates(statistics | {"bytes": {}, "macs": 0, "mac_utilisation": 0.0}, trace) == []


def test_without_layers_in_the_trace_all_instructions_are_alike() -> None:
    statistics, trace = small()
    unknown = replace(trace, layers=(), layer_of=np.full(2, -1, np.int32))
    [_, known], [_, guessed] = rates(statistics, trace), rates(statistics, unknown)
    assert known.values.tolist() == guessed.values.tolist()
    other = replace(trace, layer_of=np.full(2, -1, np.int32))
    assert not rates(statistics, other)[1].values.any()
