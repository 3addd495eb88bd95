"""``tilesim check``: what can be proven of a program before it runs."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import replace

import typer

from tilesim import api
from tilesim.cli.faults import Faults
from tilesim.cli.options.chip import ChipOptions
from tilesim.cli.options.compilation import CompilationOptions
from tilesim.cli.options.groups import spelt
from tilesim.cli.options.models import SourcesArgument, distinct, is_program
from tilesim.cli.options.running import MastersOption
from tilesim.cli.output import JsonOption, QuietOption, tell, tell_json
from tilesim.cli.programs import programs_of, read_sources
from tilesim.cli.progress import progress
from tilesim.errors import refuse
from tilesim.machines.machine import Document, Proves
from tilesim.machines.options import RunOptions
from tilesim.printable import counted

MEET = RunOptions.masters
REFUTED = 1
"""The exit status."""

PAIRS = {
    "disjoint": "on disjoint nodes",
    "queue": "of the same master",
    "order": "in a proven order",
    "single": "of single packets, which can't lie inside one another",
    "open": "that can meet",
}
PROOFS = {
    "flag": "by a flag",
    "fence": "by a fence",
    "section": "by the end of the load program",
    "arrival": "by rows that must come first",
}


def command(
    models: SourcesArgument,
    chips: ChipOptions,
    compilation: CompilationOptions,
    faults: Faults,
    masters: MastersOption = MEET,
    json_: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Prove that programs keep to the chip's rules.

    Or show how they can break them. What is proven holds whatever the delays; of what is refuted, start times are shown
    with which it was seen to happen in a run. The rule for masters of the ring has three readings: all are told,
    --masters says which one counts. The exit status is 1 if anything that counts is refuted. Models are compiled
    together, as `tilesim run` does it; programs must fit beside them, and beside one another, as they are.
    """
    with progress(f"checking {', '.join(models)}", quiet) as say:
        sources = read_sources(models, chips, [compilation], faults, Proves)
        refuse([*faults, *(f"--{fault}" for fault in RunOptions(masters=masters).faults())])
        ready = iter(sources.programs)
        made = iter(programs_of(sources, compilation, say)[0] if sources.named else [])
        programs = [next(ready if is_program(model) else made) for model in models]
        names = distinct(models, [program.name for program in programs])
        called = [
            program if program.name == name else replace(program, name=name)
            for program, name in zip(programs, names, strict=True)
        ]
        checked = api.check(called, masters, say)
    if json_:
        tell_json(checked.document())
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
    if not checked.proven:
        raise typer.Exit(REFUTED)


def _lines(command: str, proof: Document) -> Iterator[str]:
    verdict = "proven" if proof["proven"] else f"{len(proof['refutations'])} refuted"
    yield f"{proof['program']} on {proof['topology']}: {verdict}"
    if proof.get("readings"):
        yield from _ring_lines(proof)
    for refutation in proof["refutations"]:
        yield f"refuted ({refutation['rule']}): {refutation['sentence']}"
        if "start_times" in refutation:
            yield f"  {_sight(command, proof['reading'], refutation)}"


def _ring_lines(proof: Document) -> Iterator[str]:
    """What is proven of transfers on a ring."""
    pairs = [f"{count:,} {PAIRS[kind]}" for kind, count in proof["pairs"].items() if count]
    total = sum(proof["pairs"].values())
    yield f"  {counted(proof['transfers'], 'transfer')} on the ring, {counted(total, 'pair')}{_listed(pairs)}"
    proofs = [f"{count:,} {PROOFS[kind]}" for kind, count in proof["proofs"].items() if count]
    if proofs:
        yield f"  {counted(sum(proof['proofs'].values()), 'order')} proven one by one{_listed(proofs)}"
    if total:
        readings = [
            _verdict(reading, forbidden["pairs"], proof["reading"]) for reading, forbidden in proof["readings"].items()
        ]
        yield f"  the rule for masters, read as {'; '.join(readings)}"


def _verdict(reading: str, pairs: int, binding: str) -> str:
    read = f"{reading}, which binds" if reading == binding else reading
    return f"{read}: {counted(pairs, 'pair')} unproven" if pairs else f"{read}: proven"


def _listed(words: list[str]) -> str:
    return f": {', '.join(words)}" if words else ""


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
