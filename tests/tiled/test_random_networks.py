"""Random networks on random grids: every tensor equals the golden arithmetic, bit for bit."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

import tilesim
from tests.soak import counts
from tests.tiled.test_bands import peak_bytes
from tilesim.network.graph import Network, Node, Operator
from tilesim.network.operators import ArgMax, TopK
from tilesim.run import Run
from tilesim.tiled.isa.model.program import Program

EXAMPLES = counts(20, 200)
CHANNELS = st.sampled_from([1, 2, 3, 4, 5, 8, 17, 31, 64, 65, 100, 200]) | st.integers(1, 200)
CHIPS: dict[str, st.SearchStrategy[Any]] = {
    "instruction_bus.buffer_depth": st.sampled_from([1, 2, 8]),
    "tile.strict_compare": st.booleans(),
    "tile.loop_depth": st.sampled_from([8, 6, 5, 4]),
    "tile.lanes": st.sampled_from([4, 8, 32, 64]),
    "mesh.credits": st.sampled_from([1, 2, 4]),
    "mesh.hop_cycles": st.sampled_from([1, 3]),
    "ring.hop_cycles": st.sampled_from([1, 2]),
    "wide_memory.ports": st.sampled_from([1, 2]),
    "ring.queue": st.sampled_from(["split", "shared"]),
    "ring.byte_filter": st.booleans(),
    "narrow_memory.size_bytes": st.sampled_from([8192, 16384, 196608]),
}

LARGER = counts(4, 40)
"""Examples of networks that are larger than the tiles."""
OTHERS = {
    "narrow": {"wide_memory.size_bytes": st.sampled_from([16384, 32768, 65536, 131072])},
    "wide": {"narrow_memory.size_bytes": st.sampled_from([2048, 4096, 8192, 16384])},
}
"""A memory that is to be too small, and what the other one is."""
ROOM = {"narrow_memory.size_bytes": 1 << 22, "wide_memory.size_bytes": 1 << 24}
"""More than any of the networks wants."""


@dataclass(frozen=True)
class Family:
    """A kind of networks: what its layers, kernels and filters are, and how large its maps."""

    kinds: tuple[str, ...]
    kernels: tuple[tuple[int, int], ...] = ((1, 1), (3, 3), (2, 3), (5, 5))
    heights: tuple[int, int] = (1, 20)
    widths: tuple[int, int] = (1, 20)
    strides: tuple[int, ...] = (1, 1, 2)
    filters: st.SearchStrategy[int] = CHANNELS


FAMILIES = {
    "convolutions": Family(("convolution",)),
    "depthwise": Family(("depthwise_convolution", "convolution")),
    "strided": Family(("convolution", "depthwise_convolution", "max_pool"), strides=(2, 2, 3)),
    "long kernels": Family(
        ("convolution", "depthwise_convolution"), ((10, 4), (25, 5), (5, 1), (15, 1), (1, 7)), (1, 40), (1, 12)
    ),
    "pools": Family(("max_pool", "average_pool", "convolution")),
    "vectors": Family(("fully_connected",), heights=(1, 4), widths=(1, 4)),
    "everything": Family(
        ("convolution", "depthwise_convolution", "max_pool", "average_pool", "add", "fully_connected")
    ),
}


@dataclass
class Builder:
    """A workload in the making: ``shapes`` of the maps so far, by the name of the layer."""

    draw: Any
    family: Family
    shapes: dict[str, tuple[int, int, int]]
    layers: list[dict[str, Any]] = field(default_factory=list)

    def add_layer(self) -> None:
        kind = self.draw(st.sampled_from(self.family.kinds))
        name, before = f"l{len(self.layers)}", self.draw(st.sampled_from(list(self.shapes)[-2:]))
        if any(layer["name"] == before and layer["kind"] == "fully_connected" for layer in self.layers):
            kind = "fully_connected"  # nothing else reads a vector
        shape = self.shapes[before]
        layer, made = {
            "convolution": self._convolution,
            "depthwise_convolution": self._depthwise,
            "max_pool": self._pool,
            "average_pool": self._pool,
            "add": self._add,
            "fully_connected": self._fully_connected,
        }[kind](shape)
        self.layers.append({"name": name, "kind": kind, "input": before, **layer})
        self.shapes[name] = made

    def _windows(self, shape: tuple[int, int, int], window: tuple[int, int]) -> tuple[dict[str, Any], tuple[int, int]]:
        strides = [self.draw(st.sampled_from(self.family.strides)) for _ in range(2)]
        fits = all(size >= reach for size, reach in zip(shape, window, strict=False))
        padding = self.draw(st.sampled_from(["same", "valid"] if fits else ["same"]))
        sizes = [
            -(-size // step) if padding == "same" else (size - reach) // step + 1
            for size, reach, step in zip(shape, window, strides, strict=False)
        ]
        return {"strides": strides, "padding": padding}, (sizes[0], sizes[1])

    def _convolution(self, shape: tuple[int, int, int]) -> tuple[dict[str, Any], tuple[int, int, int]]:
        kernel, filters = self.draw(st.sampled_from(self.family.kernels)), self.draw(self.family.filters)
        layer, (height, width) = self._windows(shape, kernel)
        return {"kernel": list(kernel), "filters": filters, **layer}, (height, width, filters)

    def _depthwise(self, shape: tuple[int, int, int]) -> tuple[dict[str, Any], tuple[int, int, int]]:
        kernel = self.draw(st.sampled_from(self.family.kernels))
        times = 2 if shape[2] <= 8 and self.draw(st.booleans()) else 1
        layer, (height, width) = self._windows(shape, kernel)
        return {"kernel": list(kernel), "channel_multiplier": times, **layer}, (height, width, times * shape[2])

    def _pool(self, shape: tuple[int, int, int]) -> tuple[dict[str, Any], tuple[int, int, int]]:
        window = (self.draw(st.integers(1, 4)), self.draw(st.integers(1, 4)))
        if self.draw(st.integers(0, 4)) == 0:
            window = shape[:2]
        layer, (height, width) = self._windows(shape, window)
        return {"window": list(window), **layer}, (height, width, shape[2])

    def _add(self, shape: tuple[int, int, int]) -> tuple[dict[str, Any], tuple[int, int, int]]:
        same = [name for name, other in self.shapes.items() if other == shape]
        return {"other": self.draw(st.sampled_from(same))}, shape

    def _fully_connected(self, _: tuple[int, int, int]) -> tuple[dict[str, Any], tuple[int, int, int]]:
        units = self.draw(st.sampled_from([1, 10, 64, 100, 300, 700, 1001]))
        return {"units": units}, (1, 1, units)


@st.composite
def workloads(draw: Any, family: Family, fewest: int = 1) -> dict[str, Any]:
    height, width = draw(st.integers(*family.heights)), draw(st.integers(*family.widths))
    channels = draw(CHANNELS.filter(lambda channels: channels <= 64))
    builder = Builder(draw, family, {"input": (height, width, channels)})
    for _ in range(draw(st.integers(fewest, 4))):
        builder.add_layer()
        if builder.layers[-1]["kind"] == "fully_connected" and draw(st.booleans()):
            break
    if builder.layers[-1]["kind"] == "fully_connected" and draw(st.booleans()):
        builder.layers.append({"name": "softmax", "kind": "softmax"})
    zero_point = draw(st.sampled_from([-128, 0, 5]))
    given = {"shape": [1, height, width, channels], "zero_point": zero_point}
    return {"seed": draw(st.integers(0, 9)), "input": given, "layers": builder.layers}


ENDS: tuple[Operator | None, ...] = (None, None, ArgMax(np.dtype(np.int64)), TopK(1), TopK(1, np.dtype(np.int32)))


def ended(network: Network, operator: Operator | None) -> Network:
    """A network whose output a choice takes, if there is one; of a TopK as many as half of the elements."""
    if operator is None:
        return network
    (index,) = network.outputs
    last, made = network.tensors[index], max(network.tensors) + 1
    if isinstance(operator, TopK):
        operator = replace(operator, k=-(-last.shape[-1] // 2))
    sample = operator.evaluate([np.zeros(last.shape, last.dtype)])
    tensor = replace(last, index=made, name="choice", dtype=sample.dtype, shape=sample.shape, model_axes=None)
    nodes = (*network.nodes, Node("choice", operator, (index,), made))
    return replace(network, tensors={**network.tensors, made: tensor}, nodes=nodes, outputs=(made,))


@st.composite
def chips(draw: Any) -> dict[str, Any]:
    chip = {"grid.rows": draw(st.integers(1, 6)), "grid.columns": draw(st.integers(1, 6))}
    changed = draw(st.lists(st.sampled_from(sorted(CHIPS)), max_size=2, unique=True))
    return chip | {key: draw(CHIPS[key]) for key in changed}


def loaded(workload: dict[str, Any], folder: Path) -> Network:
    path = folder / "net.yaml"
    path.write_text(yaml.safe_dump(workload))
    return tilesim.load_network(path)


def compiled(network: Network, chip: dict[str, Any]) -> Program | None:
    """A network on a chip; None if the chip is too small."""
    try:
        return tilesim.compile(network, tilesim.load_topology("edge-4x4", chip))
    except tilesim.CapacityError:
        return None


def exact(network: Network, program: Program) -> Run:
    """A run of a program, every tensor of which is the golden one."""
    x = np.random.default_rng(0).integers(-128, 128, network.tensors[network.inputs[0]].shape).astype(np.int8)
    run, golden = tilesim.simulate(program, [x], keep_tensors=True), network.evaluate([x])
    for index, tensor in run.tensors.items():
        np.testing.assert_array_equal(tensor, golden[index])
    for index, output in zip(network.outputs, run.outputs, strict=True):
        np.testing.assert_array_equal(output, golden[index])
    return run


def ran_exactly(
    workload: dict[str, Any], chip: dict[str, Any], folder: Path, end: Operator | None = None
) -> tuple[Network, Program, Run] | None:
    """An exact run of a workload on a chip; None if the chip is too small."""
    network = ended(loaded(workload, folder), end)
    program = compiled(network, chip)
    return None if program is None else (network, program, exact(network, program))


@pytest.mark.parametrize("examples", EXAMPLES)
@pytest.mark.parametrize("family", FAMILIES)
def test_random_networks_on_random_grids_are_exact(family: str, examples: int, tmp_path: Path) -> None:
    ran = 0

    @settings(max_examples=examples, suppress_health_check=list(HealthCheck))
    @given(workloads(FAMILIES[family]), chips(), st.sampled_from(ENDS))
    def check(workload: dict[str, Any], chip: dict[str, Any], end: Operator | None) -> None:
        nonlocal ran
        if found := ran_exactly(workload, chip, tmp_path, end):
            network, program, run = found
            layers = zip(network.nodes, program.layers, strict=True)  # a map inside a group of bands never is whole
            inside = {"tiles", "nowhere"}  # what the classifier makes is an output, or only the host has it
            whole = {node.output for node, layer in layers if layer.bands == 1 and layer.place in inside}
            assert whole | {*network.outputs} <= run.tensors.keys()
            assert run.cycles >= network.macs / (program.topology.tiles * program.topology.macs_per_cycle)
            ran += 1

    check()
    assert ran >= 0.8 * examples, "hardly any network may be too large"


TOO_LARGE = [(family, memory) for family in FAMILIES for memory in OTHERS if (family, memory) != ("vectors", "narrow")]
"""Families, and the memories that are made too small for them; vectors can't be made in bands."""


