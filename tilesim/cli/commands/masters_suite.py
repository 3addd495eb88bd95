"""``tilesim masters suite``: the transfers with known verdicts that come with tilesim."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from tilesim.api.masters import masters_suite
from tilesim.cli.output import JsonOption, QuietOption, tell, tell_json
from tilesim.cli.paths import must_be_folder, path_option
from tilesim.cli.progress import progress
from tilesim.machines.trial import Suite
from tilesim.printable import counted
from tilesim.saving import all_or_nothing, writing


def command(
    out: Annotated[
        Path | None,
        path_option("DIR", "Write the table, and each case as CASE.yaml and CASE.tasm, into DIR.", "-o", "--out"),
    ] = None,
    json_: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """List transfers with known verdicts, or write them.

    Others can try their own checkers and models with them. The table says of each case what is proven under each
    reading of the rule for masters, and of what is refuted which two transfers break it, with which start times, and in
    which cycle. `tilesim masters CASE` shows one.
    """
    suite = masters_suite()
    if out is not None:
        with progress(f"writing {out}", quiet):
            _write(suite, out)
    if json_:
        tell_json([{"case": case.name, "family": case.family, **case.verdicts} for case in suite.cases])
    elif out is None:
        from tilesim.report.masters import suite_table
        from tilesim.report.terminal import show

        show(suite_table(suite))
    elif not quiet:
        tell(f"{out}: suite.csv and {counted(len(suite.cases), 'case')}, each as .yaml and .tasm")


def _write(suite: Suite, folder: Path) -> None:
    must_be_folder(folder)
    with writing(folder, "suite"), all_or_nothing(folder) as made:
        (made / suite.table.name).write_bytes(suite.table.read_bytes())
        for case in suite.cases:
            for name, text in case.files().items():
                (made / name).write_text(text, encoding="utf-8", newline="\n")
