"""What run.json holds of a run: accounts, layers, requests, batches, energy."""

from __future__ import annotations

from dataclasses import replace
from itertools import starmap
from pathlib import Path
from typing import Any

import pytest

from tests.systolic.handmade import Listing, dense, multiply, some, topology
from tilesim.machines.options import RunOptions
from tilesim.report.document import load_run
from tilesim.run import Run
from tilesim.sim.trace.recorder import Recording
from tilesim.systolic.isa.model.instructions import Fill, Nest, Queue, ReadHostMemory, ReadWeights, WriteHostMemory
from tilesim.systolic.isa.model.program import Batching, HostTensor, Layer, Program, Step
from tilesim.systolic.run.simulate import simulate


@pytest.fixture(scope="module")
def run() -> Run:
    return simulate(dense(topology(), some((9, 6)), 5), [some((5, 9))], RunOptions(recording=Recording()))


def unit(run: Run, track: str) -> dict[str, Any]:
    return unit_of(run.statistics, track)


def unit_of(statistics: dict[str, Any], track: str) -> dict[str, Any]:
    return next(each for each in (*statistics["units"], *statistics["links"]) if each["track"] == track)


def test_reports_can_read_it(run: Run, tmp_path: Path) -> None:
    run.save(tmp_path)
    saved = load_run(tmp_path)
    assert saved.statistics["machine"] == "systolic"
    assert saved.trace is not None
    assert set(saved.trace.tracks) <= {each["track"] for each in (*run.statistics["units"], *run.statistics["links"])}


def test_tracks(run: Run) -> None:
    assert [each["track"].removeprefix("chip.") for each in run.statistics["units"]] == [
        "sequencer", "dma_in", "dma_out", "weight_fetcher", "matrix", "vector", "weight_path",
    ]  # fmt: skip
    assert {each["track"]: each["bytes"] for each in run.statistics["links"]} == {
        "chip.host.infeed": 45,
        "chip.host.outfeed": 60,
        "chip.host.instructions": unit(run, "chip.host.instructions")["bytes"],
        "chip.weight_memory": 6 * 16,
    }
    assert run.statistics["bytes"]["host"] == {"entered": 105, "carried": 105}
    assert run.statistics["streamed_bytes"] == run.statistics["bytes"]["weight_memory"]["carried"] == 96


def test_utilisation_and_useful_cycles(run: Run) -> None:
    found = run.statistics
    assert found["macs"] == 5 * 9 * 6
    assert found["mac_utilisation"] == 270 / (16 * found["cycles"])
    assert found["breakdown"]["useful MACs"] == round(270 / 16)
    assert found["breakdown"]["useful MACs"] + found["breakdown"]["unused MACs"] == 6 * 5
    assert sum(found["breakdown"].values()) == found["cycles"]
    layer = found["layers"][0]
    assert layer["matrix"] == {"vectors": 5, "inputs": 9, "outputs": 6, "groups": 1}
    assert layer["mac_busy_cycles"] == 30
    assert layer["breakdown"]["input stall"] == found["breakdown"]["input stall"] > 0


def released(run: Run) -> set[tuple[str, str, str, str]]:
    """Track and kind of each stall that somebody ended, and that one's track and instruction."""
    trace = run.trace
    assert trace is not None
    tracks = [trace.tracks[k] for k in trace.track]
    kinds, whats = [trace.kinds[k] for k in trace.kind], [trace.whats[k] for k in trace.what]
    return {(tracks[k], kinds[k], tracks[by], whats[by]) for k, by in enumerate(trace.released_by) if by >= 0}


def test_a_stalls_end_has_somebody_behind_it(run: Run) -> None:
    ends = released(run)
    assert ("chip.matrix", "stall:input", "chip.dma_in", "dma_in.0") in ends
    assert ("chip.dma_out", "stall:raw", "chip.vector", "vector.3") in ends


