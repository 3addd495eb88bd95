"""Cases done in processes of their own, so that none leaves anything to the next."""

from __future__ import annotations

import io
import multiprocessing
import os
import re
import resource
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import redirect_stderr, redirect_stdout, suppress
from importlib.metadata import entry_points
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import NamedTuple

import numpy as np

import tilesim
from scripts.replays.case import Case, Step
from scripts.replays.digests import LEFT_OUT, Ended, Row, left

CONTEXT = multiprocessing.get_context("fork")

MOST_SECONDS = 1200
"""Of the processor, for a step: one that loops for ever is a row too."""

NEVER_WRAPPED = {"COLUMNS": "100000", "NO_COLOR": "1"}


class Done(NamedTuple):
    """A case's row, and how long it took."""

    case: Case
    row: Row
    seconds: float


def replayed(
    cases: Sequence[Case], processes: int, keep: Path | None = None, without: Iterable[str] = ()
) -> Iterator[Done]:
    """Each case's row, as they come, without some keys of documents; if ``keep`` is given, what they leave stays there,
    a folder a case.
    """
    left_out = LEFT_OUT.union(without)
    heaviest_first = sorted(cases, key=lambda case: -case.weight_bytes)
    with ProcessPoolExecutor(processes, CONTEXT, _warm_up) as pool:
        for done in as_completed([pool.submit(_done, case, keep, left_out) for case in heaviest_first]):
            yield done.result()


def _warm_up() -> None:
    """Import what every case would: they fork from here."""
    os.environ.update(NEVER_WRAPPED)
    command = _command()
    sys.argv = ["tilesim", "run", "pocket", "--topology", "pocket-2x1", "--json"]
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()), suppress(SystemExit):
        command()


def _command() -> Callable[[], None]:
    """The program ``tilesim`` of the install that is measured."""
    [point] = entry_points(group="console_scripts", name="tilesim")
    command: Callable[[], None] = point.load()
    return command


def _done(case: Case, keep: Path | None, left_out: frozenset[str]) -> Done:
    begin = perf_counter()
    with TemporaryDirectory() as temporary:
        folder = Path(temporary if keep is None else keep / case.name.replace("/", "_")).resolve()
        rmtree(folder, ignore_errors=True)  # what was kept of the run before is not what this one leaves
        folder.mkdir(parents=True)
        for name, path in case.files.items():
            (folder / name).write_bytes(path.read_bytes())
        row = left(folder, _ended(case, folder), left_out)
    return Done(case, row, perf_counter() - begin)


def _ended(case: Case, folder: Path) -> Ended:
    """The status of the steps, that of the first that fails, and what counts of what was said: errors, or JSON."""
    said = ""
    for step in case.steps:
        process = CONTEXT.Process(target=_step, args=(step, folder))
        process.start()
        process.join()
        printed, errors = ((folder / name).read_text("utf-8") for name in ("stdout", "stderr"))
        said = errors or printed if "--json" in step else errors
        if process.exitcode:
            return Ended(process.exitcode, said)
    return Ended(0, said)


def _step(step: Step, folder: Path) -> None:
    """Do a step, in a process of its own."""
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.chdir(folder)
    for number, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(os.open(name, os.O_CREAT | os.O_WRONLY | os.O_TRUNC), number)
    sys.stdout, sys.stderr = (open(number, "w", encoding="utf-8", closefd=False) for number in (1, 2))  # noqa: SIM115
    kind, *words = step
    doers: dict[str, Callable[..., None]] = {"tilesim": _through_command, "python": _through_python, "edit": _edit}
    doers[kind](*words)


def _through_command(*words: str) -> None:
    sys.argv = ["tilesim", *words]
    _command()()


def _through_python(network: str, chip: str) -> None:
    """The public calls, with inputs of their own: of pocket's shape."""
    program = tilesim.compile(
        tilesim.load_network(network), tilesim.load_topology(chip, overrides={"host.latency_cycles": 5})
    )
    inputs = (np.arange(64) * 37 % 256 - 128).astype(np.int8).reshape(1, 4, 4, 4)
    tilesim.simulate(program, inputs, trace=True).save("out")


def _edit(name: str, pattern: str, replacement: str) -> None:
    """Change the last place that a pattern matches in a program's text."""
    text = Path(name).read_text("utf-8")
    places = [*re.finditer(pattern, text)]
    if not places:
        sys.exit(f"{name} has no {pattern}")
    begin, end = places[-1].span()
    Path(name).write_text(text[:begin] + places[-1].expand(replacement) + text[end:], "utf-8")
