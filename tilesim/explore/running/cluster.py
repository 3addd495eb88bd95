"""Workers of a Dask cluster, wherever they are, with the same tilesim.

Each is given one piece of a group at a time, as a task of Dask, so that one that dies is known to have run it. The
networks are the result of a task too: Dask brings that to each worker once, and makes it again where all who had it are
gone, which it can't do with data that a client scatters.
"""

from __future__ import annotations

import asyncio
import json
import logging
import pickle
import sys
import time
import warnings
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from itertools import chain, islice
from math import inf
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock
from typing import Protocol

from tilesim.errors import InputError, RunError, refuse
from tilesim.explore.bench.digests import sources_digest
from tilesim.explore.bench.measure import Bench
from tilesim.explore.bench.task import Task
from tilesim.explore.running.sweeping import Group, Timed, timed
from tilesim.files import read_text
from tilesim.printable import counted

CONNECT_SECONDS = 10.0
"""How long one waits for an answer."""
PATIENCE_SECONDS = 60.0
"""How long one waits for a worker when there is none."""
TICK_SECONDS = 1.0
"""How often one looks which workers there are."""
PIECE_SECONDS = 1.0
"""How long a piece is to take: what a worker has run of it is lost with the worker."""
LARGEST_PIECE = 16
LARGEST_FILE_BYTES = 1 << 20
"""Of a scheduler file."""

Identity = tuple[str, str]
"""What must be the same on a worker as here: the digest of tilesim's sources, and the version of Python."""


class Future(Protocol):
    """A task of Dask, as far as it is used; Dask itself says no types."""

    key: str

    def result(self, timeout: float) -> Sequence[Timed]: ...

    def add_done_callback(self, heard: Callable[[Future], None]) -> None: ...


class Client(Protocol):
    """A connection to a scheduler, as far as it is used."""

    status: str

    def submit(self, call: Callable[..., object], *values: object, **where: object) -> Future: ...

    def cancel(self, futures: Sequence[Future]) -> None: ...

    def run(self, call: Callable[[], Identity], on_error: str) -> Mapping[str, Identity | Exception]: ...

    def nthreads(self) -> Mapping[str, int]: ...

    def wait_for_workers(self, count: int, timeout: float) -> None: ...

    def close(self, timeout: float) -> None: ...


def must_have_dask() -> None:
    """Raises InputError where it is not installed."""
    if find_spec("distributed") is None:
        raise InputError("clusters are run by Dask, which is not installed: pip install tilesim[sweep]")


def rows(groups: Iterable[Group], bench: Bench, scheduler: str) -> Iterator[Timed]:
    """Run tasks on the workers of a Dask cluster.

    A task whose worker dies is given to another; if workers go on to die of it until Dask gives it up, its row says so.
    When the iterator is closed, or ends by an interrupt, what is queued is taken back.

    Args:
        groups: the tasks; a group is taken when somebody can run it. A worker that has nothing to do gets half of what
            is left of another's.
        bench: what runs a task; it travels once.
        scheduler: its address, ``tcp://HOST:PORT`` or ``tls://HOST:PORT``, or its scheduler file.

    Raises:
        InputError: Dask is not there, no scheduler answers, it has no worker, or one with another tilesim or Python.
        RunError: the scheduler goes away, or all workers do.
    """
    source = iter(groups)
    for first in islice(source, 1):  # without any, nobody is called
        with Cluster(bench, scheduler) as cluster:
            yield from cluster.rows(chain([first], source))