def test_energy_by_hand() -> None:
    run = simulate(dense(topology(), some((9, 6)), 5), [some((5, 9))])
    counts = {action: each["count"] for action, each in run.statistics["energy"]["actions"].items()}
    sums, blocks = 5 * 6, 2
    assert counts == {
        "mac_8x8": 270,
        "add_32": 2 * sums,
        "multiply_32": sums,
        "host_transfer": 105 + unit(run, "chip.host.instructions")["bytes"],
        "buffer_read": 5 * 9 * blocks + 12 * 6 + 60,
        "buffer_write": 45 + 2 * sums,
        "accumulator_read": 4 * sums * 2 + 4 * sums,
        "accumulator_write": 4 * sums * 3,
        "weight_memory_read": 96,
        "cell_hop": 6 * 4 * (1 + 2 + 3 + 4) + 5 * 9 * blocks * 4,
    }
    of_layer = run.statistics["energy"]["layers"][0]["actions"]
    assert (of_layer["mac_8x8"]["count"], of_layer["mac_8x8"]["bytes"]) == (270, 0)
    assert of_layer["weight_memory_read"]["bytes"] == 96


def test_a_layer_of_the_vector_unit_alone_has_its_share_of_the_waits() -> None:
    listing = Listing()
    listing.add(ReadWeights(layer=0))
    listing.add(multiply(vectors=3, columns=4, rows=1, switch=True, layer=0))
    listing.sync(Queue.VECTOR, Queue.MATRIX, 1, layer=1)
    listing.add(Fill(destination=Nest(0, 40), value=1, layer=1))
    listing.sync(Queue.MATRIX, Queue.VECTOR, 2, layer=2)
    listing.add(multiply(vectors=2, columns=4, rows=1, layer=2))
    listing.add(Fill(destination=Nest(0, 400), value=1, layer=1))
    layers = Layer("a", "fc", 12), Layer("fill", "fill", 0, "vector"), Layer("b", "fc", 8)
    found = simulate(Program("three", topology(), (), listing.halt(), layers=layers), []).statistics
    first, alone, last = found["layers"]
    first_fill, both_fills = 10 + 2, 10 + 100 + 2
    assert alone["breakdown"] == {"RAW stall": first_fill, "other": both_fills - first_fill - 2}
    assert last["breakdown"]["RAW stall"] == 3 + 4 + 4 - 2 - 3
    assert first["matrix"] is not None
    assert alone["matrix"] is None
    assert sum(layer["cycles"] for layer in found["layers"]) == found["cycles"]


def test_a_queue_full_of_reads_keeps_the_matrix_unit_waiting_for_inputs() -> None:
    listing = Listing()
    for _ in range(5):
        listing.add(ReadHostMemory(bytes=40))
    listing.add(ReadWeights(layer=0))
    listing.add(multiply(vectors=3, columns=4, rows=1, switch=True, layer=0))
    chip = topology(sequencer={"queue_depth": 2})
    inputs = (HostTensor("x", 0, "int8", (1, 40), (0, 1), "int8"),)
    program = Program("reads", chip, (), listing.halt(), inputs=inputs, layers=(Layer("a", "fc", 12),))
    run = simulate(program, [some((1, 40))], RunOptions(recording=Recording()))
    found = run.statistics
    assert {end[2:] for end in released(run) if end[:2] == ("chip.sequencer", "stall:fifo")} == {
        ("chip.dma_in", f"dma_in.{k}") for k in range(2)
    }
    third_read, fourth_read, issued = range(5, 2 + 10 + 1), range(14, 2 + 20 + 1), 2 + 20 + 3
    waits = len(third_read) + len(fourth_read)
    assert unit_of(found, "chip.sequencer")["stall_cycles"]["fifo"] == waits
    for breakdown in (found["breakdown"], found["layers"][0]["breakdown"]):
        assert (breakdown["input stall"], breakdown["weight stall"]) == (waits, 24 + 4 - issued)
    assert sum(found["breakdown"].values()) == found["cycles"]
    assert unit_of(found, "chip.matrix")["stall_cycles"].get("input", 0) == 0


