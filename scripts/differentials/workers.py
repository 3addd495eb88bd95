"""Jobs in processes of their own: a runtime that dies takes nothing with it but the model that it died of."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import TypeAlias

from scripts.differentials.verdict import Job, Outcome, judged

CONTEXT = multiprocessing.get_context("fork")

Waiting: TypeAlias = dict[Connection, tuple[BaseProcess, Sequence[Job]]]
"""By where its outcomes come from: each process, and what is left for it to do."""


def outcomes(jobs: Sequence[Job], processes: int) -> Iterator[Outcome]:
    """What comes of each job, as it comes; one whose process died is ``different``."""
    waiting: Waiting = {}
    for k in range(processes):
        _start(waiting, jobs[k::processes])
    while waiting:
        for results in wait(list(waiting)):
            assert isinstance(results, Connection)
            process, left = waiting.pop(results)
            try:
                yield results.recv()
                waiting[results] = process, left[1:]
            except EOFError:
                process.join()
                if left:
                    yield Outcome(left[0], "different", f"its process ended with {process.exitcode}")
                    _start(waiting, left[1:])


def _start(waiting: Waiting, jobs: Sequence[Job]) -> None:
    ours, theirs = CONTEXT.Pipe(duplex=False)
    process = CONTEXT.Process(target=_work, args=(jobs, theirs), daemon=True)
    process.start()
    theirs.close()
    waiting[ours] = process, jobs


def _work(jobs: Sequence[Job], results: Connection) -> None:
    for job in jobs:
        results.send(judged(job))
