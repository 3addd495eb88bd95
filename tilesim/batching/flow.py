"""What flows between the steps of a plan: which nodes run in each, and the bytes that lie in the buffer meanwhile."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from tilesim.batching.graph import INPUT, LayerGraph
from tilesim.batching.schedules import ScheduleStep


@dataclass(frozen=True)
class Moment:
    """What happens in a step: ``arrived`` inferences come in first, the nodes, with or without weights, run in this
    order, and ``buffer_bytes`` of tensors lie in the buffer: those made or used in it, and those that still wait to be
    used.
    """

    arrived: int
    runs: tuple[ScheduleStep, ...]
    buffer_bytes: int


def moments(graph: LayerGraph, steps: Iterable[ScheduleStep]) -> Iterator[Moment]:
    """What happens in each step of a plan.

    All inputs of an inference come in with the first step that needs one of them. A node without weights runs at once
    when the last of its operands is there. A tensor lies in the buffer from the step that makes it to the last that
    uses it; the network's outputs leave at the end of the step that makes them.
    """
    flow = _Flow(graph)
    return (flow.moment(step) for step in steps)


def peak_queues(graph: LayerGraph, steps: Sequence[ScheduleStep]) -> dict[tuple[int, int], int]:
    """The most inferences that a layer has delivered and the next has not begun, for each such pair of layers."""
    done = {layer.node: 0 for layer in graph.layers}
    peaks = {(before, layer.node): 0 for layer in graph.layers for before in layer.predecessors}
    after = {node: [layer.node for layer in graph.layers if node in layer.predecessors] for node in done}
    for step in steps:
        done[step.layer] += step.count
        for layer in after[step.layer]:
            queue = step.layer, layer
            peaks[queue] = max(peaks[queue], done[step.layer] - done[layer])
    return peaks


class _Flow:
    """How far each node and each of the network's inputs is."""

    def __init__(self, graph: LayerGraph) -> None:
        self.graph = graph
        self.arrived = 0
        self.done = [0] * len(graph.nodes)
        self.freed = dict.fromkeys([*range(-len(graph.input_bytes), len(graph.nodes))], 0)
        self.held_bytes = 0

    def moment(self, step: ScheduleStep) -> Moment:
        touched, before = self._touched[step.layer], self.arrived
        if INPUT in self.graph.origins[step.layer]:
            self.arrived = max(before, step.first + step.count)
            self.held_bytes += (self.arrived - before) * sum(self.graph.input_bytes)
        runs = tuple(run for node in touched if (run := self._run(node, step)).count)
        buffer_bytes = self.held_bytes
        for source in self._concerned[step.layer]:
            self._free(source)
        return Moment(self.arrived - before, runs, buffer_bytes)

    def _run(self, node: int, step: ScheduleStep) -> ScheduleStep:
        """The node takes all that is there for it; the step's own layer its batch."""
        first, reads = self.done[node], self.graph.nodes[node].reads
        end = step.first + step.count if node == step.layer else min(map(self._made, reads), default=self.arrived)
        self.done[node] = end
        self.held_bytes += (end - first) * self.graph.nodes[node].makes_bytes
        return ScheduleStep(node, first, end - first)

    def _free(self, source: int) -> None:
        """What all that use a tensor have used goes."""
        end = min((self.done[user] for user in self._users[source]), default=self._made(source))
        size = self.graph.nodes[source].makes_bytes if source >= 0 else self.graph.input_bytes[~source]
        self.held_bytes -= (end - self.freed[source]) * size
        self.freed[source] = end

    def _made(self, source: int) -> int:
        return self.done[source] if source >= 0 else self.arrived

    @cached_property
    def _users(self) -> dict[int, tuple[int, ...]]:
        """The nodes that read each node's result or each input."""
        nodes = self.graph.nodes
        return {source: tuple(k for k, node in enumerate(nodes) if source in node.reads) for source in self.freed}

    @cached_property
    def _touched(self) -> dict[int, tuple[int, ...]]:
        """For each layer itself and the nodes without weights that may run in its steps, in order."""
        return {layer.node: tuple(self._with(layer.node)) for layer in self.graph.layers}

    def _with(self, layer: int) -> Iterator[int]:
        brought = {layer, INPUT} & (self.graph.origins[layer] | {layer})
        for k, node in enumerate(self.graph.nodes):
            if k == layer or (not node.reuse and brought & self.graph.origins[k]):
                yield k

    @cached_property
    def _concerned(self) -> dict[int, tuple[int, ...]]:
        """For each layer the tensors and inputs that its steps make or use."""
        inputs = {~k for k in range(len(self.graph.input_bytes))}
        return {
            layer: tuple({*touched, *inputs, *(source for node in touched for source in self.graph.nodes[node].reads)})
            for layer, touched in self._touched.items()
        }
