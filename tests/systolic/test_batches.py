"""Batches of inferences on the chip: what a plan says is what runs."""

from __future__ import annotations

from itertools import groupby

import numpy as np
import pytest

import tilesim
from tests.networks import Weave
from tests.systolic.compiled import as_model, chip, exact, golden, inputs_of
from tilesim import simulate
from tilesim.batching import Plan, graph_of, plan
from tilesim.batching.schedules import Schedule
from tilesim.errors import CapacityError
from tilesim.network.graph import Network
from tilesim.systolic.compiler.compile import compile_network, room_for
from tilesim.systolic.isa.model.instructions import ReadWeights, WriteHostMemory
from tilesim.systolic.isa.model.program import Program


def mixed() -> tuple[Network, Plan]:
    """A network of maps, joins and vectors, for 13 inferences."""
    network = tilesim.load_network("digits")
    return network, plan(graph_of(network), 100, 13, "demand")


@pytest.mark.parametrize("name", ["systolic-32", "systolic-128", "tpu-v1"])
def test_a_plan_runs_on_every_chip_as_exactly_as_one_inference(name: str) -> None:
    network, steps = mixed()
    program = exact(network, chip(name), steps, order=1)
    assert [host.inference for host in program.outputs] == list(range(13))
    assert {tensor.inference for tensor in program.tensors} == set(range(13))


def test_kept_tensors_are_those_of_all_inferences_in_order() -> None:
    network, steps = mixed()
    program = compile_network(network, chip("systolic-32"), plan=steps)
    xs = inputs_of(network, 13)
    run = simulate(program, as_model(network, network.inputs, xs), keep_tensors=True)
    expected = golden(network, [np.concatenate(xs)])[0]
    assert {place.index for place in program.tensors} <= run.tensors.keys()
    for index, tensor in run.tensors.items():
        np.testing.assert_array_equal(tensor, network.tensors[index].to_model(expected[index]))
    assert [len(output) for output in run.outputs] == [1] * 13


def test_steps_are_those_of_the_plan_those_in_a_row_of_one_layer_together() -> None:
    network, steps = mixed()
    program = compile_network(network, chip("systolic-32"), plan=steps)
    assert program.batching is not None
    expected = [
        (layer, sum(step.count for step in several)) for layer, several in groupby(steps.steps, lambda s: s.layer)
    ]
    assert [(step.layer, step.count) for step in program.batching.steps] == expected
    assert len(expected) == steps.loads
    for layer in {layer for layer, _ in expected}:
        own = [step for step in program.batching.steps if step.layer == layer]
        assert [step.first for step in own] == [sum(each.count for each in own[:k]) for k in range(len(own))]
    labels = [op.label for op in program.run]
    places = [labels.index(step.label) for step in program.batching.steps]
    assert places == sorted(places)
    batches = {layer.node: batch for layer, batch in zip(graph_of(network).layers, steps.batches, strict=True)}
    assert {layer: batch for layer, batch in enumerate(program.batching.batches) if batch} == batches


def fetched(program: Program) -> int:
    return sum(op.tiles for op in program.run if isinstance(op, ReadWeights))


def test_batches_fetch_each_tile_once_for_all_their_inferences() -> None:
    weave = Weave()
    network = weave.network(weave.fully_connected(weave.fully_connected(weave.input(70), 40), 20))
    tiles = {
        schedule: fetched(compile_network(network, chip("systolic-32"), plan=plan(graph_of(network), 6, 12, schedule)))
        for schedule in ("none", "demand")
    }
    once = 3 * 2 + 2 * 1
    assert tiles == {"none": 12 * once, "demand": 2 * once}


def perceptron(units: int, layers: int) -> Network:
    weave = Weave()
    x = weave.input(units)
    for _ in range(layers):
        x = weave.fully_connected(x, units)
    return weave.network(x)


