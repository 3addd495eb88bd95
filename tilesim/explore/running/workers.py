"""Workers: processes that run tasks, warm, each with one thread and so much memory.

They are started as they are needed, and not with `multiprocessing`: that would run a user's script again in each, which
then begins a sweep of its own, and has no say in their environment.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from multiprocessing.connection import Pipe, wait
from signal import Signals
from subprocess import DEVNULL, Popen, TimeoutExpired
from tempfile import TemporaryFile
from typing import IO

from tilesim.errors import RunError
from tilesim.explore.bench.measure import Bench
from tilesim.explore.bench.task import Task
from tilesim.explore.running.sweeping import Group, Timed
from tilesim.printable import printable
from tilesim.units import format_bytes

MOST_DEATHS = 2
"""Workers that a point may cost."""
MOST_STILLBORN = 3
"""Workers that end one after the other before they can run anything."""
AHEAD = 2
"""Tasks that a worker has, so that it need not wait for the next."""
SPARED = 0.8
"""The part of the machine's memory that workers get together, if nobody says how much."""
LEAST_BYTES = 1 << 30
"""What a worker gets then, however many there are: what it asks for and never touches counts, too."""

_ONE_THREAD = dict.fromkeys(
    ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)
_START = """
import sys
connection, setup, *sys.path = sys.argv[1:]
from tilesim.explore.running.worker import work
work(int(connection), int(setup))
"""


def rows(groups: Iterable[Group], bench: Bench, count: int, memory_bytes: int | None = None) -> Iterator[Timed]:
    """Run tasks in so many processes of this machine.

    A task whose worker dies is given to another; if that dies too, its row says so. When the iterator is closed, or
    ends by an interrupt, so do the workers; if this process is killed, they end by themselves.

    Args:
        groups: the tasks; a group is taken when somebody can run it. A worker that has nothing to do gets half of what
            is left of another's.
        bench: what runs a task; it travels to each worker once.
        count: how many workers there are at most.
        memory_bytes: how much memory a worker may take; if not given, an equal part of the machine's.

    Raises:
        RunError: workers end before they can run anything.
    """
    with WorkerPool(bench, count, memory_bytes) as pool:
        yield from pool.rows(groups)


def fair_memory_bytes(count: int) -> int:
    """What each of ``count`` workers may take of the machine's memory."""
    return max(LEAST_BYTES, int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * SPARED / count))


class _Worker:
    """A process, and the tasks that it has: ``sent``, of which it runs the first, and the ``rest`` of its group."""

    def __init__(self, setup: IO[bytes]) -> None:
        with ExitStack() as undone:
            self._errors = undone.enter_context(TemporaryFile())
            self.connection, theirs = Pipe()
            undone.enter_context(self.connection)
            with theirs:
                self.process = _started(theirs.fileno(), setup.fileno(), self._errors)
            undone.pop_all()
        self.ready = False
        self.sent: deque[Task] = deque()
        self.rest: deque[Task] = deque()

    def send(self, task: Task) -> None:
        """If it is dead, that will be heard."""
        self.sent.append(task)
        with suppress(OSError):
            self.connection.send(task)

    def end(self) -> str:
        """How it ended, in words; if it has not, it is killed."""
        self.connection.close()
        try:
            status = self.process.wait(1.0)
        except TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        with self._errors:
            self._errors.seek(0)
            lines = self._errors.read().decode(errors="replace").strip().splitlines()
        how = f"by {_signal_name(-status)}" if status < 0 else f"with exit status {status}"
        return f"{how} ({printable(lines[-1])})" if lines else how


def _started(connection: int, setup: int, errors: IO[bytes]) -> Popen[bytes]:
    return Popen(  # noqa: S603  (this Python, with words of our own)
        [sys.executable, "-c", _START, str(connection), str(setup), *sys.path],
        pass_fds=(connection, setup),
        stdin=DEVNULL,
        stdout=DEVNULL,
        stderr=errors,
        env={**os.environ, **_ONE_THREAD},
        process_group=0,  # an interrupt from the keyboard is for the sweep, which then ends its workers
    )


def _signal_name(number: int) -> str:
    return next((known.name for known in Signals if known == number), f"signal {number}")


