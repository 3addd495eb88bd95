"""Random networks whose layers wait for lines and are made in the order in which these come: every tensor equals the
golden arithmetic, bit for bit, and every program is proven.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tilesim
from tests.soak import counts
from tests.tiled.test_random_networks import Family, chips, exact, loaded, workloads

EXAMPLES = counts(6, 150)
KERNELS = ((1, 1), (3, 3), (2, 3), (5, 1), (5, 5))
FILTERS = st.integers(1, 70)
SIZES: dict[str, Any] = {"kernels": KERNELS, "heights": (4, 40), "widths": (1, 24), "filters": FILTERS}
FAMILIES = {
    "convolutions": Family(("convolution",), **SIZES),
    "depthwise": Family(("convolution", "depthwise_convolution", "convolution"), **SIZES),
    "everything": Family(
        ("convolution", "depthwise_convolution", "max_pool", "average_pool", "add", "fully_connected"), **SIZES
    ),
}


@pytest.mark.parametrize("examples", EXAMPLES)
@pytest.mark.parametrize("family", FAMILIES)
def test_layers_that_wait_for_lines_are_exact_and_proven(family: str, examples: int, tmp_path: Path) -> None:
    ran = 0

    @settings(max_examples=examples, suppress_health_check=list(HealthCheck))
    @given(workloads(FAMILIES[family]), chips())
    def check(workload: dict[str, Any], chip: dict[str, Any]) -> None:
        nonlocal ran
        network = loaded(workload, tmp_path)
        try:
            program = tilesim.compile(network, tilesim.load_topology("edge-4x4", chip), partition="mixed")
        except tilesim.CapacityError:
            return
        assert tilesim.check(program).proven
        exact(network, program)
        ran += 1

    check()
    assert ran >= 0.7 * examples, "hardly any network may be too large"
