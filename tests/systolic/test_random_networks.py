"""Random networks on random systolic chips: every tensor is the golden one, in whatever order the units work."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.networks import Weave, same
from tests.soak import counts
from tests.systolic.compiled import chip, exact
from tilesim.batching import Plan, graph_of, plan
from tilesim.errors import CapacityError
from tilesim.network.graph import Network
from tilesim.network.operators import Add, MaxPool, Padding
from tilesim.systolic.compiler.compile import compile_network

EXAMPLES = 60
CHIPS = st.fixed_dictionaries(
    {
        "array.rows": st.sampled_from([1, 2, 5, 8, 16]),
        "array.columns": st.sampled_from([2, 3, 8, 16]),
        "weight_memory.size_bytes": st.just(1 << 24),
        "unified_buffer.size_bytes": st.sampled_from([3000, 1 << 16]),
    },
    optional={
        "array.weights": st.just("rows"),
        "value_loaders.feed": st.just("channels"),
        "accumulators.entries": st.sampled_from([1, 2, 3, 7, 16, 1000]),
        "sequencer.queue_depth": st.sampled_from([1, 2]),
        "weight_fifo.tiles": st.sampled_from([1, 2]),
        "vector_unit.lanes": st.sampled_from([1, 64]),
    },
)
ADD = Add("double", (-3, 1 << 30, 0, 4, 1 << 30, 0, -5, 1 << 30, -19), (-128, 127))


@st.composite
def networks(draw: Any) -> Network:
    """Some layers, each of which reads one of the two before; in the end perhaps a fully connected one."""
    weave = Weave()
    size = [draw(st.integers(1, 9)) for _ in range(2)]
    made = [weave.input(*size, draw(st.integers(1, 9)))]
    for _ in range(draw(st.integers(1, 4))):
        made.append(_layer(draw, weave, draw(st.sampled_from(made[-2:])), made))
    if draw(st.booleans()):
        made.append(weave.fully_connected(made[-1], draw(st.integers(1, 20))))
    return weave.network(made[-1])


def _layer(draw: Any, weave: Weave, x: int, made: list[int]) -> int:
    kind = draw(st.sampled_from(["convolution", "convolution", "depthwise", "pool", "add"]))
    kernel, strides = draw(st.integers(1, 3)), (draw(st.integers(1, 2)), draw(st.integers(1, 2)))
    if kind == "convolution":
        return weave.convolution(x, draw(st.integers(1, 17)), kernel, strides=strides)
    if kind == "depthwise":
        return weave.depthwise(x, kernel, strides=strides)
    if kind == "pool":
        pool = MaxPool((kernel, kernel), strides, Padding(*same(kernel)), (-128, 127))
        return weave.add(pool, x, zero_point=weave.zero_point(x))
    alike = [other for other in made if weave.samples[other].shape == weave.samples[x].shape]
    return weave.add(ADD, x, draw(st.sampled_from(alike)), zero_point=-5)


def fits(network: Network, changes: dict[str, Any], steps: Plan | None = None) -> bool:
    """Only small buffers are ever too small."""
    try:
        compile_network(network, chip("systolic-4", changes), plan=steps)
    except CapacityError:
        small = changes["unified_buffer.size_bytes"] == 3000
        return not small and (steps is None or steps.peak_bytes < 1 << 15)
    return True


@pytest.mark.parametrize("examples", counts(EXAMPLES // 4, EXAMPLES))
def test_every_tensor_is_the_golden_one(examples: int) -> None:
    @settings(max_examples=examples, suppress_health_check=list(HealthCheck))
    @given(networks(), CHIPS, st.integers(1, 1 << 20))
    def check(network: Network, changes: dict[str, Any], order: int) -> None:
        if fits(network, changes):
            exact(network, chip("systolic-4", changes), order=order)

    check()


@pytest.mark.parametrize("examples", counts(2, EXAMPLES // 3))
@pytest.mark.parametrize("schedule", ["none", "demand", "lcm"])
def test_several_inferences_in_the_order_of_a_plan_too(schedule: str, examples: int) -> None:
    @settings(max_examples=examples, suppress_health_check=list(HealthCheck))
    @given(networks(), CHIPS, st.integers(1, 9), st.integers(1, 200), st.integers(1, 1 << 20))
    def check(network: Network, changes: dict[str, Any], inferences: int, value: int, order: int) -> None:
        if not graph_of(network).layers:
            return
        steps = plan(graph_of(network), value, inferences, schedule)  # type: ignore[arg-type]
        if not fits(network, changes, steps):
            return
        program = exact(network, chip("systolic-4", changes), steps, order)
        assert program.batching is not None
        assert sum(1 for _ in groupby(step.layer for step in program.batching.steps)) == steps.loads

    check()