class WorkerPool:
    """Workers that stay warm from one sweep to the next; a context manager. The arguments are those of :func:`rows`."""

    def __init__(self, bench: Bench, count: int, memory_bytes: int | None = None) -> None:
        self._bench, self._count = bench, count
        self._memory_bytes = fair_memory_bytes(count) if memory_bytes is None else memory_bytes
        self._workers: list[_Worker] = []
        self._again: deque[Task] = deque()  # tasks of the dead
        self._deaths: defaultdict[str, list[str]] = defaultdict(list)  # of which workers a task has ended, how they did
        self._stillborn = 0
        self._setup = TemporaryFile()  # noqa: SIM115  (it is closed with the pool)
        for given in (self._memory_bytes, bench):
            pickle.dump(given, self._setup, pickle.HIGHEST_PROTOCOL)
        self._setup.flush()

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(self, *_: object) -> None:
        self._end(self._workers)
        self._setup.close()

    def rows(self, groups: Iterable[Group]) -> Iterator[Timed]:
        """Run tasks, as :func:`rows` does, but that workers with nothing to do wait for the next call."""
        source = iter(groups)
        try:
            while self._is_busy(source):
                heard = wait([worker.connection for worker in self._workers])
                for worker in [worker for worker in self._workers if worker.connection in heard]:
                    yield from self._heard(worker)
        finally:  # if nobody wants more rows, those that make some have to go
            self._end([worker for worker in self._workers if worker.sent or worker.rest])
            self._again.clear()

    def _end(self, workers: Sequence[_Worker]) -> None:
        for worker in workers:
            worker.process.kill()
        for worker in workers:
            worker.end()
        self._workers = [worker for worker in self._workers if worker not in workers]

    def _is_busy(self, source: Iterator[Group]) -> bool:
        """Give all workers something to do, as far as there is something; whether anybody has."""
        for worker in self._workers:
            while worker.ready and len(worker.sent) < AHEAD and self._has_next(worker, source):
                worker.send(worker.rest.popleft())
        while len(self._workers) < self._count and (tasks := self._more(source) or self._half(2)):
            try:
                worker = _Worker(self._setup)
            except OSError as error:
                raise RunError(f"no worker can be started: {error.strerror or error}") from None
            worker.rest += tasks
            self._workers.append(worker)
        return any(worker.sent or worker.rest for worker in self._workers)

    def _has_next(self, worker: _Worker, source: Iterator[Group]) -> bool:
        if not worker.rest:
            worker.rest += self._more(source) or ([] if worker.sent else self._half())
        return bool(worker.rest)

    def _more(self, source: Iterator[Group]) -> Sequence[Task]:
        """Tasks that nobody has."""
        return [self._again.popleft()] if self._again else next(source, ())

    def _half(self, least: int = 1) -> Sequence[Task]:
        """The second half of what the worker has that has most, if those are so many."""
        rest = max((worker.rest for worker in self._workers), key=len, default=deque[Task]())
        return [rest.pop() for _ in range((len(rest) + 1) // 2 if len(rest) >= least else 0)][::-1]

    def _heard(self, worker: _Worker) -> Iterator[Timed]:
        try:
            message: Timed | None = worker.connection.recv()
        except (EOFError, OSError):
            yield from self._mourned(worker)
            return
        if message:
            worker.sent.popleft()
            yield message
        else:
            worker.ready, self._stillborn = True, 0

    def _mourned(self, worker: _Worker) -> Iterator[Timed]:
        """Give the tasks of a dead worker to others, unless the one that it ran has cost too many."""
        self._workers.remove(worker)
        how = worker.end()
        if not worker.ready:
            self._stillborn += 1
            if self._stillborn == MOST_STILLBORN:
                memory = format_bytes(self._memory_bytes)
                raise RunError(f"no worker can be started with {memory} of memory: it ended {how}")
        elif worker.sent:
            task = worker.sent.popleft()
            deaths = self._deaths[task.key]
            deaths.append(how)
            if len(deaths) < MOST_DEATHS:
                self._again.append(task)
            else:
                yield Timed(self._bench.failed(task, f"the workers that ran it ended {', and '.join(deaths)}"), 0.0)
        self._again += [*worker.sent, *worker.rest]
