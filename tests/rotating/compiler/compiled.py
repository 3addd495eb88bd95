"""Networks compiled for a rotating chip, carried out, and compared with the golden arithmetic tensor by tensor."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.rotating.interpreter import Interpreter
from tilesim.config import load
from tilesim.network.graph import Network
from tilesim.rotating.compiler.compile import compile_network
from tilesim.rotating.isa.checks.program import faults
from tilesim.rotating.isa.model.program import Program
from tilesim.rotating.topology import Topology
from tilesim.shipped import shipped

Array = NDArray[Any]


def chip(name: str, changes: dict[str, Any] | None = None) -> Topology:
    return load(shipped("topologies") / f"{name}.yaml", Topology, changes or {})


def small(units: int, **changes: Any) -> Topology:
    """A chip with room for everything, of so many units."""
    plenty = {"units.count": units, "data_ram.rows": 4096, "weight_ram.rows": 1 << 16}
    return chip("rotating-8", plenty | {key.replace("__", "."): value for key, value in changes.items()})


def inputs_of(network: Network, seed: int = 1) -> list[Array]:
    """Integers of the whole range, or normal reals."""
    rng = np.random.default_rng(seed)
    return [_any(rng, network.tensors[index].shape, network.tensors[index].dtype) for index in network.inputs]


def _any(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    if dtype.kind == "f":
        return rng.standard_normal(shape).astype(dtype)
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max + 1, shape).astype(dtype)


def as_model(network: Network, indices: tuple[int, ...], values: dict[int, Array]) -> list[Array]:
    """Canonical tensors, as the model lays them out."""
    return [network.tensors[index].to_model(values[index]) for index in indices]


def compare(network: Network, found: Interpreter, expected: dict[int, Array]) -> None:
    """Every tensor that can be read out, and every output."""
    for index, tensor in found.tensors.items():
        np.testing.assert_array_equal(tensor, expected[index].reshape(tensor.shape), network.tensors[index].name)
    for number, output in enumerate(as_model(network, network.outputs, expected)):
        np.testing.assert_array_equal(found.output(number), output)


def exact(network: Network, topology: Topology, seed: int = 1) -> tuple[Program, Interpreter]:
    """The program, which has no faults and gives every tensor as it must be, whether DMA is early or late."""
    program = compile_network(network, topology)
    assert not (found := faults(program)), found[:9]
    expected = network.evaluate(inputs_of(network, seed))
    for late in (True, False):
        found = Interpreter(program, as_model(network, network.inputs, expected), late)
        found.run()
        compare(network, found, expected)
    return program, found
