"""Networks of which the host computes what tiles can't: the golden bits, in both models, saved, and in turn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilesim
from tests.tiled.hosted import CASES, hosted
from tests.tiled.pictures import detector, pose, segmenter
from tilesim.machines.host import random_inputs
from tilesim.network.graph import Network
from tilesim.run import Run
from tilesim.tiled.flat.coverage import uncovered
from tilesim.tiled.isa.model.instructions import Infeed
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.link.link import link_programs

CHIPS = ("edge-1x1", "edge-2x2", "edge-4x4")
SLOW = {"host.step_bytes_per_second": 200_000_000, "host.latency_cycles": 7}
Arrays = list[Any]
PICTURES: dict[str, tuple[Callable[[], bytes], str]] = {
    "pose": (pose, "tttttttttttttttttttthhhhhhh"),
    "detector": (detector, "tttttththththhhhhh"),
    "segmenter": (segmenter, "ttttttttthh"),
}
"""How each is made, and where its layers run: on tiles, or at the host."""


def must_be_golden(network: Network, run: Run, inputs: Arrays) -> None:
    golden = network.evaluate(inputs)
    for index, output in zip(network.outputs, run.outputs, strict=True):
        expected = network.tensors[index].to_model(golden[index])
        assert output.dtype == expected.dtype
        np.testing.assert_array_equal(output, expected)


def must_be_alike(program: Program, inputs: Arrays, run: Run, folder: Path) -> None:
    """Saved and loaded, as text and as bytes, the program gives the same."""
    for name in ("program.tasm", "program.tbin"):
        tilesim.save_program(program, folder / name)
        again = tilesim.simulate(tilesim.load_program(folder / name), inputs)
        assert (again.cycles, again.statistics["host_steps"]) == (run.cycles, run.statistics["host_steps"])
        for one, other in zip(run.outputs, again.outputs, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("keys", [{}, SLOW], ids=["in no time", "slow"])
@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("name", CASES)
def test_steps_of_the_host_are_golden(name: str, chip: str, keys: dict[str, Any], tmp_path: Path) -> None:
    network, inputs = hosted(name)
    program = tilesim.compile(network, tilesim.load_topology(chip, keys))
    run = tilesim.simulate(program, inputs, keep_tensors=True)
    must_be_golden(network, run, inputs)
    must_be_alike(program, inputs, run, tmp_path)
    golden = network.evaluate(inputs)
    assert {tensor.index for tensor in program.given} <= run.tensors.keys()
    for index, array in run.tensors.items():
        np.testing.assert_array_equal(array, golden[index])
    if chip != "edge-4x4":
        assert tilesim.verify(program, inputs).agree


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("name", PICTURES)
def test_pictures_are_golden(name: str, chip: str, tmp_path: Path) -> None:
    make, places = PICTURES[name]
    path = tmp_path / f"{name}.tflite"
    path.write_bytes(make())
    network = tilesim.load_network(path)
    program = tilesim.compile(network, tilesim.load_topology(chip))
    assert "".join(layer.place[0] for layer in program.layers) == places
    inputs = random_inputs(program.inputs)
    run = tilesim.simulate(program, inputs)
    must_be_golden(network, run, inputs)
    must_be_alike(program, inputs, run, tmp_path)
    if chip == "edge-2x2":
        assert tilesim.verify(program, inputs).agree


def test_a_step_takes_what_its_bytes_take() -> None:
    """It begins when the last row of what it reads is at the host and the step before is over, and takes
    ceil(bytes * clock_hz / step_bytes_per_second) cycles; what it made is on the link from then on.
    """
    network, inputs = hosted("middle")
    program = tilesim.compile(network, tilesim.load_topology("edge-2x2", SLOW))
    run = tilesim.simulate(program, inputs, trace=True)
    steps, clock_hz = run.statistics["host_steps"], program.topology.clock_hz
    assert [step["cycles"] for step in steps] == [-(-step["bytes"] * clock_hz // 200_000_000) for step in steps]
    assert [(step["kind"], step["bytes"]) for step in steps] == [
        ("stridedslice", 800 + 200), ("concatenation", 200 + 200 + 400), ("stridedslice", 400 + 200)
    ]  # fmt: skip
    spans = spans_of(run)
    rows = [op for op in program.run if isinstance(op, Infeed) and op.source == "host"][1:]
    sent = [start for start, what in spans["chip.host.infeed", "busy"] if what in {op.label for op in rows}]
    for made in (steps[0], steps[2]):
        assert made["start_cycle"] + made["cycles"] in sent
    arrived = [start + 8 + 24 for start, _ in spans["chip.host.outfeed", "busy"]]  # 256 bytes of 8 a cycle; latency
    assert steps[0]["start_cycle"] >= min(arrived)


def spans_of(run: Run) -> dict[tuple[str, str], list[tuple[int, str]]]:
    trace = run.trace
    assert trace is not None
    found: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for track, kind, start, what in zip(trace.track, trace.kind, trace.start_cycle, trace.what, strict=True):
        place = trace.tracks[track], trace.kinds[kind]
        found.setdefault(place, []).append((int(start) - trace.start, trace.whats[what]))
    return found


def test_a_link_without_pads_carries_none_of_them() -> None:
    network, inputs = hosted("middle")
    runs = {}
    for pads in (True, False):
        chip = tilesim.load_topology("edge-2x2", {"host.sends_padding": pads, "host.bytes_per_cycle": 1})
        program = tilesim.compile(network, chip)
        runs[pads] = run = tilesim.simulate(program, inputs)
        must_be_golden(network, run, inputs)
        assert tilesim.verify(program, inputs).agree
    steps = runs[False].statistics["host_steps"]
    assert [(step["from_chip_bytes"], step["to_chip_bytes"]) for step in steps] == [(800, 200), (400, 0), (0, 200)]
    assert runs[False].cycles < runs[True].cycles


@pytest.mark.parametrize("rate", [0, 200_000_000])
def test_the_processor_accounts_for_every_cycle(rate: int) -> None:
    network, inputs = hosted("tail")
    chip = tilesim.load_topology("edge-1x1", {"host.step_bytes_per_second": rate})
    run = tilesim.simulate(tilesim.compile(network, chip), inputs)
    [unit] = [unit for unit in run.statistics["units"] if unit["track"] == "chip.host.processor"]
    assert unit["busy_cycles"] + sum(unit["stall_cycles"].values()) + unit["idle_cycles"] == run.cycles
    assert unit["busy_cycles"] == sum(step["cycles"] for step in run.statistics["host_steps"])
    last = run.statistics["host_steps"][-1]
    assert run.cycles == last["start_cycle"] + last["cycles"]


def test_samples_travel_together() -> None:
    network, inputs = hosted("middle")
    several = [np.concatenate([array, array[::-1, ::-1], array // 2]) for array in inputs]
    program = tilesim.compile(network, tilesim.load_topology("edge-2x2"))
    must_be_golden(network, tilesim.simulate(program, several), several)


def test_requests_in_turn_get_what_they_would_get_alone(tmp_path: Path) -> None:
    networks = [replace(hosted(name)[0], name=name) for name in ("middle", "replies", "head")]
    programs = tilesim.compile_networks(networks, tilesim.load_topology("edge-2x2", SLOW))
    order = [0, 1, 0, 2, 1]
    linked = link_programs(programs, order)
    flat = iter(random_inputs(linked.inputs))
    given = [[next(flat) for _ in programs[number].inputs] for number in order]
    run = tilesim.simulate_requests(programs, given, order)
    alone = [tilesim.simulate(programs[number], own) for number, own in zip(order, given, strict=True)]
    for got, expected in zip(run.outputs, (output for each in alone for output in each.outputs), strict=True):
        np.testing.assert_array_equal(got, expected)
    must_be_alike(linked, [array for own in given for array in own], run, tmp_path)
    ends = [request["end_cycle"] for request in run.statistics["requests"]]
    assert ends == sorted(ends)
    assert ends[-1] == run.cycles


def test_a_step_that_waits_for_what_comes_of_it_is_refuted_and_hangs() -> None:
    network, inputs = hosted("middle")
    program = tilesim.compile(network, tilesim.load_topology("edge-1x1"))
    later = program.steps[1].reads[1]  # which tiles make of what the first step makes
    wrong = replace(program, steps=(replace(program.steps[0], reads=(later,)), *program.steps[1:]))
    [proof] = tilesim.check(wrong).programs
    assert [refuted["rule"] for refuted in proof["refutations"]] == ["deadlock"]
    assert "waits for what the host makes of results" in proof["refutations"][0]["sentence"]
    with pytest.raises(tilesim.HangError, match="for the host to have made StridedSlice1"):
        tilesim.simulate(wrong, inputs)
    assert "hangs" in tilesim.verify(wrong, inputs).end


@pytest.mark.parametrize("name", CASES)
def test_programs_with_steps_are_proven(name: str) -> None:
    program = tilesim.compile(hosted(name)[0], tilesim.load_topology("edge-2x2"))
    assert tilesim.check(program).programs[0]["proven"]


def test_a_file_of_a_program_with_steps_is_sealed(tmp_path: Path) -> None:
    """It was proven as a whole when it was compiled."""
    tilesim.save_program(tilesim.compile(hosted("middle")[0], tilesim.load_topology("edge-2x2")), tmp_path / "p.tbin")
    assert tilesim.load_program(tmp_path / "p.tbin").is_known_sound


def test_who_computes_what_is_said() -> None:
    program = tilesim.compile(hosted("tail")[0], tilesim.load_topology("edge-1x1"))
    assert [layer.place for layer in program.layers] == ["tiles", "host", "host", "tiles"]
    assert [*program.at_host] == [1, 2]
    assert uncovered(program) == []


def test_a_program_without_steps_has_no_processor() -> None:
    run = tilesim.simulate(tilesim.compile(tilesim.load_network("digits"), tilesim.load_topology("edge-1x1")))
    assert "host_steps" not in run.statistics
    assert all(unit["track"] != "chip.host.processor" for unit in run.statistics["units"])


def test_parameters_and_wishes_are_those_of_the_whole_network() -> None:
    """Layers keep their numbers, whoever computes those before them."""
    network, _ = hosted("middle")
    chip = tilesim.load_topology("edge-2x2")
    policy = tilesim.PartitionPolicy("spatial", ((0, 3, "channel"), (0, 1, "channel")))
    program = tilesim.compile(network, chip, policy)
    assert program.layers[3].spread == "channel"
    [network_plan] = tilesim.cache_plan({"net": network}, chip).document()["networks"]
    assert [layer["layer"] for layer in network_plan["layers"]] == [0, 2, 3, 6]
