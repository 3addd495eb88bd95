"""The order of work: which task runs for which inferences, one after the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from tilesim.batching.schedules import ScheduleStep, together, whole
from tilesim.systolic.compiler.task import OperatorTask


@dataclass(frozen=True)
class Turn:
    """``count`` inferences, from number ``first`` on, of a task. ``early``: nothing that it reads comes of weights."""

    task: OperatorTask
    first: int
    count: int
    early: bool

    @property
    def inferences(self) -> range:
        return range(self.first, self.first + self.count)


def turns(
    tasks: Sequence[OperatorTask], steps: Sequence[ScheduleStep], inferences: int, at_once: Collection[int]
) -> list[Turn]:
    """``steps`` of layers with weights in order, and around them all that has none.

    Steps in a row of a layer ``at_once`` become one, so that each of its tiles comes once; other layers have a single
    tile, which stays in the array anyway. What reads nothing that comes of weights runs when something first needs it;
    other layers without weights as soon as their operands are there.
    """
    order = _Order(tasks, inferences)
    for step in map(whole, together(steps, at_once)):
        order.step(order.by_layer[step.layer], step.count)
    for task in tasks:
        order.run(task, inferences)
    return order.turns


@dataclass
class _Order:
    """``done``: for how many inferences each tensor is there."""

    tasks: Sequence[OperatorTask]
    inferences: int
    turns: list[Turn] = field(default_factory=list)
    done: Counter[int] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.by_layer = {task.layer: task for task in self.tasks}
        self.maker = {task.output.index: task for task in self.tasks}
        self.weightless = [task for task in self.tasks if not task.weighted]
        self.early: set[int] = set()
        """Layers that read nothing that comes of weights."""
        for task in self.weightless:
            if all(maker.layer in self.early for maker in self._makers(task)):
                self.early.add(task.layer)

    def _makers(self, task: OperatorTask) -> list[OperatorTask]:
        return [self.maker[tensor.index] for tensor in task.stored if tensor.index in self.maker]

    def step(self, task: OperatorTask, count: int) -> None:
        """Run a layer for some inferences more, and then what waits for nothing else."""
        self.run(task, self.done[task.output.index] + count)
        for behind in self.weightless:
            waits = [self.done[m.output.index] for m in self._makers(behind) if m.layer not in self.early]
            if behind.layer not in self.early:
                self.run(behind, min(waits))

    def run(self, task: OperatorTask, until: int) -> None:
        """Run a task until it is done for so many inferences, and first what it needs for that."""
        first = self.done[task.output.index]
        if until <= first:
            return
        for maker in self._makers(task):
            self.run(maker, until)
        self.turns.append(Turn(task, first, until - first, task.layer in self.early))
        self.done[task.output.index] = until
