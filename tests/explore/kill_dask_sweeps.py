"""Kill sweeps and workers of a Dask cluster at moments that nobody chose: ``kill_dask_sweeps.py ROUNDS FOLDER``."""

from __future__ import annotations

import os
import sys
import time
from functools import partial
from pathlib import Path

import distributed  # noqa: F401  (before processes fork)

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from tests.explore import fakes  # noqa: E402
from tests.explore.dask_processes import Processes, dask_cluster  # noqa: E402
from tests.explore.kill_sweeps import POINTS, Rounds, lives  # noqa: E402
from tilesim.explore.rows.store import Store  # noqa: E402
from tilesim.explore.running import cluster  # noqa: E402
from tilesim.explore.running.sweeping import sweep  # noqa: E402

PATIENCE_SECONDS = 30.0


class DaskRounds(Rounds):
    """Sweeps of one store after the other, on one cluster, whose workers die too and are replaced."""

    def __init__(self, folder: Path, processes: Processes) -> None:
        super().__init__(folder)
        self.processes = processes

    def begin(self, path: Path) -> int:
        child = os.fork()
        if not child:
            status = 1
            try:
                bench = fakes.FakeBench(seconds=0.01, diary=path.with_suffix(".diary"))
                run = partial(cluster.rows, bench=bench, scheduler=str(self.processes.file))
                with Store(path) as store:
                    sweep(fakes.tasks(POINTS), store, run)
                status = 0
            finally:
                os._exit(status)
        return child

    def round(self) -> None:
        """A sweep, of which a worker may die, and which dies itself, unless it was faster."""
        before, process = self.runs(), self.begin(self.path)
        until = time.monotonic() + PATIENCE_SECONDS
        while self.rng.random() < 0.9 and self.runs() == before and lives(process) and time.monotonic() < until:
            time.sleep(0.01)
        time.sleep(self.rng.uniform(0, 0.5))
        if self.rng.random() < 0.5:
            doomed = self.processes.workers.pop(int(self.rng.integers(len(self.processes.workers))))
            doomed.kill()
            doomed.wait()
            self.processes.add_worker()
            self.count["workers"] += 1
            time.sleep(self.rng.uniform(0, 1.0))
        self.end(process)


def main(rounds: int, folder: Path) -> None:
    (folder / "cluster").mkdir()
    with dask_cluster(folder / "cluster") as processes:
        DaskRounds(folder, processes).tell(rounds)


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
