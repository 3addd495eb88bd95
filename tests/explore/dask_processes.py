"""A real Dask cluster for tests: a scheduler and workers, each a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


class Processes:
    """A scheduler, and as many workers as are started."""

    def __init__(self, folder: Path, options: Sequence[str] = ()) -> None:
        self.folder, self._options = folder, options
        self.file = folder / "scheduler.json"
        self.workers: list[subprocess.Popen[bytes]] = []
        at = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--no-show")
        self.scheduler = self._started("scheduler", "--scheduler-file", str(self.file), *at, *options)
        latest = time.monotonic() + 30
        while not (self.file.is_file() and self.file.read_text().strip().endswith("}")):
            assert self.scheduler.poll() is None
            assert time.monotonic() < latest
            time.sleep(0.02)

    def add_worker(self, environment: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
        """One without a nanny: nobody starts it again."""
        words = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--memory-limit", "0", *self._options)
        words = ("--scheduler-file", str(self.file), *words, "--local-directory", str(self.folder))
        self.workers.append(self._started("worker", *words, environment=environment))
        return self.workers[-1]

    def end(self) -> None:
        for process in (*self.workers, self.scheduler):
            process.send_signal(signal.SIGKILL)
        for process in (*self.workers, self.scheduler):
            process.wait()

    def _started(self, what: str, *words: str, environment: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
        settings = {
            "PYTHONPATH": str(ROOT),
            "OPENBLAS_NUM_THREADS": "1",
            "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "0",
        }
        with (self.folder / f"{what}.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", f"distributed.cli.dask_{what}", *words],
                stdout=log,
                stderr=log,
                env={**os.environ, **settings, **(environment or {})},
            )


@contextmanager
def dask_cluster(folder: Path, workers: int = 2, options: Sequence[str] = ()) -> Iterator[Processes]:
    processes = Processes(folder, options)
    try:
        for _ in range(workers):
            processes.add_worker()
        yield processes
    finally:
        processes.end()
