"""A worker's process: rows for tasks, with so much memory, as long as the sweep is there."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from subprocess import DEVNULL, Popen
from tempfile import TemporaryFile

from tests.explore import fakes

START = "import sys; from tilesim.explore.running.worker import work; work(int(sys.argv[1]), int(sys.argv[2]))"
ROOT = Path(__file__).resolve().parents[3]
MIB = 1 << 20
PATIENCE_SECONDS = 60.0


@contextmanager
def worker(bench: fakes.FakeBench, memory_bytes: int = 4000 * MIB) -> Iterator[tuple[Connection, Popen[bytes]]]:
    """A worker that is ready, and what its sweep hears it with."""
    ours, theirs = Pipe()
    with TemporaryFile() as setup:
        for given in (memory_bytes, bench):
            pickle.dump(given, setup)
        setup.flush()
        words = [sys.executable, "-c", START, str(theirs.fileno()), str(setup.fileno())]
        process = Popen(words, pass_fds=(theirs.fileno(), setup.fileno()), cwd=ROOT, stderr=DEVNULL)
    theirs.close()
    try:
        assert ours.poll(PATIENCE_SECONDS)
        assert ours.recv() is None
        yield ours, process
    finally:
        ours.close()
        process.kill()
        process.wait()


def test_tasks_become_rows_in_their_order() -> None:
    with worker(fakes.FakeBench(refuses=frozenset({3}))) as (sweep, _):
        for number in (5, 3, 1):
            sweep.send(fakes.task(number))
        found = [sweep.recv() for _ in range(3)]
    assert [row for row, _ in found] == [fakes.row(5), fakes.row(3, "refused", "too small"), fakes.row(1)]
    assert all(seconds >= 0 for _, seconds in found)


def test_it_ends_with_its_sweep_even_in_the_middle_of_a_task() -> None:
    with worker(fakes.FakeBench(seconds=600.0)) as (sweep, process):
        sweep.send(fakes.task(1))
        sweep.close()
        assert process.wait(PATIENCE_SECONDS) == 1


def test_it_has_no_more_memory_than_it_may_take() -> None:
    with worker(fakes.FakeBench(eats_bytes={1: 3000 * MIB, 2: 10 * MIB}), 2000 * MIB) as (sweep, _):
        for number in (1, 2):
            sweep.send(fakes.task(number))
        assert [sweep.recv().row["status"] for _ in range(2)] == ["failed", "ran"]
