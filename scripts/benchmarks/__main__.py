"""``scripts/bench``: measure how fast tilesim simulates, beside what else computes or simulates the same networks."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from scripts.benchmarks.groups import GROUPS, Group, Settings
from scripts.benchmarks.measured import document
from scripts.benchmarks.processes import ROOT, Patience, as_installed, one_core
from scripts.benchmarks.table import goals, markdown
from tilesim.saving import all_or_nothing

PAGE = ROOT / "tilesim" / "guide" / "benchmarks.md"
README = ROOT / "README.md"
PLACE = re.compile(r"(?<=<!-- bench -->\n).*?(?=<!-- /bench -->)", re.DOTALL)


def main(words: Sequence[str]) -> int:
    """Measure, print the table and keep it with all numbers; 1 if outputs differ that must not."""
    options = parsed(words)
    one_core()
    as_installed()
    settings = Settings(options.models.resolve(), options.out.resolve(), say)
    patience = Patience(options.rounds, options.budget, options.limit)
    measured = document(chosen(options), settings, patience)
    table = markdown(measured)
    with all_or_nothing(options.out) as made:
        (made / "bench.json").write_text(json.dumps(measured, indent=2) + "\n", encoding="utf-8")
        (made / "bench.md").write_text(table, encoding="utf-8")
    if options.guide:
        for page, content in ((PAGE, table), (README, goals(measured))):
            page.write_text(rewritten(page.read_text(encoding="utf-8"), content), encoding="utf-8")
    print(table, end="")
    return int(not all(group["exact"] for group in measured["groups"]))


def parsed(words: Sequence[str]) -> argparse.Namespace:
    """The options; ends the process on wrong ones, and on --help."""
    parser = argparse.ArgumentParser(
        prog="scripts/bench",
        description="Measure how fast tilesim simulates, in fresh processes that take turns on one core. The table "
        "goes to the terminal and, with all numbers, into a folder.",
        epilog=f"Groups, in their order: {', '.join(GROUPS)}. Of them --quick takes {', '.join(_quick())}.",
    )
    models = Path(os.environ.get("TILESIM_MODELS") or ROOT.parent / "shared" / "models")
    add = parser.add_argument
    add("--quick", action="store_true", help="only the groups that take seconds, two rounds each")
    add(
        "--only",
        action="append",
        metavar="GROUP",
        choices=list(GROUPS),
        help="only this group; may stand several times",
    )
    add("--models", type=Path, default=models, metavar="FOLDER", help="where other people's models are (%(default)s)")
    add("--out", type=Path, default=ROOT / "out" / "bench", metavar="FOLDER", help="for bench.md, bench.json and what "
        "is made or installed on the way (%(default)s)")  # fmt: skip
    add("--rounds", type=_positive, metavar="N", help="how often each is measured (9)")
    add("--budget", type=float, default=180, metavar="SECONDS", help="no further round of a group after (%(default)s); "
        "what takes a tenth of that is run once")  # fmt: skip
    add("--limit", type=float, default=600, metavar="SECONDS", help="a process is ended after (%(default)s)")
    add("--guide", action="store_true", help="put the tables into the guide and README.md; a whole run only")
    options = parser.parse_args(words)
    if options.guide and (options.quick or options.only):
        parser.error("--guide must have a whole run, not --quick or --only")
    options.rounds = options.rounds or (2 if options.quick else 9)
    try:
        options.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        parser.error(f"--out must be a folder that can be written, not {options.out}: {error.strerror}")
    return options


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"must be a number from 1 up, not {text}")
    return int(text)


def _quick() -> list[str]:
    return [group.name for group in GROUPS.values() if group.quick]


def chosen(options: argparse.Namespace) -> list[Group]:
    """The groups that are asked for, in their order."""
    names = options.only or (_quick() if options.quick else list(GROUPS))
    return [group for group in GROUPS.values() if group.name in names]


def rewritten(text: str, table: str) -> str:
    """``text`` with the table between ``<!-- bench -->`` and ``<!-- /bench -->``."""
    return PLACE.sub(lambda _: table, text)


def say(what: str) -> None:
    """Progress, beside the table."""
    print(what, file=sys.stderr, flush=True)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
