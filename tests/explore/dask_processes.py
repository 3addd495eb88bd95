"""A real Dask cluster for tests: a scheduler and workers, each a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


class Processes:
    """A scheduler, and as many workers as are started.

    Args:
        folder: for their files.
        deaths: workers that a task may cost before Dask gives it up.
    """

    def __init__(self, folder: Path, deaths: int = 4) -> None:
        self.folder = folder
        self._environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "OPENBLAS_NUM_THREADS": "1",
            "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": str(deaths - 1),
        }
        self.file = folder / "scheduler.json"
        self.workers: list[subprocess.Popen[bytes]] = []
        at = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--no-show")
        self.scheduler = self._started("scheduler", *at)
        latest = time.monotonic() + 30
        while not (self.file.is_file() and self.file.read_text().strip().endswith("}")):
            assert self.scheduler.poll() is None
            assert time.monotonic() < latest
            time.sleep(0.02)

    def add_worker(self) -> subprocess.Popen[bytes]:
        """One more, which nobody starts again."""
        at = ("--nthreads", "1", "--no-dashboard", "--memory-limit", "0", "--local-directory", str(self.folder))
        self.workers.append(self._started("worker", "--no-nanny", *at))
        return self.workers[-1]

    def end(self) -> None:
        for process in (*self.workers, self.scheduler):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _started(self, what: str, *words: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"{what}.log").open("ab") as log:
            return subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    f"distributed.cli.dask_{what}",
                    "--scheduler-file",
                    self.file,
                    *words,
                ],
                stdout=log,
                stderr=log,
                env=self._environment,
                process_group=0,
            )


@contextmanager
def dask_cluster(folder: Path, workers: int = 2, deaths: int = 4) -> Iterator[Processes]:
    processes = Processes(folder, deaths)
    try:
        for _ in range(workers):
            processes.add_worker()
        yield processes
    finally:
        processes.end()