def full_bytes(network: Network, chip: dict[str, Any], memory: str) -> int:
    """What a network takes of each tile's narrow memory in its worst step, or of the wide memory, if there is room."""
    if memory == "narrow":
        return peak_bytes(network, tilesim.load_topology("edge-4x4", chip))
    program = tilesim.compile(network, tilesim.load_topology("edge-4x4", chip | ROOM))
    return max(region.address + region.bytes for region in program.regions if region.memory == "wide")


def on_less(network: Network, chip: dict[str, Any], memory: str, share: int) -> Program | None:
    """A network on a chip with ``share`` twentieths of the memory that it wants, or, if it can't do with that, with
    more of them; None if it can't do with less than all.
    """
    full = full_bytes(network, chip, memory)
    for some in range(share, 20, 3):
        size = max(256, full * some // 20 // 256 * 256)
        if program := compiled(network, chip | {f"{memory}_memory.size_bytes": size}):
            return program if is_larger(program, memory) else None
    return None


def is_larger(program: Program, memory: str) -> bool:
    """Whether maps are made in bands of rows, or parameters are not in all tiles that use them."""
    if memory == "narrow":
        return any(layer.bands > 1 for layer in program.layers)
    return any(home in layer.parameters for layer in program.layers for home in ("home tile", "streamed"))


@pytest.mark.parametrize("examples", LARGER)
@pytest.mark.parametrize(("family", "memory"), TOO_LARGE)
def test_random_networks_on_chips_that_are_too_small_for_them_are_exact(
    family: str, memory: str, examples: int, tmp_path: Path
) -> None:
    """Too small is the narrow memory for maps, or the wide one for parameters, but not so that nothing helps."""

    @settings(max_examples=examples, suppress_health_check=list(HealthCheck))
    @given(workloads(FAMILIES[family], 2), chips(), st.fixed_dictionaries(OTHERS[memory]), st.integers(10, 19))
    def check(workload: dict[str, Any], chip: dict[str, Any], other: dict[str, Any], share: int) -> None:
        network = loaded(workload, tmp_path)
        if program := on_less(network, chip | other, memory, share):
            exact(network, program)
        else:
            reject()

    check()
