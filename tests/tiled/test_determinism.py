"""The same inputs give the same trace: again, in another process, and in whatever order SimPy takes events."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import tilesim
from tilesim.run import Run
from tilesim.sim.core.clock import Clock
from tilesim.tiled.isa.model.program import Program

pytestmark = pytest.mark.usefixtures("on_simpy")

ROOT = Path(__file__).parents[2]
WORKLOADS = ("example-conv edge-1x1", "example-residual edge-1x1", "example-conv edge-2x2", "example-residual fig2-5x2")
HASH_OF_A_RUN = """
import sys
from tests.tiled.test_determinism import program, run
print(run(program(sys.argv[1])).statistics["trace_sha256"])
"""


def program(workload: str) -> Program:
    network, topology = workload.split()
    return tilesim.compile(tilesim.load_network(network), tilesim.load_topology(topology))


def inputs(of: Program, samples: int = 1) -> list[np.ndarray]:
    generator = np.random.default_rng(7)
    shapes = [(samples * tensor.shape[0], *tensor.shape[1:]) for tensor in of.inputs]
    return [generator.integers(-128, 128, shape).astype(np.int8) for shape in shapes]


def run(of: Program) -> Run:
    return tilesim.simulate(of, inputs(of), trace=True)


def shuffled(seed: int) -> Iterator[int]:
    """Sequence numbers for events, none twice, in no order: SimPy takes events of one time and priority by theirs."""
    generator, number = random.Random(seed), 0  # noqa: S311
    while True:
        number += 1
        yield generator.getrandbits(30) << 40 | number


def disorder(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Make every clock from now on disorderly."""
    plain = Clock.__init__

    def disordered(self: Clock) -> None:
        plain(self)
        self._eid = shuffled(seed)  # type: ignore[assignment]

    monkeypatch.setattr(Clock, "__init__", disordered)


@pytest.mark.parametrize("workload", WORKLOADS)
def test_twice_in_one_process_and_once_in_another(workload: str) -> None:
    first, second = run(program(workload)), run(program(workload))
    assert first.statistics == second.statistics
    code = [sys.executable, "-c", HASH_OF_A_RUN, workload]
    environment = {**os.environ, "PYTHONHASHSEED": "1234"}
    fresh = subprocess.run(code, capture_output=True, text=True, check=True, env=environment, cwd=ROOT)
    assert fresh.stdout.strip() == first.statistics["trace_sha256"]


@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_events_within_a_phase_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, workload: str, seed: int
) -> None:
    """Neither the order in which processes are created, nor in which the events of one phase of a cycle are queued."""
    of = program(workload)
    plain = run(of)
    disorder(monkeypatch, seed)
    assert next(Clock()._eid) > 1 << 20
    assert run(of).statistics == plain.statistics


@pytest.mark.parametrize("topology", ["edge-1x1", "edge-2x2", "edge-2x4"])
@pytest.mark.parametrize("name", ["mlperf_kws_dscnn", "mlperf_resnet8", "mlperf_ad_ae"])
def test_the_order_of_events_changes_nothing_for_a_model(
    models: Path, monkeypatch: pytest.MonkeyPatch, name: str, topology: str
) -> None:
    of = tilesim.compile(tilesim.load_network(models / name / "model.tflite"), tilesim.load_topology(topology))
    sample = [np.load(models / name / "io.npz")["s0_in0"]]
    plain = tilesim.simulate(of, sample, trace=True)
    disorder(monkeypatch, 5)
    again = tilesim.simulate(of, sample, trace=True)
    assert again.statistics == plain.statistics
    assert np.array_equal(again.outputs[0], plain.outputs[0])


@pytest.mark.parametrize("workload", WORKLOADS)
def test_a_trace_and_several_samples_cost_no_cycles(workload: str) -> None:
    """Recording takes no periods at once, many samples share one flow of control: same cycles, same outputs."""
    of = program(workload)
    several = inputs(of, samples=3)
    together = tilesim.simulate(of, several)
    alone = [tilesim.simulate(of, [array[k : k + 1] for array in several], trace=k == 1) for k in range(3)]
    for each in alone:
        assert {**each.statistics, "trace_sha256": None} == together.statistics
    assert np.array_equal(np.concatenate([each.outputs[0] for each in alone]), together.outputs[0])


@pytest.mark.parametrize("workload", WORKLOADS)
def test_busy_stalls_and_idle_are_the_run(workload: str) -> None:
    found = run(program(workload))
    for unit in (*found.statistics["units"], *found.statistics["links"]):
        assert unit["busy_cycles"] + sum(unit["stall_cycles"].values()) + unit["idle_cycles"] == found.cycles, unit


def test_threads_do_not_disturb_one_another() -> None:
    subject, often = program("example-residual edge-2x2"), sys.getswitchinterval()
    alone = run(subject)
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as threads:
            runs = list(threads.map(run, [subject] * 5))
    finally:
        sys.setswitchinterval(often)
    assert {each.statistics["trace_sha256"] for each in runs} == {alone.statistics["trace_sha256"]}
