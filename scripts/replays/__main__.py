"""``scripts/replay``: digests of what tilesim makes of every workload on every chip, to see what a change changes."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from time import perf_counter

from scripts.replays.case import Case
from scripts.replays.cases import PACKAGE, Material, models_folder, quick
from scripts.replays.digests import Row
from scripts.replays.steps import replayed
from scripts.replays.table import changes, read, written


def main(words: Sequence[str]) -> int:
    """Replay the cases that the words ask for; 1 if any digest is another than before, or a case is gone."""
    options = parsed(words)
    every = Material(options.models).cases()
    cases = [case for case in every.values() if wanted(case, options)]
    if not cases:
        sys.exit("error: there is no such case; --list shows them all")
    if options.list:
        print("\n".join(case.name for case in cases))
        return 0
    rows = measured(cases, options)
    if options.out is not None:
        options.out.write_text(written(rows), "utf-8")
    elif options.before is None:
        print(written(rows), end="")
    return 0 if options.before is None else compared(options.before, rows, every)


def parsed(words: Sequence[str]) -> argparse.Namespace:
    """The options, with the rows of ``--against`` as ``before``; ends the process on wrong ones, and on --help."""
    parser = argparse.ArgumentParser(
        prog="scripts/replay",
        description="Digests of outputs, run.json, program, trace and texts for every workload on every chip, a row a "
        "case. Exit status 1 if any differs from those of --against.",
        epilog="Another checkout is measured by its own Python: OTHER/.venv/bin/python scripts/replay",
    )
    add = parser.add_argument
    add("--out", type=Path, metavar="FILE", help="where the rows go; else they are printed, but not with --against")
    add("--against", type=Path, metavar="FILE", help="rows of before: name the digests that changed")
    add("--only", action="append", metavar="PATTERN", help="cases whose names match, e.g. 'run/*/edge-2x2'")
    add("--quick", action="store_true", help="small ones, of each kind, in a minute")
    add("--models", type=Path, default=models_folder(), metavar="FOLDER", help="other people's models (%(default)s)")
    add("--processes", type=int, default=os.cpu_count() or 1, metavar="N", help="side by side (%(default)s)")
    add("--keep", type=Path, metavar="FOLDER", help="where what each case leaves stays, to compare the files")
    add(
        "--without",
        action="append",
        default=[],
        metavar="KEY",
        help="a key of run.json and other documents that is new, and is not to count",
    )
    add("--list", action="store_true", help="print the names, and do nothing")
    options = parser.parse_args(words)
    if options.processes < 1:
        parser.error("--processes must be at least 1")
    try:
        options.before = read(options.against) if options.against else None
    except (OSError, ValueError) as error:
        parser.error(str(error))
    return options


def wanted(case: Case, options: argparse.Namespace) -> bool:
    """Whether the options ask for a case."""
    matches = not options.only or any(fnmatchcase(case.name, pattern) for pattern in options.only)
    return matches and (quick(case) or not options.quick)


def measured(cases: Sequence[Case], options: argparse.Namespace) -> dict[str, Row]:
    """Each case's row, while the terminal hears how far it is."""
    rows: dict[str, Row] = {}
    begin = perf_counter()
    print(f"{len(cases)} cases of {PACKAGE}", file=sys.stderr)
    for done in replayed(cases, options.processes, options.keep, options.without):
        rows[done.case.name] = done.row
        print(f"{len(rows)}/{len(cases)}  {done.case.name}  {done.seconds:.1f} s", file=sys.stderr)
    print(f"{len(rows)} rows in {perf_counter() - begin:.0f} s", file=sys.stderr)
    return rows


def compared(before: Mapping[str, Row], rows: Mapping[str, Row], every: Mapping[str, Case]) -> int:
    """Say which digests changed, and which cases there are no more; 1 if there is any."""
    lines = [
        *changes(before, rows),
        *(f"{name}: there is no such case any more" for name in before.keys() - every.keys()),
    ]
    both = len(before.keys() & rows.keys())
    print(
        "\n".join([*lines, f"{both} rows compared, {len(lines)} changed; {len(rows.keys() - before.keys())} are new"])
    )
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
