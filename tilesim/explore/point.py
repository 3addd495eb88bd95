"""A point of a sweep: one network on one chip, compiled and run in one way."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tilesim.machines.policies import MIXED

Value = str | int | float | bool
"""What a key of a chip or an option may be."""


@dataclass(frozen=True)
class PointOptions:
    """What a point asks for beside its chip; each field is an axis that may be varied."""

    partition: str = MIXED
    """One of :data:`tilesim.machines.policies.CHOICES`."""
    cache: bool = True
    """Whether parameters stay in the tiles."""
    inferences: int = 1
    """How many inferences run, one after the other."""
    schedule: str = ""
    """One of :data:`tilesim.batching.SCHEDULES`, on a systolic machine; empty: whichever is fastest."""


@dataclass(frozen=True)
class Point:
    """A point, in the words of a command line."""

    model: str
    """A file, or a workload's name."""
    chip: str
    """A file, or the name of one that comes with tilesim."""
    settings: Mapping[str, Value] = field(default_factory=dict, hash=False)
    """Keys of the chip that are changed, dotted, ``grid`` spelt out."""
    options: PointOptions = PointOptions()

    @property
    def command(self) -> str:
        """What runs this point alone."""
        return shlex.join(["tilesim", "run", self.model, "-t", self.chip, *self._words()])

    def _words(self) -> Iterator[str]:
        for key, value in self.settings.items():
            yield from ("--set", f"{key}={spelt(value)}")
        options, default = self.options, PointOptions()
        if options.partition != default.partition:
            yield from ("--partition", options.partition)
        if not options.cache:
            yield "--no-cache"
        if options.inferences != default.inferences:
            yield from ("--inferences", str(options.inferences))
        if options.schedule:
            yield from ("--batch-schedule", options.schedule)


def spelt(value: Value) -> str:
    """As YAML spells it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
