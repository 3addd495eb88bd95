"""``tilesim check``: what can be proven of a program before it runs."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from tilesim import api
from tilesim.api.files import must_be_program
from tilesim.assembly import BINARY
from tilesim.cli.faults import Faults, faults_of
from tilesim.cli.options.chip import ChipOptions
from tilesim.cli.options.compilation import CompilationOptions
from tilesim.cli.options.groups import given, spelt
from tilesim.cli.options.models import MODEL_FILES, distinct, is_program
from tilesim.cli.options.running import MastersOption
from tilesim.cli.output import JsonOption, QuietOption, tell, tell_json
from tilesim.cli.paths import files_of_model, must_be_free, path_option
from tilesim.cli.programs import programs_of, read_sources
from tilesim.cli.progress import progress
from tilesim.cli.proofs import proof_lines, suggestion_lines, tell_judgement
from tilesim.errors import refuse
from tilesim.machines.machine import Document, Proves
from tilesim.machines.options import RunOptions
from tilesim.printable import counted

MEET = RunOptions.masters
REFUTED = 1
"""The exit status."""

ModelsArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="MODEL_OR_PROGRAM",
        help=f"{MODEL_FILES}; or a .tasm or .tbin file. Several models share one chip.",
        show_default=False,
    ),
]


def command(
    chips: ChipOptions,
    compilation: CompilationOptions,
    faults: Faults,
    models: ModelsArgument = None,
    masters: MastersOption = MEET,
    suggest: Annotated[
        bool,
        typer.Option(
            "--suggest", help="Of a program that is refuted, look for the smallest wait or fence that mends it."
        ),
    ] = False,
    output: Annotated[Path | None, path_option("FILE", "Where the mended program goes.", "--output", "-o")] = None,
    ring_trace: Annotated[
        Path | None,
        path_option(
            "FILE.csv",
            "Instead of a program, judge packets on a ring that were recorded elsewhere: a line a packet a stop, with "
            "the columns cycle, node, master, transfer and tail.",
        ),
    ] = None,
    json_: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Prove that programs keep to the chip's rules.

    Or show how they can break them. What is proven holds whatever the delays; of what is refuted, start times are shown
    with which it was seen to happen in a run. The rule for masters of the ring has three readings: all are told,
    --masters says which one counts. The exit status is 1 if anything that counts is refuted. Models are compiled
    together, as `tilesim run` does it; programs must fit beside them, and beside one another, as they are.
    """
    models = models or []
    faults += _misused(models, [*given(chips, compilation)], suggest, output, ring_trace)
    masters_faults = [f"--{fault}" for fault in RunOptions(masters=masters).faults()]
    if ring_trace is not None or not models:
        refuse([*faults, *masters_faults])
    if ring_trace is not None:
        kept_to = tell_judgement(api.judge(ring_trace, masters), json_)
        raise typer.Exit(0 if kept_to else REFUTED)
    with progress(f"checking {', '.join(models)}", quiet) as say:
        sources = read_sources(models, chips, [compilation], faults, Proves)
        refuse([*faults, *masters_faults])
        ready = iter(sources.programs)
        made = iter(programs_of(sources, compilation, say)[0] if sources.named else [])
        programs = [next(ready if is_program(model) else made) for model in models]
        names = distinct(models, [program.name for program in programs])
        called = [
            program if program.name == name else replace(program, name=name)
            for program, name in zip(programs, names, strict=True)
        ]
        checked = api.check(called, masters, say)
        suggestion = api.suggest(programs[0], masters, say) if suggest else None
        if suggestion is not None and suggestion.mended is not None and output is not None:
            api.save_program(suggestion.mended, output)
    if json_:
        more = {} if suggestion is None else {"suggestion": suggestion.document}
        tell_json({**checked.document(), **more})
    else:
        options = spelt(chips, compilation)
        for model, proof in zip(models, checked.programs, strict=True):
            file = f"./{model}" if model.startswith("-") else model  # which is no option
            run = shlex.join(["tilesim", "run", file, *([] if is_program(model) else options)])
            reproducible = model.isprintable() and (is_program(model) or len(models) == 1)
            verdict, *others = _lines(run if reproducible else "", proof)
            is_named = len(models) == 1 or proof["program"] == model
            tell(f"{model}: {verdict}" if is_program(model) and not is_named else verdict, *others)
        for sentence in checked.together:
            tell(f"refuted (parameters): {sentence}")
        if suggestion is not None:
            tell(*suggestion_lines(suggestion.document, output))
    if not checked.proven:
        raise typer.Exit(REFUTED)


def _misused(
    models: Sequence[str], options: Sequence[str], suggest: bool, output: Path | None, ring_trace: Path | None
) -> Iterator[str]:
    """What does not go together."""
    if ring_trace is not None:
        others = [*models, *options, *(["--suggest"] if suggest else []), *(["--output"] if output else [])]
        if others:
            yield f"--ring-trace must be given without {', '.join(others)}: the file alone is judged"
        return
    if not models:
        yield "a model or a program must be given, or --ring-trace"
    if suggest and len(models) > 1:
        yield f"--suggest must be given with one model or program, not {len(models)}"
    if output is not None and not suggest:
        yield "--output must be given with --suggest: it is where the mended program goes"
    if output is not None:
        yield from faults_of(lambda: must_be_program(output))
        for path in [output, *([] if output.suffix == BINARY else [output.with_suffix(".npz")])]:
            yield from faults_of(
                partial(must_be_free, path, [file for model in models for file in files_of_model(model)])
            )


def _lines(command: str, proof: Document) -> Iterator[str]:
    yield from proof_lines(proof)
    for refutation in proof["refutations"]:
        yield f"refuted ({refutation['rule']}): {refutation['sentence']}"
        if "start_times" in refutation:
            yield f"  {_sight(command, proof['reading'], refutation)}"


def _sight(command: str, reading: str, refutation: Document) -> str:
    """With what it was seen, or how little was seen."""
    what, doing_so = ("meet", "meet") if reading == MEET else ("under way at once", "be under way at once")
    if refutation["start_times"] is None:
        if refutation["runs"]:
            return f"nothing orders them, but in {counted(refutation['runs'], 'run')} they were not seen to {doing_so}"
        return f"no run was made to see them {what}"
    holds = [word for label, cycle in refutation["start_times"].items() for word in ("--hold", f"{label}={cycle}")]
    strictly = [] if reading == MEET else ["--masters", reading]
    rules = shlex.join(["--rules", "observe", *strictly, *holds])
    return f"to see them {what}: {command} {rules}" if command else f"to see them {what}, run the program with {rules}"
