"""Networks compiled for a systolic chip, run, and compared with the golden arithmetic tensor by tensor."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.systolic.disorder import Disorder
from tests.systolic.interpreter import Interpreter
from tilesim import simulate
from tilesim.batching import Plan
from tilesim.config import load
from tilesim.network.graph import Network
from tilesim.shipped import shipped
from tilesim.systolic.compiler.compile import compile_network
from tilesim.systolic.isa.checks.hazards import hazards
from tilesim.systolic.isa.model.program import Program
from tilesim.systolic.topology import Topology

Array = NDArray[Any]


def chip(name: str, changes: dict[str, Any] | None = None) -> Topology:
    return load(shipped("topologies") / f"{name}.yaml", Topology, changes or {})


def inputs_of(network: Network, inferences: int = 1, samples: int = 1, seed: int = 1) -> list[Array]:
    """Integers of the whole range, or normal reals, inference by inference."""
    rng = np.random.default_rng(seed)
    tensors = [network.tensors[index] for index in network.inputs]
    return [_any(rng, (samples, *tensor.shape[1:]), tensor.dtype) for _ in range(inferences) for tensor in tensors]


def _any(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    if dtype.kind == "f":
        return rng.standard_normal(shape).astype(dtype)
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max + 1, shape).astype(dtype)


def as_model(network: Network, indices: tuple[int, ...], arrays: list[Array]) -> list[Array]:
    """Canonical arrays, inference by inference, as the model lays them out."""
    tensors = [network.tensors[index] for index in indices]
    return [tensors[k % len(tensors)].to_model(array) for k, array in enumerate(arrays)]


def golden(network: Network, xs: list[Array]) -> list[dict[int, Array]]:
    """Every tensor of each inference."""
    each = len(network.inputs)
    return [network.evaluate(xs[k : k + each]) for k in range(0, len(xs), each)]


def at_chip(network: Network, expected: list[dict[int, Array]]) -> list[Array]:
    """What the host sends, quantised."""
    quantised = {node.inputs[0]: node.output for node in network.nodes if node.kind == "quantise"}
    return [tensors[quantised.get(index, index)] for tensors in expected for index in network.inputs]


def compare(network: Network, found: Interpreter, expected: list[dict[int, Array]]) -> None:
    """Every tensor that can be read out, and every output before the host's last step."""
    for (index, inference), tensor in found.tensors.items():
        np.testing.assert_array_equal(tensor, expected[inference][index], network.tensors[index].name)
    dequantised = {node.output: node.inputs[0] for node in network.nodes if node.kind == "dequantise"}
    for number, index in enumerate(network.outputs * len(expected)):
        inference = number // len(network.outputs)
        np.testing.assert_array_equal(found.output(number), expected[inference][dequantised.get(index, index)])


def exact(network: Network, topology: Topology, plan: Plan | None = None, order: int = 0, samples: int = 1) -> Program:
    """The program, which gives every tensor as it must be: one instruction after the other, on the chip, and, with
    ``order``, in queues side by side as that seed has it.
    """
    program = compile_network(network, topology, plan=plan)
    assert not hazards(program)
    xs = inputs_of(network, program.inferences, samples)
    expected = golden(network, xs)
    sent = at_chip(network, expected)
    run = simulate(program, as_model(network, network.inputs, xs))
    outputs = [tensors[index] for tensors in expected for index in network.outputs]
    for found, output in zip(run.outputs, as_model(network, network.outputs, outputs), strict=True):
        np.testing.assert_array_equal(found, output)
    in_order = Interpreter(program, sent)
    in_order.run()
    compare(network, in_order, expected)
    if order:
        side_by_side = Disorder(program, sent)
        side_by_side.disordered(np.random.default_rng(order))
        compare(network, side_by_side, expected)
    return program
