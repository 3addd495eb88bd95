"""How a network is to be compiled and a program to be run: one object each, handed down to the machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from tilesim.batching import Plan
from tilesim.machines.policies import CACHE, PARTITION, CachePolicy, PartitionPolicy
from tilesim.printable import unknown
from tilesim.run import Look, unwatched
from tilesim.sim.trace.packets import PacketSeen
from tilesim.sim.trace.recorder import Recording, is_window

Say: TypeAlias = Callable[[str], None]
"""Is told what is being tried."""

RULES = ("strict", "observe")
"""What becomes of transfers that meet on a ring, and of accesses that nothing orders: they end the run, or keep it from
beginning; or it goes on and says so. Where there is no ring, both say the same.
"""


MASTERS = ("single", "disjoint", "meet")
"""What two masters of a ring must not do: be under way at once, be so past a node in common, or meet."""


ENGINES = ("auto", "compiled", "simpy")
"""Who runs a program: a machine's compiled engine for what it covers, else its units on SimPy; or one of these."""


def silent(_what: str) -> None:
    """Nobody listens."""


@dataclass(frozen=True)
class CompileOptions:
    """How networks that share a chip are to be compiled: how layers are spread over its tiles, whose parameters stay in
    them, of which inferences a systolic machine makes batches.
    """

    partition: PartitionPolicy = PARTITION
    cache: CachePolicy = CACHE
    batches: Plan | None = None
    say: Say = field(default=silent, compare=False, repr=False)


@dataclass(frozen=True)
class RunOptions:
    """How a program is to be run; :func:`tilesim.simulate` explains each.

    ``holds`` delays the issue of instructions: cycles, counted from the start of a section, before which an instruction
    must not begin, by label, or by label, ``@`` and tile. ``instant``: labels of transfers that take no time, or
    patterns of such. ``signals``: the cycles of the run for the state log. ``on_packet`` hears of every packet at every
    stop of a ring. ``engine``: who runs it.
    """

    keep_tensors: bool = False
    recording: Recording | None = None
    rules: str = "strict"
    masters: str = "meet"
    engine: str = "auto"
    holds: Mapping[str, int] = field(default_factory=dict, hash=False)
    instant: tuple[str, ...] = ()
    signals: range | None = None
    on_start: Callable[[Look], None] = field(default=unwatched, compare=False, repr=False)
    on_packet: Callable[[PacketSeen], None] | None = field(default=None, repr=False)

    def faults(self) -> Iterator[str]:
        """What is wrong with its words."""
        if self.rules not in RULES:
            yield f"rules {unknown(self.rules, RULES)}"
        if self.masters not in MASTERS:
            yield f"masters {unknown(self.masters, MASTERS)}"
        if self.engine not in ENGINES:
            yield f"engine {unknown(self.engine, ENGINES)}"
        if self.signals is not None and not (is_window(self.signals) and self.signals.start >= 0):
            yield f"signals must be a range of cycles, such as range(1000, 2000), not {self.signals!r}"
