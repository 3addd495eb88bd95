"""Small errors of timing, one in either model, and what the models say with them: a table that is easy to amend.

``numbers`` are those of random programs (:mod:`tests.tiled.corpus.programs`) of which at least one must tell. A new
line needs some: ``python -m tests.tiled.mutants`` looks for them, for all that have none.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_loader
from itertools import islice
from pathlib import Path
from types import CodeType
from typing import Any

import tilesim
from tests.tiled.corpus.programs import inputs_of, random_program
from tests.tiled.corpus.records import with_records
from tilesim.errors import ProgramError
from tilesim.machines import verify
from tilesim.tiled import machine

FIRST = 300
"""Programs among which numbers are looked for."""
PATIENCE_SECONDS = 2
PACKAGE = Path(tilesim.__file__).parent
SHARED = ("tilesim.tiled.isa", "tilesim.tiled.topology")
"""What both models share is never loaded anew."""


@dataclass(frozen=True)
class Mutant:
    """A file, below the package's ``tiled`` folder, and a text in it that becomes another one.

    ``records``: programs that have records tell. ``queues``: those of ring consumers that their chips have.
    """

    name: str
    file: str
    old: str
    new: str
    numbers: tuple[int, ...] = ()
    records: bool = False
    queues: int = 1

    @property
    def path(self) -> Path:
        return (PACKAGE / "tiled" / self.file).resolve()

    @property
    def module(self) -> str:
        return ".".join(self.path.relative_to(PACKAGE.parent).with_suffix("").parts)

    @property
    def steps(self) -> bool:
        """Whether it is one of the stepped model."""
        return self.file.startswith("stepped/")

    def source(self) -> str:
        """The changed text of its file.

        Raises:
            LookupError: the file has no such text any more, or has it twice.
        """
        text = self.path.read_text(encoding="utf-8")
        if text.count(self.old) != 1:
            raise LookupError(
                f"{self.name}: {self.file} must have once, not {text.count(self.old)} times: {self.old!r}"
            )
        return text.replace(self.old, self.new)


class _Loader(SourceFileLoader):
    """Loads a mutant in place of what is in its file."""

    def __init__(self, mutant: Mutant) -> None:
        super().__init__(mutant.module, str(mutant.path))
        self._source = mutant.source()

    def get_code(self, _fullname: str) -> CodeType:
        return compile(self._source, self.path, "exec")


class _Finder(MetaPathFinder):
    def __init__(self, mutant: Mutant) -> None:
        self._mutant, self._loader = mutant, _Loader(mutant)

    def find_spec(self, fullname: str, _path: Any, _target: Any = None) -> ModuleSpec | None:
        return spec_from_loader(fullname, self._loader) if fullname == self._mutant.module else None


@contextmanager
def at_large(mutant: Mutant) -> Iterator[None]:
    """Let the machine have the mutant in place of one of its two models."""
    names = dict(vars(tilesim.tiled))
    modules = {name: module for name, module in sys.modules.items() if _is_anew(name, mutant)}
    finder = _Finder(mutant)
    for name in modules:
        del sys.modules[name]
        vars(tilesim.tiled).pop(name.removeprefix("tilesim.tiled."), None)
    sys.meta_path.insert(0, finder)
    try:
        import_module("tilesim.tiled.stepped" if mutant.steps else "tilesim.tiled.run.event_driven")
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if _is_anew(name, mutant)]:
            del sys.modules[name]
        sys.modules.update(modules)
        vars(tilesim.tiled).update(names)


def _is_anew(name: str, mutant: Mutant) -> bool:
    """Whether a module is loaded anew with a mutant: all of its model."""
    if mutant.steps:
        return name.startswith("tilesim.tiled.stepped")
    kept = ("tilesim.tiled.stepped", "tilesim.tiled.machine", *SHARED)
    return name.startswith(("tilesim.tiled.", "tilesim.sim")) and not name.startswith(kept)


def tells(number: int, mutant: Mutant) -> bool:
    """Whether the models, as they are now, differ on a random program of those that tell of a mutant."""
    program = random_program(number, queues=mutant.queues)
    program = with_records(program, number) if mutant.records else program
    inputs = inputs_of(program)
    event = verify.event_result(machine.Tiled(), program, inputs)
    return bool(verify.differences(event, machine.Tiled().step(program, inputs, trace=False)))


def _search(mutant: Mutant, numbers: range) -> Iterator[int]:
    with at_large(mutant):
        for number in numbers:
            signal.alarm(PATIENCE_SECONDS)
            try:
                if tells(number, mutant):
                    yield number
            except (ProgramError, TimeoutError):
                continue
            finally:
                signal.alarm(0)


def _give_up(*_: object) -> None:
    raise TimeoutError


MUTANTS = (
    Mutant(
        "ring hop",
        "stepped/ring.py",
        "cycle + self._hop_cycles, replace",
        "cycle + self._hop_cycles + 1, replace",
        (1, 2, 5),
    ),
    Mutant(
        "ring credits",
        "stepped/ring.py",
        "self.credits = ring.hop_cycles + 1",
        "self.credits = ring.hop_cycles",
        (5, 7, 13),
    ),
    Mutant(
        "injection before forwarding",
        "stepped/ring.py",
        "        self._pass_on()\n",
        "        self.outgoing and self.credits or self._pass_on()\n",
        (56, 67, 72),
    ),
    Mutant(
        "ring credit a cycle late",
        "stepped/ring.py",
        "self.credits += self._returned\n        self._returned = 0",
        "self.credits += getattr(self, '_late', 0)\n        self._late, self._returned = self._returned, 0",
        (5, 7, 14),
    ),
    Mutant(
        "strict comparison",
        "stepped/core.py",
        "self.counts[flag] > expected if",
        "self.counts[flag] >= expected if",
        (6, 10, 16),
    ),
    Mutant(
        "FIFO place a cycle early",
        "stepped/core.py",
        "self._freed_in < self._clock.cycle else 0)",
        "True else 0)",
        (2, 8, 10),
    ),
    Mutant(
        "bus register depth",
        "stepped/instruction_bus.py",
        "Fifo(clock, bus.hop_cycles + 1)",
        "Fifo(clock, bus.hop_cycles + 2)",
        (2, 8, 10),
    ),
    Mutant(
        "bus hop", "stepped/instruction_bus.py", "put(delivery, hop_cycles)", "put(delivery, hop_cycles + 1)", (0, 1, 2)
    ),
    Mutant(
        "fences let others pass",
        "stepped/instruction_bus.py",
        "while not self._look_at_fence():",
        "while False:",
        (9, 13, 17),
    ),
    Mutant(
        "broadcast without the whole",
        "stepped/instruction_bus.py",
        "for _ in range(delivery.words):\n                yield BUSY\n            if copies",
        "for _ in range(1 if delivery.then else delivery.words):\n                yield BUSY\n            if copies",
        (0, 2, 5),
    ),
    Mutant(
        "sub-instruction with all its words",
        "stepped/controller.py",
        "op.words - 1 if self._announced",
        "op.words if self._announced",
        (0, 1, 2),
        records=True,
    ),
    Mutant(
        "record without an end",
        "stepped/controller.py",
        "else max(self._announced - 1, 0)",
        "else self._announced",
        (0, 1, 2),
        records=True,
    ),
    Mutant(
        "record of one sub-instruction",
        "units/control/controller.py",
        "self._parts = max(0, self._parts - 1)",
        "self._parts = 0",
        (0, 1, 2),
        records=True,
    ),
    Mutant("dispatch a cycle late", "stepped/controller.py", "buffer.put(op, 1)", "buffer.put(op, 2)", (5, 7, 8)),
    Mutant("scalar fence takes all", "stepped/controller.py", "self.fences -= op.count", "self.fences = 0", (153, 287)),
    Mutant(
        "data memory rate",
        "stepped/infeed.py",
        "ceil(self._row_bytes / topology",
        "1 + int(self._row_bytes / topology",
        (5, 9, 13),
    ),
    Mutant(
        "infeed's turn",
        "stepped/infeed.py",
        "while self.passed[self._stop.channel] < op.turn:",
        "while self.passed[self._stop.channel] + 1 < op.turn:",
        (63, 123, 137),
    ),
    Mutant("host queue", "stepped/host.py", "QUEUED_ROWS = 8", "QUEUED_ROWS = 7", (5, 15, 62)),
    Mutant(
        "host latency",
        "stepped/host.py",
        "self._clock.cycle + self._latency_cycles",
        "self._clock.cycle + self._latency_cycles - 1",
        (11, 38, 41),
    ),
    Mutant("a row buffer less", "stepped/copy_engine.py", "ROW_BUFFERS = 2", "ROW_BUFFERS = 1", (10, 16, 19)),
    Mutant("a row buffer more", "stepped/copy_engine.py", "ROW_BUFFERS = 2", "ROW_BUFFERS = 3", (25, 101, 151)),
    Mutant("mesh credits", "stepped/mesh.py", "< self._room_bytes", "<= self._room_bytes", (2, 7, 26)),
    Mutant(
        "mesh hop",
        "stepped/mesh.py",
        "+ self._mesh.hop_cycles, beat",
        "+ self._mesh.hop_cycles + 1, beat",
        (2, 6, 7),
    ),
    Mutant("fill words", "stepped/mesh.py", "FILL_WORDS = 2", "FILL_WORDS = 1", (0, 3, 5)),
    Mutant(
        "priority of DMAs",
        "stepped/tile.py",
        "to_wide,\n            to_narrow,\n            self.tensor",
        "to_narrow,\n            to_wide,\n            self.tensor",
        (440, 547),
    ),
    Mutant(
        "tensor control first",
        "stepped/tile.py",
        "to_wide,\n            to_narrow,\n            self.tensor",
        "self.tensor,\n            to_wide,\n            to_narrow",
        (0, 6, 10),
    ),
    Mutant(
        "ring producer last",
        "stepped/tile.py",
        "self.producer.claim()\n        for engine in self.by_priority:\n"
        "            if engine.unfinished:\n                engine.arbitrate()",
        "for engine in self.by_priority:\n            if engine.unfinished:\n                engine.arbitrate()\n"
        "        self.producer.claim()",
        (28, 112, 137),
    ),
    Mutant(
        "one pass for 8 by 16 bits",
        "stepped/mac_array.py",
        "passes = (op.widths[0] // 8) * (op.widths[1] // 8)",
        "passes = op.widths[0] // 8",
        (13, 32, 43),
    ),
    Mutant(
        "one register of sums of 64 bits",
        "stepped/tensor_control.py",
        "(2 if 16 in op.widths else 1)",
        "1",
        (7, 46, 52),
    ),
    Mutant(
        "results of 16 bits in half the words (event)",
        "units/tensor/decoder.py",
        "lanes * op.output_type.bytes // memories",
        "lanes // memories",
        (13, 24, 32),
    ),
    Mutant("two wide ports", "stepped/memory.py", "Port(topology.wide_memory.ports)", "Port(2)", (0, 2, 3)),
    Mutant(
        "output FIFO depth",
        "stepped/tensor_control.py",
        ">= self.tile.topology.tile.output_fifo_groups",
        "> self.tile.topology.tile.output_fifo_groups",
        (0, 1, 5),
    ),
    Mutant("no interlock", "stepped/tensor_control.py", "return HAZARD if any(", "return '' if any(", (2, 3, 10)),
    Mutant(
        "extra reads share a cycle",
        "stepped/tensor_control.py",
        "if group.extras or (self._extra and not memories.wide_port.free):",
        "if group.extras:",
        (10, 24, 30),
    ),
    Mutant(
        "multiplier latency", "stepped/engine.py", "if self._fill_cycles:\n", "if self._fill_cycles > 1:\n", (0, 2, 3)
    ),
    Mutant("shared queue in disorder", "stepped/engine.py", "self.shares_with.op is None and", "", (63, 94, 283)),
    Mutant(
        "classifier rate",
        "stepped/classifier.py",
        "op.elements * self._topology",
        "op.rows * self._topology",
        (5, 7, 13),
    ),
    Mutant(
        "ring commits last",
        "stepped/ring_consumer.py",
        "self.memories.wide_port.take()\n        self._row = row",
        "self._row = row",
        (16, 17, 34),
    ),
    Mutant(
        "channel B first (event)",
        "units/ring/node_link.py",
        "for each in self.stops:",
        "for each in reversed(self.stops):",
        (2, 6, 7),
        queues=2,
    ),
    Mutant(
        "both channels on a link",
        "stepped/ring.py",
        "if left and (self.link.kind == BUSY or not self.credits):",
        "if left and not self.credits:",
        (2, 14, 28),
        queues=2,
    ),
    Mutant(
        "commits of both channels at once",
        "stepped/ring_consumer.py",
        "if self._will_commit() and self._clashes(",
        "if False and self._clashes(",
        (2, 6, 31),
        queues=2,
    ),
    Mutant(
        "one commit with two ports (event)",
        "units/ring/ring_commits.py",
        "return self._shares and self._cycles",
        "return self._cycles",
        (84,),
        queues=2,
    ),
    Mutant(
        "tails of either channel",
        "stepped/ring_producer.py",
        "(Flag.RING_PRODUCER_A, Flag.RING_PRODUCER_B)",
        "(Flag.RING_PRODUCER_A, Flag.RING_PRODUCER_A)",
        (13, 105, 107),
        queues=2,
    ),
    Mutant(
        "the infeed's tails of either channel (event)",
        "units/host/infeed.py",
        'Channel.B: "tails_b"',
        'Channel.B: "tails"',
        (41, 78, 111),
        queues=2,
    ),
    Mutant(
        "a credit of the other channel",
        "stepped/chip.py",
        "zip(ring, [ring[-1], *ring], strict=False)",
        "zip(ring, [self.rings[0][-1], *self.rings[0]], strict=False)",
        (0, 2, 5),
        queues=2,
    ),
    Mutant(
        "no stall of a link for channel B (event)",
        "units/ring/node_link.py",
        "self.poke(self.free - now)",
        "pass",
        (2, 7, 17),
        queues=2,
    ),
    Mutant("host queue (event)", "units/host/host.py", "QUEUED_ROWS = 8", "QUEUED_ROWS = 9", (5, 15, 62)),
    Mutant("row buffers (event)", "units/dma/copy_engine.py", "ROW_BUFFERS = 2", "ROW_BUFFERS = 3", (11, 25, 38)),
    Mutant(
        "priority of DMAs (event)",
        "units/memories.py",
        "return Slot(self.ports[port], rank)",
        "return Slot(self.ports[port], rank + (rank == 11) - (rank == 12))",
        (440, 547, 597),
    ),
    Mutant(
        "ring credits (event)",
        "units/ring/ring.py",
        "self._places = topology.ring.hop_cycles + 1",
        "self._places = topology.ring.hop_cycles + 2",
        (7, 66, 68),
    ),
    Mutant(
        "ring credit early (event)",
        "units/ring/ring.py",
        "self._freed.append(self._clock.cycle + self.row_cycles)",
        "self._freed.append(self._clock.cycle + self.row_cycles - 1)",
        (68, 161, 209),
    ),
    Mutant(
        "bus depth (event)",
        "units/control/instruction_bus.py",
        "[0] * (hop_cycles + 1)",
        "[0] * hop_cycles",
        (2, 8, 10),
    ),
    Mutant(
        "multiplier latency (event)",
        "units/ttu.py",
        "return self.tile.multiplier_cycles if",
        "return self.tile.multiplier_cycles + 1 if",
        (0, 2, 3),
    ),
    Mutant(
        "classifier rate (event)",
        "units/classifier.py",
        "looks * self._cycles_per_element",
        "(looks + 1) * self._cycles_per_element",
        (5, 7, 13),
    ),
)

if __name__ == "__main__":
    signal.signal(signal.SIGALRM, _give_up)
    for each in MUTANTS:
        if not each.numbers:
            told = list(islice(_search(each, range(FIRST)), 3))
            sys.stdout.write(f"{each.name}: {told}\n")
            sys.stdout.flush()
