"""Random networks of narrow layers, several pixels of a row side by side in the lanes: every tensor equals the golden
arithmetic, bit for bit, and both models agree.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

import tilesim
from tests.soak import counts
from tests.tiled.test_bands import banded, chains, peak_bytes
from tests.tiled.test_random_networks import Family, chips, exact, loaded, workloads
from tilesim.tiled.isa.model.instructions import TensorOp
from tilesim.tiled.isa.model.program import Program

EXAMPLES = counts(15, 150)
LARGER = 15
KERNELS = ((3, 3), (1, 3), (3, 2), (2, 5), (1, 1))
FILTERS = st.sampled_from([1, 3, 4, 8, 10, 16, 24, 31, 32])
SIZES: dict[str, Any] = {"kernels": KERNELS, "heights": (1, 9), "widths": (2, 24), "filters": FILTERS}
FAMILIES = {
    "convolutions": Family(("convolution",), **SIZES),
    "strided": Family(("convolution", "depthwise_convolution"), strides=(1, 2), **SIZES | {"kernels": KERNELS[:4]}),
    "depthwise": Family(("depthwise_convolution", "convolution"), **SIZES),
    "everything": Family(
        ("convolution", "depthwise_convolution", "max_pool", "average_pool", "add", "fully_connected"), **SIZES
    ),
}


def side_by_side(program: Program) -> list[TensorOp]:
    """Tensorops of which one group makes more than one pixel: their output moves by more than the lanes of one."""
    layers = {index: piece.pixel_bytes for piece in program.pieces for index in [piece.after.partition(".")[0]]}
    ops = [op for op in program.run if isinstance(op, TensorOp) and op.label.partition(".")[0] in layers]
    return [op for op in ops if op.weights and op.nest.loops[-1].bound > layers[op.label.partition(".")[0]]]


@pytest.mark.parametrize("examples", EXAMPLES)
@pytest.mark.parametrize("family", FAMILIES)
def test_narrow_layers_are_exact(family: str, examples: int, tmp_path: Path) -> None:
    ran = several = 0

    @settings(max_examples=examples, suppress_health_check=list(HealthCheck))
    @given(workloads(FAMILIES[family]), chips())
    def check(workload: dict[str, Any], chip: dict[str, Any]) -> None:
        nonlocal ran, several
        network, topology = loaded(workload, tmp_path), tilesim.load_topology("edge-4x4", chip)
        try:
            program = tilesim.compile(network, topology, partition="mixed")
        except tilesim.CapacityError:
            return
        exact(network, program)
        ran += 1
        several += bool(side_by_side(program))

    check()
    assert ran >= 0.8 * examples, "hardly any network may be too large"
    assert several >= 0.1 * examples, "many networks must have layers that make several pixels at once"


def test_narrow_layers_in_bands_are_exact(tmp_path: Path) -> None:
    @settings(max_examples=LARGER, suppress_health_check=list(HealthCheck))
    @given(chains(), st.sampled_from([(1, 1), (1, 2), (2, 2)]), st.sampled_from([6, 8, 9]))
    def check(workload: dict[str, Any], grid: tuple[int, int], tenths: int) -> None:
        network = loaded(workload, tmp_path)
        chip: dict[str, Any] = {"grid.rows": grid[0], "grid.columns": grid[1]}
        peak = peak_bytes(network, tilesim.load_topology("edge-4x4", chip))
        chip["narrow_memory.size_bytes"] = max(256, peak * tenths // 10 // 4 * 4)
        try:
            program = tilesim.compile(network, tilesim.load_topology("edge-4x4", chip), partition="mixed")
        except tilesim.CapacityError:
            reject()
        if not banded(program) or not side_by_side(program):
            reject()
        exact(network, program)

    check()
