"""What a worker's process does: it takes tasks and gives rows, until the sweep that started it is no more."""

from __future__ import annotations

import gc
import io
import os
import pickle
import sys
from multiprocessing.connection import Connection
from queue import SimpleQueue
from threading import Thread

from tilesim.explore.bench.measure import Bench
from tilesim.explore.bench.task import Task
from tilesim.explore.running.sweeping import timed

YOUNG_OBJECTS = 100_000
"""Before they are searched for garbage, as in the program ``tilesim``."""


def work(connection: int, setup: int) -> None:
    """Run tasks for ever.

    Args:
        connection: a descriptor; tasks come from there, and go back as rows.
        setup: a descriptor of a file with what all workers of a sweep are given: how much memory, and the bench.
    """
    given = io.BytesIO(os.pread(setup, os.fstat(setup).st_size, 0))  # others read it at the same time
    os.close(setup)
    _bound(pickle.load(given))  # noqa: S301  (the sweep wrote it)
    bench: Bench = pickle.load(given)  # noqa: S301
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS)
    sweep: Connection = Connection(connection)
    tasks: SimpleQueue[Task] = SimpleQueue()
    Thread(target=_receive, args=(sweep, tasks), daemon=True).start()
    sweep.send(None)  # it is ready
    while True:
        sweep.send(timed(bench, tasks.get()))


def _receive(sweep: Connection, tasks: SimpleQueue[Task]) -> None:
    """Take tasks while another runs. When the sweep is no more, nobody wants that one either."""
    try:
        while True:
            tasks.put(sweep.recv())
    finally:
        os._exit(1)


def _bound(memory_bytes: int) -> None:
    """See to it that no more than so much memory can be had, where the system can do that."""
    if sys.platform != "win32":
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_DATA)
        allowed = memory_bytes if most == resource.RLIM_INFINITY else min(memory_bytes, most)
        resource.setrlimit(resource.RLIMIT_DATA, (allowed, most))
