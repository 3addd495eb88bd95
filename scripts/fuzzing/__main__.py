"""``scripts/fuzz``: give tilesim damaged and hostile input, and say what it did not bear."""

from __future__ import annotations

import argparse
import shlex
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from scripts.fuzzing.corpus import corpus, models_folder
from scripts.fuzzing.kinds import KINDS
from scripts.fuzzing.table import table
from scripts.fuzzing.trial import Outcome, Plan, outcomes

SHOWN_WORDS = 300


def main(words: Sequence[str]) -> int:
    """Try the inputs, print the table; 1 if one of them failed or was not tried."""
    options = parsed(words)
    numbers = range(options.count) if options.only is None else range(options.only, options.only + 1)
    plan = Plan(
        options.seed, numbers, tuple(options.kinds), options.shell_every, options.minutes * 60,
        options.keep and options.keep.resolve(),
    )  # fmt: skip
    tried: list[Outcome] = []
    with tempfile.TemporaryDirectory(prefix="fuzz-corpus-") as folder:
        seeds = corpus(Path(folder), models_folder() if options.models else None)
    with suppress(KeyboardInterrupt):  # what was found until then is shown
        for outcome in outcomes(plan, seeds, options.processes):
            tried.append(outcome)
            if outcome.faults:
                print(said(outcome, options), flush=True)
            if len(tried) % 1000 == 0:
                print(f"{len(tried):,} of {len(numbers):,}", file=sys.stderr, flush=True)
    print(table(tried), end="")
    if len(tried) < len(numbers):
        print(f"only {len(tried):,} of {len(numbers):,} inputs were tried")
    return int(len(tried) < len(numbers) or any(outcome.faults for outcome in tried))


def parsed(words: Sequence[str]) -> argparse.Namespace:
    """The options; ends the process on wrong ones, and on --help."""
    parser = argparse.ArgumentParser(
        prog="scripts/fuzz",
        description="Give tilesim damaged and hostile files and words, each to a command in a process of its own. It "
        "must end with 0, 1, 2 or 3 within 20 s of the processor and 1 GiB, without a traceback or a control "
        "character, and leave nothing behind. A table says what became of them; --only repeats a failure.",
    )
    add = parser.add_argument
    add("--count", type=int, default=20_000, metavar="N", help="inputs (%(default)s)")
    add("--seed", type=int, default=0, metavar="N", help="which inputs (%(default)s)")
    add(
        "--kinds",
        nargs="+",
        choices=list(KINDS),
        default=list(KINDS),
        metavar="KIND",
        help="of what kinds: %(choices)s",
    )
    add("--processes", type=int, default=2, metavar="N", help="workers at a time (%(default)s)")
    add("--minutes", type=float, default=1e6, metavar="M", help="stop after so many, with status 1")
    add("--shell-every", type=int, default=33, metavar="N", help="which of them a shell starts (%(default)s; 0: none)")
    add("--only", type=int, metavar="NUMBER", help="only this input, as the others would have it")
    add("--keep", type=Path, metavar="DIR", help="keep the inputs that fail there")
    add("--no-models", dest="models", action="store_false", help="leave other people's models out of the corpus")
    return parser.parse_args(words)


def said(outcome: Outcome, options: argparse.Namespace) -> str:
    """A failure, and how to see it again."""
    line = f"tilesim {shlex.join(ascii(word)[1:-1] for word in outcome.words)}"
    shown = line if len(line) <= SHOWN_WORDS else f"{line[:SHOWN_WORDS]}..."
    kinds = "" if options.kinds == list(KINDS) else f" --kinds {' '.join(options.kinds)}"
    again = f"scripts/fuzz --seed {options.seed} --only {outcome.number}{kinds}"
    return "\n".join([f"{outcome.kind}: {shown}", *(f"  {fault}" for fault in outcome.faults), f"  again: {again}"])


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