def test_depthwise_zeros_are_not_useful() -> None:
    listing = Listing()
    listing.add(ReadWeights(layer=0))
    listing.add(multiply(vectors=8, elements=4, columns=4, switch=True, layer=0))
    layer = Layer("dw", "depthwise", 8 * 4, vectors=8, inputs=1, outputs=1, groups=4)
    found = simulate(Program("diagonal", topology(), (), listing.halt(), layers=(layer,)), []).statistics
    assert (found["breakdown"]["useful MACs"], found["breakdown"]["unused MACs"]) == (2, 6)


def two_inferences() -> Program:
    """Each brings four bytes, multiplies, fills, sends two."""
    listing = Listing()
    for k in range(2):
        listing.add(ReadHostMemory(tensor=k, bytes=4))
        listing.sync(Queue.MATRIX, Queue.DMA_IN, k + 1, layer=0)
        listing.add(ReadWeights(layer=0))
        listing.add(multiply(vectors=3, columns=4, switch=True, layer=0))
        listing.sync(Queue.VECTOR, Queue.MATRIX, listing.counts[Queue.MATRIX], layer=1)
        listing.add(Fill(destination=Nest(64, 2), value=7 + k, layer=1, label=f"step{k}"))
        listing.sync(Queue.DMA_OUT, Queue.VECTOR, listing.counts[Queue.VECTOR])
        listing.add(WriteHostMemory(tensor=k, address=64, bytes=2))
        listing.sync(Queue.VECTOR, Queue.DMA_OUT, listing.counts[Queue.DMA_OUT], layer=1)
    ins = tuple(HostTensor("x", 0, "int8", (1, 4), (0, 1), "int8", inference=k) for k in range(2))
    outs = tuple(HostTensor("y", 1, "int8", (1, 2), (0, 1), "int8", inference=k) for k in range(2))
    steps = tuple(starmap(Step, [(0, 0, 1, "step0", 100), (0, 1, 1, "step1", 90)]))
    layers = Layer("fc", "fc", 12), Layer("fill", "fill", 0, "vector")
    return Program(
        "two", topology(), (), listing.halt(), (), ins, outs, layers, inferences=2,
        batching=Batching("none", 3.0, (1, 0), steps),
    )  # fmt: skip


def test_inferences_and_batches() -> None:
    run = simulate(two_inferences(), [some((1, 4)), some((1, 4))])
    assert [output.tolist() for output in run.outputs] == [[[7, 7]], [[8, 8]]]
    found = run.statistics
    first, second = found["requests"]
    assert first["start_cycle"] == 0
    assert 0 < second["start_cycle"] < first["end_cycle"] < second["end_cycle"] == found["cycles"]
    assert found["interval_cycles"] == found["cycles"] / 2
    assert (found["macs"], found["layers"][0]["macs"], found["inferences"]) == (24, 24, 2)
    assert found["throughput_per_second"] == 100e6 * 2 / found["cycles"]
    batching = found["batching"]
    assert [(step["layer"], step["first"], step["count"], step["buffer_bytes"]) for step in batching["steps"]] == [
        (0, 0, 1, 100), (0, 1, 1, 90),
    ]  # fmt: skip
    begins = [step["start_cycle"] for step in batching["steps"]]
    ends = [step["end_cycle"] for step in batching["steps"]]
    shift, skew = 4, 4 + 4 - 2
    assert begins[0] == 4 + 4 + shift  # the tile was asked for in cycle 4
    assert ends[0] == begins[0] + 3 + skew + 1 + 2
    assert begins[0] < begins[1] < ends[1]
    assert {key: batching[key] for key in ("schedule", "weight_set_loads", "weight_bytes", "peak_buffer_bytes")} == {
        "schedule": "none", "weight_set_loads": 2, "weight_bytes": 32, "peak_buffer_bytes": 100,
    }  # fmt: skip
    assert batching["latency_last_cycles"] == second["latency_cycles"]


def test_no_plan_is_null() -> None:
    program = replace(two_inferences(), batching=None)
    assert simulate(program, [some((1, 4))] * 2).statistics["batching"] is None
