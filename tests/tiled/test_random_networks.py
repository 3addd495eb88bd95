"""Random networks on random grids: every tensor equals the golden arithmetic, bit for bit."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tilesim
from tilesim.network.evaluate import evaluate
from tilesim.network.graph import Network
from tilesim.run import Run
from tilesim.tiled.isa.program import Program

EXAMPLES = 90
CHANNELS = st.sampled_from([1, 2, 3, 4, 5, 8, 17, 31, 64, 65, 100, 200]) | st.integers(1, 200)
CHIPS: dict[str, st.SearchStrategy[Any]] = {
    "instruction_bus.buffer_depth": st.sampled_from([1, 2, 8]),
    "tile.strict_compare": st.booleans(),
    "tile.lanes": st.sampled_from([4, 8, 32, 64]),
    "mesh.credits": st.sampled_from([1, 2, 4]),
    "mesh.hop_cycles": st.sampled_from([1, 3]),
    "ring.hop_cycles": st.sampled_from([1, 2]),
    "wide_memory.ports": st.sampled_from([1, 2]),
    "narrow_memory.size_bytes": st.sampled_from([8192, 16384, 196608]),
}

SMALL = {
    "wide_memory.size_bytes": st.sampled_from([16384, 32768, 65536, 131072]),
    "narrow_memory.size_bytes": st.sampled_from([2048, 4096, 8192, 16384]),
    "ring.queue": st.sampled_from(["split", "shared"]),
}


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
def workloads(draw: Any, family: Family) -> dict[str, Any]:
    height, width = draw(st.integers(*family.heights)), draw(st.integers(*family.widths))
    channels = draw(CHANNELS.filter(lambda channels: channels <= 64))
    builder = Builder(draw, family, {"input": (height, width, channels)})
    for _ in range(draw(st.integers(1, 4))):
        builder.add_layer()
        if builder.layers[-1]["kind"] == "fully_connected" and draw(st.booleans()):
            break
    if builder.layers[-1]["kind"] == "fully_connected" and draw(st.booleans()):
        builder.layers.append({"name": "softmax", "kind": "softmax"})
    zero_point = draw(st.sampled_from([-128, 0, 5]))
    given = {"shape": [1, height, width, channels], "zero_point": zero_point}
    return {"seed": draw(st.integers(0, 9)), "input": given, "layers": builder.layers}


@st.composite
def chips(draw: Any) -> dict[str, Any]:
    chip = {"grid.rows": draw(st.integers(1, 6)), "grid.columns": draw(st.integers(1, 6))}
    changed = draw(st.lists(st.sampled_from(sorted(CHIPS)), max_size=2, unique=True))
    return chip | {key: draw(CHIPS[key]) for key in changed}


def ran_exactly(workload: dict[str, Any], chip: dict[str, Any], folder: Path) -> tuple[Network, Program, Run] | None:
    """A run of a workload on a chip, every tensor of which is the golden one; None if the chip is too small."""
    path = folder / "net.yaml"
    path.write_text(yaml.safe_dump(workload))
    network, topology = tilesim.load_network(path), tilesim.load_topology("edge-4x4", chip)
    x = np.random.default_rng(0).integers(-128, 128, tuple(workload["input"]["shape"])).astype(np.int8)
    try:
        program = tilesim.compile(network, topology)
    except tilesim.CapacityError:
        return None
    run, golden = tilesim.simulate(program, [x], keep_tensors=True), evaluate(network, [x])
    for index, tensor in run.tensors.items():
        np.testing.assert_array_equal(tensor, golden[index])
    for index, output in zip(network.outputs, run.outputs, strict=True):
        np.testing.assert_array_equal(output, golden[index])
    return network, program, run


@pytest.mark.parametrize("family", FAMILIES)
def test_random_networks_on_random_grids_are_exact(family: str, tmp_path: Path) -> None:
    ran = 0

    @settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
    @given(workloads(FAMILIES[family]), chips())
    def check(workload: dict[str, Any], chip: dict[str, Any]) -> None:
        nonlocal ran
        if found := ran_exactly(workload, chip, tmp_path):
            network, program, run = found
            assert {node.output for node in network.nodes} <= run.tensors.keys()
            assert run.cycles >= network.macs / (program.topology.tiles * program.topology.macs_per_cycle)
            ran += 1

    check()
    assert ran >= 0.8 * EXAMPLES, "hardly any network may be too large"


@pytest.mark.parametrize("family", FAMILIES)
def test_random_networks_on_chips_that_are_too_small_for_them_are_exact(family: str, tmp_path: Path) -> None:
    """Most don't fit; of others parameters have a home tile or stream, or maps are made in bands of rows."""
    found = {"home tile": 0, "streamed": 0, "bands": 0}

    @settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
    @given(workloads(FAMILIES[family]), chips(), st.fixed_dictionaries(SMALL))
    def check(workload: dict[str, Any], chip: dict[str, Any], small: dict[str, Any]) -> None:
        if ran := ran_exactly(workload, chip | small, tmp_path):
            layers = ran[1].layers
            found["bands"] += any(layer.bands > 1 for layer in layers)
            for home in ("home tile", "streamed"):
                found[home] += any(home in layer.parameters for layer in layers)

    check()
    assert sum(found.values()) >= 2, f"some must be larger than the tiles, not {found}"
