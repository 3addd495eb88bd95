"""``tilesim masters``: bare transfers of several masters, judged."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from tilesim.api.masters import try_masters
from tilesim.cli.faults import Faults, faults_of, told_with
from tilesim.cli.options.running import MastersOption
from tilesim.cli.output import JsonOption, QuietOption, tell, tell_json
from tilesim.cli.paths import must_be_free, path_option
from tilesim.cli.progress import progress
from tilesim.errors import InputError
from tilesim.machines.options import RunOptions
from tilesim.machines.trial import Trial
from tilesim.registry import machine_of
from tilesim.saving import all_or_nothing, writing

MEET = RunOptions.masters
PICTURES = (".png", ".svg")
UNPROVEN = 1
"""The exit status."""


def command(
    transfers: Annotated[
        str,
        typer.Argument(
            metavar="FILE_OR_CASE",
            help="A YAML file of transfers, or a case of the suite: see `tilesim masters suite`.",
            show_default=False,
        ),
    ],
    faults: Faults,
    masters: MastersOption = MEET,
    tasm: Annotated[Path | None, path_option("FILE.tasm", "Write the program that makes them.", "--tasm")] = None,
    png: Annotated[
        Path | None,
        path_option("FILE.png|.svg", "Draw who occupies which nodes when; needs matplotlib.", "--png"),
    ] = None,
    json_: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Try bare transfers of several masters on the ring.

    It says what is proven under each reading of the rule for masters; of what is refuted, which two transfers break the
    rule, with which start times and in which cycle; and shows who occupies which nodes of the ring when. --masters says
    which reading counts: a run that breaks it is shown. The exit status is 1 unless that is proven, and all else that
    `tilesim check` asks of the program.
    """
    faults += faults_of(
        lambda: _must_be_writable(tasm, Path(transfers)), lambda: _must_be_drawable(png, Path(transfers))
    )
    odd = [f"--{fault}" for fault in RunOptions(masters=masters).faults()]
    faults += odd
    with progress(f"trying {transfers}", quiet) as say:
        trial = told_with(faults, lambda: try_masters(transfers, MEET if odd else masters))
        if tasm is not None:
            _write(trial, tasm)
        if png is not None:
            from tilesim.report.figures.save import save_trial_figure

            say(f"drawing {png}")
            save_trial_figure(trial.document, png)
    if json_:
        tell_json(trial.document)
    else:
        _show(trial, tasm, quiet)
    if trial.verdict != "proven" or trial.document["others"]:
        raise typer.Exit(UNPROVEN)


def _must_be_writable(tasm: Path | None, read: Path) -> None:
    if tasm is not None:
        must_be_free(tasm, [read])
        if tasm.suffix != ".tasm":
            raise InputError(
                f"{tasm}: the file of a program's text must end in .tasm, not in {tasm.suffix or 'nothing'}"
            )


def _must_be_drawable(png: Path | None, read: Path) -> None:
    if png is not None:
        from tilesim.report.figures.save import must_have_matplotlib

        must_be_free(png, [read])
        if png.suffix not in PICTURES:
            raise InputError(f"{png}: a picture must end in {' or '.join(PICTURES)}, not in {png.suffix or 'nothing'}")
        must_have_matplotlib()


def _write(trial: Trial, path: Path) -> None:
    text = machine_of(trial.program.topology).assembly.write(trial.program)
    with writing(path, "program"), all_or_nothing(path.parent) as made:
        (made / path.name).write_text(text, encoding="utf-8", newline="\n")


def _show(trial: Trial, tasm: Path | None, quiet: bool) -> None:
    from tilesim.report.masters import trial_text
    from tilesim.report.terminal import columns, show

    show(trial_text(trial.document, columns()))
    if tasm is not None and not quiet:
        tell("", f"to see it run: {_command(trial, tasm)}")


def _command(trial: Trial, tasm: Path) -> str:
    """What runs the program as it is shown."""
    times = trial.document["picture"]["start_times"].items()
    holds = [word for label, cycle in times for word in ("--hold", f"{label}={cycle}")]
    reading = trial.document["reading"]
    strictly = [] if reading == MEET else ["--masters", reading]
    file = f"./{tasm}" if str(tasm).startswith("-") else str(tasm)  # which is no option
    return shlex.join(["tilesim", "run", file, "--rules", "observe", *strictly, *holds])
