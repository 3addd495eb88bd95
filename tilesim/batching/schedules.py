"""In what order layers take their batches."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Literal, TypeAlias

from tilesim.batching.graph import LayerGraph, WeightedLayer

Schedule: TypeAlias = Literal["none", "demand", "lcm"]
SCHEDULES: tuple[Schedule, ...] = ("none", "demand", "lcm")


@dataclass(frozen=True)
class ScheduleStep:
    """A layer, named by its node of the network, runs inferences ``first`` to ``first + count - 1``."""

    layer: int
    first: int
    count: int


def in_groups(graph: LayerGraph, batches: Mapping[int, int], inferences: int, group: int) -> Iterator[ScheduleStep]:
    """``group`` inferences through every layer before the next ones: of as many as the least common multiple of all
    batches, no batch but the last is partial. A group of 1 is one inference after the other.

    Source: JP 7561916 B2, on its Fig. 6.
    """
    for begin in range(0, inferences, group):
        end = min(begin + group, inferences)
        for layer in graph.layers:
            batch = batches[layer.node]
            for first in range(begin, end, batch):
                yield ScheduleStep(layer.node, first, min(batch, end - first))


def on_demand(graph: LayerGraph, batches: Mapping[int, int], inferences: int) -> Iterator[ScheduleStep]:
    """Each layer runs just as many batches as fill one of the layer that waits for it.

    The last layer asks for a batch; a layer that is asked for more than it has delivered forms a batch, for which it
    asks those before it, the last first. Of several last layers the one that is furthest behind asks next. Partial are
    only batches that the end of the stream leaves no more inferences for (assumption: the source does not say).

    Source: JP 7561916 B2, on its Figs. 5 and 6.
    """
    layers = {layer.node: layer for layer in graph.layers}
    done = dict.fromkeys(layers, 0)
    while done and min(done[sink] for sink in graph.sinks) < inferences:
        sink = min(graph.sinks, key=lambda node: done[node])
        yield from _filled(layers, batches, done, (sink, done[sink] + 1), inferences)


def _filled(
    layers: Mapping[int, WeightedLayer],
    batches: Mapping[int, int],
    done: dict[int, int],
    asked: tuple[int, int],
    inferences: int,
) -> Iterator[ScheduleStep]:
    """The steps until a layer has done as many inferences as it is ``asked`` for."""
    waiting = [asked]
    while waiting:
        node, wanted = waiting[-1]
        if done[node] >= wanted:
            waiting.pop()
            continue
        end = min(done[node] + batches[node], inferences)
        lacking = next((before for before in reversed(layers[node].predecessors) if done[before] < end), None)
        if lacking is not None:
            waiting.append((lacking, end))
        else:
            yield ScheduleStep(node, done[node], end - done[node])
            done[node] = end


def together(steps: Sequence[ScheduleStep], at_once: Collection[int]) -> list[list[ScheduleStep]]:
    """The steps, those that run as one put together: of a layer ``at_once``, those in a row of the same round."""
    keys = [
        (step.layer, number if step.layer in at_once else place)
        for place, (number, step) in enumerate(zip(rounds(steps), steps, strict=True))
    ]
    return [[step for _, step in run] for _, run in groupby(zip(keys, steps, strict=True), lambda pair: pair[0])]


def whole(run: Sequence[ScheduleStep]) -> ScheduleStep:
    """What steps in a row of one layer come to."""
    return replace(run[0], count=sum(step.count for step in run))


def fetches(steps: Sequence[ScheduleStep], at_once: Collection[int]) -> Iterator[int]:
    """The layers in their order as often as their weights are fetched: once for steps in a row, as these find them
    still there; but of a layer ``at_once`` for those of one round, as then only the last of its weights are there.
    """
    for layer, runs in groupby(together(steps, at_once), lambda run: run[0].layer):
        yield from [layer] * (len([*runs]) if layer in at_once else 1)


def rounds(steps: Iterable[ScheduleStep]) -> Iterator[int]:
    """The round of each step: when all layers have run the same inferences, a round is over and the next begins."""
    steps = tuple(steps)
    layers = len({step.layer for step in steps})
    number = total = furthest = 0
    for step in steps:
        yield number
        total += step.count
        furthest = max(furthest, step.first + step.count)
        number += total == layers * furthest