class Cluster:
    """A connection to a scheduler; a context manager.

    Args:
        bench: what runs a task.
        scheduler: an address, or a file.

    Raises:
        InputError: as :func:`rows`.
    """

    def __init__(self, bench: Bench, scheduler: str) -> None:
        must_have_dask()
        self._bench, self._scheduler = bench, scheduler
        self._workers: dict[str, _Worker] = {}  # by their addresses
        self._looked_seconds = -inf
        self._running: dict[Future, _Worker] = {}
        self._ended: SimpleQueue[Future] = SimpleQueue()
        self._again: deque[Sequence[Task]] = deque()  # what the dead have left
        with ExitStack() as held:
            held.enter_context(_quiet())
            self._client = held.enter_context(_connected(scheduler))
            _must_be_usable(self._client, scheduler)
            self._theirs = self._submitted(SharedBench, pickle.dumps(bench))
            self._held = held.pop_all()

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()

    def rows(self, groups: Iterable[Group]) -> Iterator[Timed]:
        """The rows of all tasks, as they come."""
        source = iter(groups)
        try:
            while self._is_busy(source):
                with suppress(Empty):
                    yield from self._heard(self._ended.get(timeout=TICK_SECONDS))
        finally:
            self._take_back()

    def _is_busy(self, source: Iterator[Group]) -> bool:
        """Give all workers something to do, as far as there is something; whether anybody has."""
        self._look()
        for address, worker in self._workers.items():
            if worker.piece or len(self._running) >= len(self._workers):  # what the dead had runs among the living
                continue
            worker.rest += () if worker.rest else self._more(source)
            if worker.rest:
                self._send(worker, address)
        return bool(self._running)

    def _more(self, source: Iterator[Group]) -> Sequence[Task]:
        """Tasks that nobody has, or half of those of who has most."""
        return (self._again.popleft() if self._again else next(source, ())) or self._half()

    def _half(self) -> Sequence[Task]:
        rest = max((worker.rest for worker in self._workers.values()), key=len, default=deque[Task]())
        return [rest.pop() for _ in range((len(rest) + 1) // 2)][::-1]

    def _send(self, worker: _Worker, address: str) -> None:
        begin = (self._theirs, worker.begun(), sources_digest())
        self._await(self._submitted(run_piece, *begin, workers=[address], allow_other_workers=True), worker)

    def _submitted(self, call: Callable[..., object], *values: object, **where: object) -> Future:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)  # the networks go this way once
            return self._client.submit(call, *values, **where, pure=False)

    def _await(self, future: Future, worker: _Worker) -> None:
        self._running[future] = worker
        future.add_done_callback(self._ended.put)

    def _heard(self, future: Future) -> Iterator[Timed]:
        """The rows of a piece that has ended, in one way or another."""
        from distributed import CancelledError, KilledWorker

        worker = self._running.pop(future)
        try:
            found = future.result(CONNECT_SECONDS)
        except OSError:  # it went with who had it, and runs again
            self._await(future, worker)
        except KilledWorker as error:
            deaths = error.allowed_failures + 1
            if error.task != future.key:
                raise RunError(f"{self._scheduler}: {deaths} workers have died of loading the networks") from None
            yield from self._killed(worker, deaths)
        except CancelledError:
            raise self._gone() from None
        except InputError:
            raise
        except Exception as error:  # noqa: BLE001  (whatever keeps a worker from running anything)
            raise RunError(f"{self._scheduler}: a worker can't run points: {error}") from None
        else:
            worker.ended(found)
            yield from found

    def _killed(self, worker: _Worker, deaths: int) -> Iterator[Timed]:
        """Of several tasks each runs alone, as nobody knows which it was that ended those workers."""
        piece, worker.piece = worker.piece, ()
        if len(piece) > 1:
            self._again += [[task] for task in piece]
        else:
            reason = f"it ended {counted(deaths, 'worker')}, with nothing else on them"
            yield from (Timed(self._bench.failed(task, reason), 0.0) for task in piece)

    def _look(self) -> None:
        """See now and then which workers there are, and take what is left of those that are gone."""
        if time.monotonic() < self._looked_seconds + TICK_SECONDS and self._workers:
            return
        latest_seconds = time.monotonic() + PATIENCE_SECONDS
        while not (addresses := self._addresses()):
            if time.monotonic() > latest_seconds:
                raise RunError(f"{self._scheduler}: the scheduler has had no worker for {PATIENCE_SECONDS:.0f} s")
            time.sleep(TICK_SECONDS)
        self._again += (left.rest for address, left in self._workers.items() if left.rest and address not in addresses)
        self._workers = {address: self._workers.get(address, _Worker()) for address in addresses}
        self._looked_seconds = time.monotonic()

    def _addresses(self) -> list[str]:
        with suppress(OSError):
            if self._client.status == "running":
                return sorted(self._client.nthreads())
        raise self._gone()

    def _gone(self) -> RunError:
        return RunError(f"{self._scheduler}: the scheduler is gone; the same sweep goes on when there is one")

    def _take_back(self) -> None:
        """Leave nothing that is queued."""
        with suppress(OSError):
            if self._running and self._client.status == "running":
                self._client.cancel([*self._running])
        self._running, self._ended, self._workers = {}, SimpleQueue(), {}
        self._again.clear()


@dataclass
class _Worker:
    """What a worker has: the piece that it runs, if any, and the rest of its group."""

    piece: Sequence[Task] = ()
    rest: deque[Task] = field(default_factory=deque)
    seconds: float = inf
    """What a task of its last piece took."""

    def begun(self) -> Sequence[Task]:
        """The next piece."""
        count = max(1, min(LARGEST_PIECE, len(self.rest), int(PIECE_SECONDS / max(self.seconds, 1e-3))))
        self.piece = [self.rest.popleft() for _ in range(count)]
        return self.piece

    def ended(self, found: Sequence[Timed]) -> None:
        self.piece, self.seconds = (), sum(timed.seconds for timed in found) / len(found)


class SharedBench:
    """A bench on a worker, which may have several threads: one of them runs tasks at a time."""

    def __init__(self, pickled: bytes) -> None:
        self._bench: Bench = pickle.loads(pickled)  # noqa: S301  (of the client, whose code runs here anyway)
        self._lock = Lock()

    def __reduce__(self) -> tuple[type[SharedBench], tuple[bytes]]:
        return SharedBench, (pickle.dumps(self._bench),)

    def rows(self, tasks: Sequence[Task]) -> list[Timed]:
        with self._lock:
            return [timed(self._bench, task) for task in tasks]


def run_piece(bench: SharedBench, tasks: Sequence[Task], sources: str) -> list[Timed]:
    """On a worker: the rows of some tasks. Raises InputError: it has other sources than the client."""
    refuse(f"a worker that has come {fault}" for fault in strange(whoami(), (sources, whoami()[1])))
    return bench.rows(tasks)


def whoami() -> Identity:
    return sources_digest(), "{}.{}".format(*sys.version_info)


def strange(theirs: Identity, ours: Identity) -> Iterator[str]:
    """What keeps a worker from giving the rows that one would get here."""
    if theirs[1] != ours[1]:
        yield f"must have Python {ours[1]}, as here, not {theirs[1]}"
    elif theirs[0] != ours[0]:
        yield "must have the same tilesim as here: its sources differ"


def _must_be_usable(client: Client, scheduler: str) -> None:
    """Raises InputError: there is no worker, or there are such as can't be used."""
    try:
        client.wait_for_workers(1, PATIENCE_SECONDS)
        answers = client.run(whoami, on_error="return")
    except OSError:
        raise InputError(
            f"{scheduler}: the scheduler must have workers: dask worker {scheduler} --nthreads 1 starts one"
        ) from None
    whose = defaultdict(list)
    for address, answer in answers.items():
        for fault in [str(answer)] if isinstance(answer, Exception) else strange(answer, whoami()):
            whose[fault].append(address)
    refuse(f"{scheduler}: the worker {_named(addresses)} {fault}" for fault, addresses in whose.items())


def _named(addresses: Sequence[str]) -> str:
    first, *others = addresses
    return f"{first}, as {len(others)} others," if others else first


@contextmanager
def _connected(scheduler: str) -> Iterator[Client]:
    """A client; TLS is as Dask is configured."""
    address = scheduler if "://" in scheduler else _address(Path(scheduler))
    with ThreadPoolExecutor(1) as elsewhere:  # a notebook has a loop of its own
        kind = elsewhere.submit(asyncio.run, _kind(scheduler, address)).result()
    if kind != "Scheduler":
        raise InputError(f"{scheduler}: must be the address of a scheduler, not of a {kind.lower()}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # versions are compared by us
        client: Client = import_module("distributed").Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    try:
        yield client
    finally:
        client.close(CONNECT_SECONDS)


async def _kind(scheduler: str, address: str) -> str:
    """Who is at an address: a client that is refused there would go on trying, even when the program ends."""
    core, security = import_module("distributed.core"), import_module("distributed.security").Security()
    try:
        async with core.rpc(
            address, timeout=CONNECT_SECONDS, connection_args=security.get_connection_args("client")
        ) as there:
            return str((await asyncio.wait_for(there.identity(), CONNECT_SECONDS))["type"])
    except Exception as fault:  # noqa: BLE001  (whatever is there that is no scheduler)
        raise InputError(f"{scheduler}: no scheduler of Dask answers: {str(fault) or 'it says nothing'}") from None


def _address(path: Path) -> str:
    """What a scheduler file says."""
    if not path.exists():
        raise InputError(f"{path}: must be the address of a scheduler, such as tcp://host:8786, or its scheduler file")
    with suppress(ValueError, KeyError, TypeError):
        return str(json.loads(read_text(path, LARGEST_FILE_BYTES, InputError))["address"])
    raise InputError(f"{path}: must be a scheduler file, as dask scheduler --scheduler-file writes it")


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep Dask from writing what it does: what matters is said in sentences."""
    loggers = [logging.getLogger(name) for name in ("distributed", "distributed.client")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
