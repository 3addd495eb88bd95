"""Inputs tried one after the other, by workers that share the numbers among them."""

from __future__ import annotations

import json
import os
import select
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, NoReturn

from scripts.fuzzing import process
from scripts.fuzzing.case import Case, Corpus
from scripts.fuzzing.judge import faults, listing
from scripts.fuzzing.kinds import case


@dataclass(frozen=True)
class Plan:
    """Which inputs: the numbers of a seed below ``count``, of these kinds, every ``shell_every``-th through the shell.

    ``seconds`` is when to stop, ``keep`` where inputs that failed are kept.
    """

    seed: int
    numbers: range
    kinds: tuple[str, ...]
    shell_every: int
    seconds: float
    keep: Path | None


@dataclass(frozen=True)
class Outcome:
    """What became of an input."""

    number: int
    kind: str
    words: tuple[str, ...]
    shell: bool
    status: int
    seconds: float
    resident_bytes: int
    faults: tuple[str, ...]


def tried(seed_case: Case, number: int, keep: Path | None = None) -> Outcome:
    """Run one case in a fresh folder."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as name:
        folder, temporary = Path(name) / "case", Path(name) / "tmp"
        folder.mkdir()
        temporary.mkdir()
        seed_case.write(folder)
        before = listing(folder)
        ended = process.run(seed_case.words, folder, seed_case.shell)
        wrong = faults(seed_case, ended, before, listing(folder), listing(temporary))
    if wrong and keep is not None:
        _keep(seed_case, ended, keep / f"{number}")
    return Outcome(
        number, seed_case.kind, seed_case.words, seed_case.shell, ended.status, ended.seconds, ended.resident_bytes,
        tuple(wrong),
    )  # fmt: skip


def _keep(seed_case: Case, ended: process.Ended, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    seed_case.write(folder)
    (folder / "words.json").write_text(json.dumps(seed_case.words), encoding="utf-8")
    (folder / "stdout").write_bytes(ended.stdout[:1_000_000])
    (folder / "stderr").write_bytes(ended.stderr[:1_000_000])


def outcomes(plan: Plan, corpus: Corpus, processes: int) -> Iterator[Outcome]:
    """What became of all inputs, as they end; workers fork from this process, with all that it has loaded."""
    _load()
    end = time.monotonic() + plan.seconds
    pipes = [_worker(plan, plan.numbers[k::processes], corpus, end) for k in range(processes)]
    yield from _received(pipes)
    for _ in pipes:
        os.wait()


def _load() -> None:
    """Import what most commands need, once."""
    import onnx  # noqa: F401
    import rich.table  # noqa: F401
    import tflite  # noqa: F401

    from tilesim.cli import COMMANDS, loaded

    for name in COMMANDS:
        loaded(name)


def _worker(plan: Plan, numbers: range, corpus: Corpus, end: float) -> IO[str]:
    """Start one; a line for each outcome comes out of the pipe."""
    read, write = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    if os.fork() == 0:
        os.close(read)
        with os.fdopen(write, "w", encoding="utf-8") as out:
            _work(plan, numbers, corpus, end, out)
    os.close(write)
    return os.fdopen(read, encoding="utf-8")


def _work(plan: Plan, numbers: range, corpus: Corpus, end: float, out: IO[str]) -> NoReturn:
    try:
        for number in numbers:
            if time.monotonic() > end:
                break
            made = case(plan.seed, number, plan.kinds, corpus)
            shell = plan.shell_every > 0 and number % plan.shell_every == 0
            outcome = tried(made.through_the_shell() if shell else made, number, plan.keep)
            print(json.dumps(asdict(outcome)), file=out, flush=True)
    except KeyboardInterrupt:
        pass
    except BaseException:  # noqa: BLE001  (it must not get into what this process was forked from)
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(0)


def _received(pipes: list[IO[str]]) -> Iterator[Outcome]:
    open_pipes = list(pipes)
    while open_pipes:
        for pipe in select.select(open_pipes, [], [])[0]:
            if line := pipe.readline():
                outcome = json.loads(line)
                yield Outcome(**{**outcome, "words": tuple(outcome["words"]), "faults": tuple(outcome["faults"])})
            else:
                open_pipes.remove(pipe)
                pipe.close()