def test_a_perceptron_takes_hardly_longer_than_its_weights() -> None:
    """Three batches of 200: the first inputs and the last outputs are all that the fetches wait for."""
    network, topology = perceptron(512, 4), chip("tpu-v1")
    program = compile_network(network, topology, plan=plan(graph_of(network), 200, 600, "demand"))
    xs = inputs_of(network, 600)
    run = simulate(program, xs)
    expected = golden(network, [np.concatenate(xs)])[0][network.outputs[0]]
    np.testing.assert_array_equal(np.concatenate(run.outputs), expected)
    weights = fetched(program) * topology.weight_tile_cycles
    ends = 2 * 200 * -(-512 // topology.host.bytes_per_cycle)
    assert fetched(program) == 3 * 4 * 4
    assert weights < run.cycles < weights + ends


def test_outputs_leave_while_the_next_batch_runs() -> None:
    network = perceptron(64, 2)
    program = compile_network(network, chip("tpu-v1"), plan=plan(graph_of(network), 40, 80, "lcm"))
    assert program.batching is not None
    labels = [op.label for op in program.run]
    second = labels.index(program.batching.steps[2].label)
    written = [place for place, op in enumerate(program.run) if isinstance(op, WriteHostMemory)]
    assert len(written) == 80
    assert written[40 - 1] > second > written[0] > labels.index(program.batching.steps[1].label)


def test_a_plan_for_which_there_is_no_room_is_refused() -> None:
    network, steps = mixed()
    with pytest.raises(CapacityError, match=r"must fit the unified buffer: with parameters, 1,272 bytes, they take"):
        compile_network(network, chip("systolic-32", {"unified_buffer.size_bytes": steps.peak_bytes // 2}), plan=steps)


@pytest.mark.parametrize(("schedule", "sizes"), [("none", [1] * 8), ("demand", [2] * 4), ("lcm", [2] * 4)])
def test_a_network_of_one_layer_needs_no_more_room_than_its_batches(schedule: Schedule, sizes: list[int]) -> None:
    """Eight inferences of 120 bytes, for which there would be no room at once; two are on their way at a time."""
    weave = Weave()
    network = weave.network(weave.fully_connected(weave.input(100), 20))
    topology = chip("systolic-32", {"unified_buffer.size_bytes": 240 + 4 * 120})
    room = room_for(network, topology)
    steps = plan(graph_of(network), 2, 8, schedule, capacity_bytes=room.capacity_bytes, at_once=room.at_once)
    program = exact(network, topology, steps, order=1)
    assert program.batching is not None
    assert [step.count for step in program.batching.steps] == sizes
    assert fetched(program) == steps.loads * 4 == len(sizes) * 4
    assert max(step.buffer_bytes for step in program.batching.steps) <= 240 + 2 * 2 * 120


def test_a_tight_buffer_reads_inputs_no_earlier_than_they_are_needed() -> None:
    network = tilesim.load_network("digits")
    steps = plan(graph_of(network), 1, 3, "none")
    roomy = compile_network(network, chip("systolic-32"), plan=steps)
    tight = exact(network, chip("systolic-32", {"unified_buffer.size_bytes": 1272 + steps.peak_bytes}), steps, order=1)
    assert max(place.address for place in tight.tensors) < 1272 + steps.peak_bytes
    assert [op.label for op in tight.run if op.label.startswith("input")] == [
        op.label for op in roomy.run if op.label.startswith("input")
    ]


def test_what_parameters_leave_is_room_for_a_plan() -> None:
    network, topology = tilesim.load_network("digits"), chip("systolic-4")
    [_, parameters] = compile_network(network, topology).data
    assert room_for(network, topology).capacity_bytes == 64 * 1024 - parameters.data.size


def test_it_says_what_memories_hold() -> None:
    said: list[str] = []
    program = compile_network(perceptron(64, 1), chip("systolic-32"), said.append)
    assert program.data[0].data.size == 4096
    assert said == ["net on systolic-32: 4096 bytes of weights, 896 of the unified buffer"]
