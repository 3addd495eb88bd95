"""Which task runs when, and for which inferences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from tests.networks import Weave
from tests.systolic.compiled import chip
from tilesim.batching import ScheduleStep
from tilesim.network.graph import Network
from tilesim.network.operators import Add, MaxPool, Padding
from tilesim.systolic.compiler.array_plan import plan_operators, tasks_of
from tilesim.systolic.compiler.steps import Turn, turns

POOL = MaxPool((2, 2), (1, 1), Padding(), (-128, 127))
ADD = Add("double", (-3, 1 << 30, 0, 4, 1 << 30, 0, -5, 1 << 30, -19), (-128, 127))


def joined() -> Network:
    """0 pools the input; 1 and 2 are convolutions of that; 3 adds them; 4 is a convolution; 5 pools what 1 makes."""
    weave = Weave()
    pooled = weave.add(POOL, weave.input(6, 6, 2), zero_point=-7)
    a, b = weave.convolution(pooled, 3), weave.convolution(pooled, 3)
    return weave.network(weave.convolution(weave.add(ADD, a, b), 3), weave.add(POOL, a))


def order(steps: Iterable[tuple[int, int]], inferences: int) -> list[Turn]:
    plan = plan_operators(joined())
    done = Counter[int]()
    counted = []
    for layer, count in steps:
        counted.append(ScheduleStep(layer, done[layer], count))
        done[layer] += count
    return turns(tasks_of(plan, chip("systolic-32")), counted, inferences, {1, 2, 4})


def brief(found: list[Turn]) -> list[tuple[int, int, int]]:
    return [(turn.task.layer, turn.first, turn.count) for turn in found]


def test_what_has_no_weights_runs_with_the_last_of_its_producers() -> None:
    assert brief(order([(1, 2), (2, 1), (4, 1), (2, 1), (4, 1)], 2)) == [
        (0, 0, 2), (1, 0, 2), (5, 0, 2), (2, 0, 1), (3, 0, 1), (4, 0, 1), (2, 1, 1), (3, 1, 1), (4, 1, 1),
    ]  # fmt: skip


def test_steps_of_one_layer_in_a_row_are_one() -> None:
    found = order([(1, 1), (1, 2), (2, 2), (2, 1), (4, 3)], 3)
    assert brief(found) == [(0, 0, 3), (1, 0, 3), (5, 0, 3), (2, 0, 3), (3, 0, 3), (4, 0, 3)]
    assert [turn.early for turn in found] == [True, False, False, False, False, False]


@given(st.integers(1, 6), st.integers(1, 6))
def test_every_inference_runs_once_and_after_what_it_reads(inferences: int, batch: int) -> None:
    sizes = [min(batch, inferences - first) for first in range(0, inferences, batch)]
    steps = [(layer, size) for size in sizes for layer in (1, 2, 4)]
    done: set[tuple[int, int]] = set()
    for turn in order(steps, inferences):
        for inference in turn.inferences:
            made = {(node.output, inference) for node in (turn.task.node,)}
            read = {(tensor.index, inference) for tensor in turn.task.stored if tensor.index}
            assert read <= done
            assert not made & done
            done |= made
    assert len(done) == 6 * inferences
