"""Kills processes that save runs, at every step and at random moments, and looks at what they leave.

Usage: kill_saving.py KILLS FOLDER [--all] [--folders], or --crowd. Prints, as JSON, how many processes were killed at
``steps`` of saving and at ``random`` moments of it, how many folders then held the ``old`` run, the ``new`` one or were
``mixed``, and in how many anything was ``left`` after the next saving. Two runs are saved in turn, and each time a
process dies some steps later; with --all, either is killed at every step, also while it is saved into a new folder;
with --folders, each saving is of two runs, in folders of the folder, with a page beside them; with --crowd, several
processes save into one folder at once, and what is read there is counted instead. It forks, so it is a process of its
own.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from shutil import rmtree

import numpy as np

from tilesim import api
from tilesim.cli.saved_runs import Done, save, save_all
from tilesim.machines.host import random_inputs
from tilesim.machines.program import Program
from tilesim.report.document import load_run
from tilesim.run import FOLDER_FILES, Run
from tilesim.saving import all_or_nothing, undisturbed

Saved = dict[str, bytes]
STEPS = ("os.", "open", "shutil.")
"""How the names begin of what Python reports before it touches a file."""


def content(folder: Path) -> Saved:
    """What whoever reads the folder finds of a run, or of those in its folders."""
    names = [*FOLDER_FILES, "compare.html", *(f"{inner}/{name}" for inner in "ab" for name in FOLDER_FILES)]
    return {name: (folder / name).read_bytes() for name in names if (folder / name).exists()}


class Deaths:
    """Two runs, and what processes left that died while they replaced one by the other."""

    program = "program.tasm"
    apart = 2
    """So many steps later is the next one killed."""

    def __init__(self, folder: Path) -> None:
        network = api.load_network("digits")
        self.runs: list[tuple[Program, Run]] = []
        for clock, trace in (("100 MHz", True), ("200 MHz", False)):
            program = api.compile(network, api.load_topology("edge-1x1", {"clock_hz": clock}))
            self.runs.append((program, api.simulate(program, random_inputs(program.inputs), trace=trace)))
        self.expected = [self.saved(k, folder / f"expected{k}") for k in range(2)]
        self.folder = folder / "run"
        self.count: Counter[str] = Counter()

    def saved(self, number: int, folder: Path) -> Saved:
        self.write(number, folder)
        return content(folder)

    def save(self, number: int) -> None:
        self.write(number, self.folder)

    def write(self, number: int, folder: Path) -> None:
        save(Done(*self.runs[number]), folder)

    def fresh(self) -> None:
        """The folder of a run is not there."""
        if self.folder.exists():
            rmtree(self.folder)

    def look(self, old: int | None, new: int, loaded: bool = False) -> None:
        """Count what the dead left, then save once more and count what that left."""
        found = content(self.folder)
        if found == self.expected[new]:
            self.count["new"] += 1
        else:
            self.count["old" if found == ({} if old is None else self.expected[old]) else "mixed"] += 1
        if loaded and found:
            program = api.load_program(self.folder / self.program)
            run = load_run((self.folder / self.program).parent)
            assert run.statistics["clock_hz"] == program.topology.clock_hz
        self.save(new)
        files = [path for path in self.folder.rglob("*") if path.is_symlink() or not path.is_dir()]
        names = {path.relative_to(self.folder).as_posix() for path in files if not path.is_symlink()}
        tidy = len(files) == len(names) and names == {*self.expected[new]}
        self.count["left"] += not (tidy and content(self.folder) == self.expected[new])


class DeathsInFolders(Deaths):
    """The same of two runs at once, and their page; of the second pair the runs have changed places."""

    program, apart = "b/program.tasm", 7

    def write(self, number: int, folder: Path) -> None:
        first, second = (Done(*self.runs[k]) for k in (number, 1 - number))
        save_all({"a": first, "b": second}, f"page {number}", folder)


def die_at(step: int) -> None:
    """Have this process killed before it touches a file for the time ``step``."""
    seen = 0

    def count(event: str, _arguments: tuple[object, ...]) -> None:
        nonlocal seen
        if event.startswith(STEPS):
            seen += 1
            if seen == step:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)


def at_steps(deaths: Deaths, new: int, apart: int) -> None:
    """Processes die, each so many steps later than the last, until two live; they save the runs in turn."""
    deaths.save(1 - new)
    step, lives = 1, 0
    while lives < 2:
        lives = 0 if died(deaths, step, new) else lives + 1
        deaths.look(1 - new, new)
        step, new = step + apart, 1 - new


def at_every_first_step(deaths: Deaths) -> None:
    """As before, in a folder that is not there yet."""
    deaths.fresh()
    step = 1
    while died(deaths, step, 0):
        deaths.look(None, 0)
        deaths.fresh()
        step += 1


def died(deaths: Deaths, step: int, new: int) -> bool:
    """Whether a process died that saves the run ``new`` and is killed at ``step``."""
    child = os.fork()
    if not child:
        die_at(step)
        deaths.save(new)
        os._exit(0)
    dead = os.waitpid(child, 0)[1] == signal.SIGKILL
    deaths.count["steps"] += dead
    return dead


def at_random(deaths: Deaths, kills: int) -> None:
    """Processes that save die at moments that nobody chose."""
    rng = np.random.default_rng(0)
    deaths.save(0)
    start = time.perf_counter()
    deaths.save(0)
    typical_seconds = time.perf_counter() - start
    for k in range(kills):
        ready, tell = os.pipe()
        child = os.fork()
        if not child:
            os.write(tell, b".")
            deaths.save(1 - k % 2)
            time.sleep(60)
        os.read(ready, 1)
        time.sleep(rng.uniform(0, typical_seconds))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(ready)
        os.close(tell)
        deaths.count["random"] += 1
        deaths.look(k % 2, 1 - k % 2, loaded=True)


class Crowd:
    """Processes that save into one folder at once, and one that reads there."""

    names = tuple("abcde")

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "crowd"
        self.rng = np.random.default_rng(0)
        self.save("first", len(self.names))

    def save(self, text: str, files: int) -> None:
        with all_or_nothing(self.folder, self.names) as made:
            for name in self.names[:files]:
                (made / name).write_text(f"{text} of {files}")

    def whole(self) -> bool:
        with undisturbed(self.folder):
            found = [path.read_text() for path in map(self.folder.joinpath, self.names) if path.exists()]
        return len({*found}) == 1 and found[0].endswith(f" of {len(found)}")

    def writer(self) -> int:
        child = os.fork()
        while not child:
            for files in (5, 4, 3):
                self.save(str(os.getpid()), files)
        return child

    def kill_one(self, writers: list[int]) -> None:
        """One of ``writers`` dies at a random moment, and another takes its place."""
        time.sleep(self.rng.uniform(0, 0.03))
        child = writers.pop(self.rng.integers(len(writers)))
        os.kill(child, signal.SIGKILL)
        assert os.waitpid(child, 0)[1] == signal.SIGKILL
        writers.append(self.writer())


def in_a_crowd(kills: int, folder: Path) -> Counter[str]:
    """What a reader found while ``kills`` processes died, and what was left when the last had saved."""
    crowd, count = Crowd(folder), Counter(random=kills)
    writers = [crowd.writer() for _ in range(3)]
    for _ in range(kills):
        for _ in range(20):
            count["reads"] += 1
            count["mixed"] += not crowd.whole()
        crowd.kill_one(writers)
    for child in writers:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    crowd.save("last", 4)
    count["left"] += {path.name for path in crowd.folder.iterdir() if not path.is_symlink()} != {*"abcd"}
    return count


def main(kills: int, deaths: Deaths, every: bool) -> None:
    at_steps(deaths, 0, 1 if every else deaths.apart)
    if every:
        at_steps(deaths, 1, 1)
        at_every_first_step(deaths)
    at_random(deaths, kills)
    print(json.dumps({"mixed": 0, **deaths.count}))


if __name__ == "__main__":
    if "--crowd" in sys.argv:
        print(json.dumps({"mixed": 0, **in_a_crowd(int(sys.argv[1]), Path(sys.argv[2]))}))
    else:
        kind = DeathsInFolders if "--folders" in sys.argv else Deaths
        main(int(sys.argv[1]), kind(Path(sys.argv[2])), "--all" in sys.argv)
