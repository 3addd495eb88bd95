"""``scripts/differential``: compare tilesim with the reference runtimes on random small models, bit for bit."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich.text import Text

from scripts.differentials.formats import families, make
from scripts.differentials.table import counted, refusals
from scripts.differentials.verdict import CHIPS, Job, Outcome
from scripts.differentials.workers import outcomes
from tilesim.report.terminal import show


def main(words: Sequence[str]) -> int:
    """Run the jobs that the words ask for and print what came of them; 1 if any bit differs."""
    options = parsed(words)
    judged = []
    for outcome in outcomes(jobs(options), options.processes):
        judged.append(outcome)
        if outcome.wrong:
            show(Text(told(outcome)))
            keep(outcome, options.keep)
    show(*refusals(judged), counted(options.families, judged))
    return int(any(outcome.wrong for outcome in judged))


def parsed(words: Sequence[str]) -> argparse.Namespace:
    """The options; ends the process on wrong ones, and on --help."""
    known = families()
    parser = argparse.ArgumentParser(
        prog="scripts/differential",
        description="Compare tilesim with the reference runtimes on random small models, bit for bit. Exit status 1 "
        "if any differs.",
        epilog=f"Families: {', '.join(known)}.",
    )
    add = parser.add_argument
    add("families", nargs="*", metavar="FAMILY", help="only these; tflite and onnx stand for all of that format")
    add("--count", type=int, default=120, metavar="N", help="models of each family (%(default)s)")
    add("--seed", type=int, default=0, metavar="N", help="the seed of each family's first model (%(default)s)")
    add("--chip", type=float, default=0.1, metavar="SHARE", help="how many also run on a small chip (%(default)s)")
    add("--processes", type=int, default=os.cpu_count() or 1, metavar="N", help="side by side (%(default)s)")
    add("--keep", type=Path, metavar="FOLDER", help="where the model files go whose bits differ, with their inputs")
    options = parser.parse_args(words)
    if min(options.count, options.processes) < 1 or options.seed < 0:
        parser.error("count and processes must be at least 1, and the seed at least 0")
    strange = [word for word in options.families if not chosen(known, [word])]
    if strange:
        parser.error(f"there is no family {strange[0]}; there are {', '.join(known)}")
    options.families = chosen(known, options.families) if options.families else known
    return options


def chosen(known: Sequence[str], words: Sequence[str]) -> list[str]:
    """The families that words name, each or all of a format."""
    return [family for family in known if {family, family.partition("/")[0]} & set(words)]


def jobs(options: argparse.Namespace) -> list[Job]:
    """A job for each model; families take turns, so that processes have like shares."""
    seeds = range(options.seed, options.seed + options.count)
    return [Job(family, seed, chip(seed, options.chip)) for seed in seeds for family in options.families]


def chip(seed: int, share: float) -> str:
    """The chip that a model runs on, the same whenever it is made, or ``""``."""
    rng = np.random.default_rng([seed, len(CHIPS)])
    return str(rng.choice(CHIPS)) if rng.random() < share else ""


def told(outcome: Outcome) -> str:
    """What differs, and how to see it again."""
    job = outcome.job
    again = f"scripts/differential {job.family} --seed {job.seed} --count 1" + " --chip 1" * bool(outcome.on_chip)
    return f"{job.family}, seed {job.seed}: {outcome.chip_reason or outcome.reason}\n  again: {again}"


def keep(outcome: Outcome, folder: Path | None) -> None:
    """Write the model and its inputs into a folder, if there is one."""
    if folder is None:
        return
    case = make(outcome.job.family, outcome.job.seed)
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"{case.family.replace('/', '-')}-{case.seed}"
    (folder / f"{stem}{case.suffix}").write_bytes(case.model)
    np.savez(folder / f"{stem}.npz", allow_pickle=False, **case.inputs)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
