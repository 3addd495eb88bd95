"""Random networks, each layer spread by rows and columns or by channel at random: every tensor equals the golden
arithmetic, bit for bit.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.soak import counts
from tests.tiled.test_random_networks import Family, chips, ran_exactly, workloads

EXAMPLES = counts(15, 150)
KERNELS = ((1, 1), (3, 3), (2, 3), (5, 1))
FILTERS = st.sampled_from([8, 12, 16, 24, 62, 64, 96, 128, 200]) | st.integers(1, 200)
SIZES: dict[str, Any] = {"kernels": KERNELS, "heights": (1, 8), "widths": (1, 8), "filters": FILTERS}
CONVOLUTIONS = ("convolution",) * 2
FAMILIES = {
    "convolutions": Family(("convolution",), **SIZES),
    "depthwise": Family(("convolution", "depthwise_convolution", "convolution"), **SIZES),
    "pools": Family(("convolution", "max_pool", "average_pool", "convolution"), **SIZES),
    "residuals": Family((*CONVOLUTIONS, "add", "depthwise_convolution", "max_pool"), strides=(1,), **SIZES),
    "everything": Family(
        (*CONVOLUTIONS * 2, "depthwise_convolution", "max_pool", "average_pool", "add", "fully_connected"), **SIZES
    ),
}
CHOICES = st.sampled_from(["channel", "channel", "channel", "spatial", None])


@st.composite
def chosen(draw: Any, family: Family) -> dict[str, Any]:
    """A workload that says of some layers how they are to be spread."""
    workload: dict[str, Any] = draw(workloads(family))
    for layer in workload["layers"]:
        if (choice := draw(CHOICES)) is not None:
            layer["partition"] = choice
    return workload


@pytest.mark.parametrize("examples", EXAMPLES)
@pytest.mark.parametrize("family", FAMILIES)
def test_layers_spread_at_random_are_exact(family: str, examples: int, tmp_path: Path) -> None:
    ran = by_channel = 0

    @settings(max_examples=examples, suppress_health_check=list(HealthCheck))
    @given(chosen(FAMILIES[family]), chips())
    def check(workload: dict[str, Any], chip: dict[str, Any]) -> None:
        nonlocal ran, by_channel
        if found := ran_exactly(workload, chip, tmp_path):
            network, program, run = found
            assert {node.output for node in network.nodes} <= run.tensors.keys()
            ran += 1
            by_channel += any(layer.spread == "channel" and layer.kind != "fullyconnected" for layer in program.layers)

    check()
    assert ran >= 0.8 * examples, "hardly any network may be too large"
    assert by_channel >= 0.1 * examples, "many networks must have layers that are spread by channel"
