"""Random networks on random rotating chips: every tensor is the golden one, whenever DMA brings what."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.networks import Weave, same
from tests.rotating.compiler.compiled import exact, small
from tests.soak import counts
from tilesim.errors import CapacityError
from tilesim.network.graph import Network
from tilesim.network.operators import Add, AveragePool, MaxPool, Padding
from tilesim.rotating.compiler.compile import compile_network
from tilesim.rotating.topology import Topology

EXAMPLES = 400
ADD = Add("double", (-3, 1 << 30, 0, 4, 1 << 30, 0, -5, 1 << 30, -19), (-128, 127))
DISTANCES = st.sampled_from(["1", "1", "1 4", "1 2 3", "1-7"])
CHIPS = st.builds(
    lambda units, bits, direction, distances, rule, rows: small(
        units, units__word_bits=bits, rotation__direction=direction, rotation__distances=distances,
        units__block_rule=rule, data_ram__rows=rows[0], weight_ram__rows=rows[1],
    ),
    st.sampled_from([8, 12, 16, 24, 32, 48, 64, 128]),
    st.sampled_from([8, 8, 16]),
    st.sampled_from(["up", "down"]),
    DISTANCES,
    st.sampled_from(["greater", "at_least"]),
    st.tuples(st.sampled_from([4096, 4096, 60, 30, 16]), st.sampled_from([1 << 16, 1 << 16, 300, 100, 60])),
)  # fmt: skip
COLUMNS = st.integers(1, 9)


@st.composite
def networks(draw: Any, columns: st.SearchStrategy[int] = COLUMNS) -> Network:
    """Some layers, each of which reads one of the two before; in the end perhaps a fully connected one."""
    weave = Weave()
    size = [draw(st.integers(1, 9)), draw(columns)]
    made = [weave.input(*size, draw(st.integers(1, 9)))]
    for _ in range(draw(st.integers(1, 4))):
        made.append(_layer(draw, weave, draw(st.sampled_from(made[-2:])), made))
    if draw(st.booleans()):
        made.append(weave.fully_connected(made[-1], draw(st.integers(1, 20)), unsigned=draw(st.booleans())))
    return weave.network(made[-1])


def _layer(draw: Any, weave: Weave, x: int, made: list[int]) -> int:
    kind = draw(st.sampled_from(["convolution", "convolution", "depthwise", "max", "average", "add"]))
    kernel, strides = draw(st.integers(1, 3)), (draw(st.integers(1, 3)), draw(st.integers(1, 3)))
    padding = Padding(*[draw(st.integers(0, kernel - 1)) for _ in range(4)]) if draw(st.booleans()) else same(kernel)
    _, lines, columns, _ = weave.samples[x].shape
    least = min(lines + padding.top + padding.bottom, columns + padding.left + padding.right)
    if least < kernel:
        padding = same(kernel)
    dilations = (draw(st.integers(1, 2)), draw(st.integers(1, 2)))
    if least < (kernel - 1) * 2 + 1:
        dilations = (1, 1)
    moves = {"strides": strides, "padding": padding, "dilations": dilations}
    if kind == "convolution":
        return weave.convolution(x, draw(st.integers(1, 17)), kernel, unsigned=draw(st.booleans()), **moves)
    if kind == "depthwise":
        return weave.depthwise(x, kernel, **moves)
    zero = weave.zero_point(x)
    if kind == "max":
        padding = Padding(padding.top, 0, padding.bottom, 0) if columns >= kernel else Padding()
        kernel = kernel if lines + padding.top + padding.bottom >= kernel <= columns else 1
        return weave.add(MaxPool((kernel, kernel), strides, padding, (-128, 127)), x, zero_point=zero)
    if kind == "average":
        pool = AveragePool(
            (kernel, kernel), strides, padding, draw(st.booleans()), zero, zero, "divide", (0.05, 0.05), (-128, 127)
        )
        return weave.add(pool, x, zero_point=zero)
    alike = [other for other in made if weave.samples[other].shape == weave.samples[x].shape]
    return weave.add(ADD, x, draw(st.sampled_from(alike)), zero_point=-5)


def fits(network: Network, topology: Topology) -> bool:
    """With plenty of room, only rows are ever too short."""
    try:
        compile_network(network, topology)
    except CapacityError as error:
        plenty = topology.data_ram.rows == 4096 and topology.weight_ram.rows == 1 << 16
        if plenty and "words, padding included" not in str(error):
            raise
        return False
    return True


@pytest.mark.parametrize("examples", counts(EXAMPLES // 8, EXAMPLES))
def test_every_tensor_is_the_golden_one(examples: int) -> None:
    @settings(max_examples=examples, suppress_health_check=list(HealthCheck), deadline=None)
    @given(networks(), CHIPS)
    def check(network: Network, topology: Topology) -> None:
        if fits(network, topology):
            exact(network, topology)

    check()
