"""A bench whose rows cost next to nothing, and tasks for it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tilesim.explore.bench.task import Task
from tilesim.explore.point import Point
from tilesim.explore.row import Measures, Row, Status


def task(number: int, program: str = "") -> Task:
    """A task whose row says its ``number``."""
    point = Point("net", "chip", {"tile.lanes": number})
    return Task(f"{number:08x}", point, None, "", program or f"program {number % 7}")


def tasks(count: int) -> list[Task]:
    return [task(number) for number in range(count)]


def row(number: int, status: Status = "ran", reason: str = "") -> Row:
    return {
        "key": f"{number:08x}",
        "sources": "today's",
        "network": "net",
        "topology": "chip",
        "machine": "tiled",
        "chip": {"tile.lanes": number},
        "options": {"partition": "spatial"},
        "area": {"macs": 0.5},
        "command": f"tilesim run net -t chip --set tile.lanes={number}",
        "status": status,
        "reason": reason,
        "measures": measures(number) if status == "ran" else None,
    }


def measures(number: int) -> Measures:
    breakdown = {"busy": number / 3, "idle": number - number / 3}
    return {
        "tiles": 4,
        "macs": 8 * number,
        "cycles": number,
        "load_cycles": 7,
        "latency_us": number / 500,
        "throughput_per_second": 5e8 / (number + 1),
        "energy_pj": number / 7,
        "mac_utilisation": 1 / (number + 1),
        "bound_by": "busy",
        "breakdown": breakdown,
        "bytes": {"ring": 3 * number},
        "peak_bytes": {"narrow": number},
        "outputs_sha256": f"{number:064x}",
        "layers": [
            {
                "name": "conv",
                "kind": "Conv2D",
                "tiles": 4,
                "parameters": "tiles",
                "breakdown": breakdown,
                "energy_pj": 0.1,
            }
        ],
    }


@dataclass(frozen=True)
class FakeBench:
    """Rows of :func:`row`, after a while, with accidents."""

    seconds: float = 0.0
    exits: frozenset[int] = frozenset()
    """Numbers whose process ends."""
    kills: frozenset[int] = frozenset()
    """Numbers whose process is killed."""
    raises: frozenset[int] = frozenset()
    """Numbers that end in a traceback."""
    eats_bytes: Mapping[int, int] = field(default_factory=dict)
    """Memory that numbers take."""
    refuses: frozenset[int] = frozenset()
    diary: Path | None = None
    """A file that each number is written to when it runs, with the process it ran in."""

    def row(self, task: Task) -> Row:
        number = int(task.key, 16)
        self._write(number)
        time.sleep(self.seconds)
        if number in self.exits:
            os._exit(3)
        if number in self.kills:
            os.kill(os.getpid(), signal.SIGKILL)
        if number in self.raises:
            raise ValueError("odd")
        try:
            bytearray(self.eats_bytes.get(number, 0))
        except MemoryError:
            return self.failed(task, "too much")
        return row(number, "refused", "too small") if number in self.refuses else row(number)

    def failed(self, task: Task, reason: str) -> Row:
        return row(int(task.key, 16), "failed", reason)

    def _write(self, number: int) -> None:
        if self.diary:
            with self.diary.open("a") as file:
                file.write(f"{number} {os.getpid()}\n")


@dataclass(frozen=True)
class EnvironmentBench(FakeBench):
    """Rows that say what a variable of the environment is."""

    variable: str = ""

    def row(self, task: Task) -> Row:
        return self.failed(task, os.environ.get(self.variable, ""))
