"""Kill sweeps and workers at moments that nobody chose, and count what is left: ``kill_sweeps.py ROUNDS FOLDER``."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from functools import partial
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from tests.explore import fakes  # noqa: E402
from tilesim.explore.rows import export  # noqa: E402
from tilesim.explore.rows.store import Store  # noqa: E402
from tilesim.explore.running import workers  # noqa: E402
from tilesim.explore.running.sweeping import alone, sweep  # noqa: E402

POINTS = 120
PATIENCE_SECONDS = 60.0


def begin(path: Path, count: int = 2, seconds: float = 0.004) -> int:
    """The id of a process that sweeps, in a group of its own."""
    child = os.fork()
    if not child:
        os.setpgid(0, 0)
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have all that it starts ignore it
        status = 1
        try:
            bench = fakes.FakeBench(seconds=seconds, diary=path.with_suffix(".diary"))
            with Store(path) as store:
                sweep(fakes.tasks(POINTS), store, partial(workers.rows, bench=bench, count=count))
            status = 0
        except KeyboardInterrupt:
            status = 130
        finally:
            os._exit(status)
    return child


def workers_of(sweep_id: int) -> list[int]:
    """The workers among a process's children, which may have others: a browser, for tests."""
    try:
        children = [int(word) for word in Path(f"/proc/{sweep_id}/task/{sweep_id}/children").read_text().split()]
    except OSError:
        return []
    return [child for child in children if is_worker(child)]


def is_worker(process: int) -> bool:
    try:
        return "tilesim.explore.running.worker" in Path(f"/proc/{process}/cmdline").read_text()
    except OSError:
        return False


def lives(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def orphans(processes: list[int]) -> int:
    """How many of the processes are there after a while."""
    until = time.monotonic() + PATIENCE_SECONDS
    while any(map(lives, processes)) and time.monotonic() < until:
        time.sleep(0.01)
    return sum(map(lives, processes))


def kill(process: int) -> None:
    if lives(process):
        os.kill(process, signal.SIGKILL)


class Rounds:
    """Sweeps of one store after the other, each killed and begun again until all is done."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.rng = folder, np.random.default_rng(0)
        self.count = Counter(lost=0, wrong=0, orphans=0, differ=0, left=0)
        with Store(folder / "undisturbed.db") as store:
            sweep(fakes.tasks(POINTS), store, partial(alone, bench=fakes.FakeBench()))
            self.expected = export.csv(store.rows())
        self.written: set[str] = set()
        self.stores = 0
        self.path = folder / "0.db"

    def round(self) -> None:
        """A sweep whose workers may die, and which dies, unless it was faster."""
        before = self.runs()
        process = begin(self.path, 1 + self.count["sweeps"] % 2)
        if self.rng.random() < 0.8:  # the others die as they start
            while self.runs() == before and lives(process):
                time.sleep(0.01)
        time.sleep(self.rng.uniform(0, 0.3))
        running = workers_of(process)
        if running and self.rng.random() < 0.5:
            for worker in running if self.rng.random() < 0.3 else running[:1]:
                kill(worker)
                self.count["workers"] += 1
            time.sleep(self.rng.uniform(0, 0.3))
            running += workers_of(process)
        self.end(process)
        self.count["orphans"] += orphans(running)

    def end(self, process: int) -> None:
        """Kill a sweep, unless it was faster, and see what it has left."""
        kill(process)
        self.count["sweeps"] += os.waitpid(process, 0)[1] == signal.SIGKILL
        self.look()

    def begin(self, path: Path) -> int:
        """A process that sweeps."""
        return begin(path)

    def runs(self) -> int:
        """How often a point has begun."""
        diary = self.path.with_suffix(".diary")
        return len(diary.read_bytes().splitlines()) if diary.exists() else 0

    def look(self) -> None:
        """Whether all that was written is there, once, and right."""
        if not self.path.exists():
            return
        with Store(self.path, reading=True) as store:
            rows = store.rows()
        keys = {row["key"] for row in rows}
        self.count["lost"] += len(self.written - keys)
        self.count["wrong"] += sum(row != fakes.row(int(row["key"], 16)) for row in rows)
        self.written = keys
        if len(keys) == POINTS:
            self.finish()

    def finish(self) -> None:
        """Let what is left be done undisturbed, and begin another store."""
        with Store(self.path):
            pass  # the last sweep may have been killed before there was a table
        with closing(sqlite3.connect(self.path)) as database, database:
            database.execute("DELETE FROM runs WHERE key LIKE '%7'")
        process = self.begin(self.path)
        self.count["differ"] += os.waitpid(process, 0)[1] != 0
        with Store(self.path) as store:
            self.count["differ"] += export.csv(store.rows()) != self.expected
        self.count["stores"] += 1
        self.count["left"] += len([*self.folder.glob(f"*{self.path.name}*")]) - 1
        self.path, self.written = self.folder / f"{self.count['stores']}.db", set()

    def tell(self, rounds: int) -> None:
        """Go through so many rounds, and print what was counted."""
        for _ in range(rounds):
            self.round()
        self.finish()
        print(json.dumps(self.count))


def told_by(script: str, rounds: int, folder: Path) -> dict[str, int]:
    """What one of the scripts here counts in so many rounds."""
    words = [sys.executable, ROOT / "tests" / "explore" / script, str(rounds), folder]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    count: dict[str, int] = json.loads(done.stdout)
    return count


if __name__ == "__main__":
    Rounds(Path(sys.argv[2])).tell(int(sys.argv[1]))
