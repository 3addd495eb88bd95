"""``tilesim check``: what can be proven of a program before it runs."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from typing import Annotated

import typer

from tilesim import api
from tilesim.cli.options.chip import SetOption, TopologyOption, one_chip, overrides
from tilesim.cli.options.compilation import Caching, LayerPriorityOption, NoCacheOption, PriorityOption, compiled
from tilesim.cli.options.partition import PartitionOption
from tilesim.cli.options.program import is_program, ready_program
from tilesim.cli.output import tell, tell_json
from tilesim.cli.progress import progress
from tilesim.cli.simulation import MastersOption
from tilesim.errors import InputError
from tilesim.machines.machine import Document
from tilesim.machines.options import RunOptions
from tilesim.machines.program import Program

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
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="PROGRAM_OR_MODEL",
            help="Files of programs or models, or workloads' names; several share one chip.",
            show_default=False,
        ),
    ],
    topology: TopologyOption = None,
    set_: SetOption = None,
    no_cache: NoCacheOption = False,
    priority: PriorityOption = None,
    layer_priority: LayerPriorityOption = None,
    partition: PartitionOption = None,
    masters: MastersOption = MEET,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Prove that programs keep to the chip's rules.

    Or show how they can break them. What is proven holds whatever the delays; of what is refuted, start times are shown
    with which it was seen to happen in a run. The rule for masters of the ring has three readings: all are told,
    --masters says which one counts. The exit status is 1 if anything that counts is refuted. Models are compiled
    together, as `tilesim run` does it; programs must fit beside them, and beside one another, as they are.
    """
    caching = Caching(no_cache, priority, layer_priority, partition)
    with progress(f"checking {', '.join(models)}") as say:
        programs = _programs(models, one_chip(topology), overrides(set_), caching, say)
        found = api.check(programs, masters, say)
    if json_:
        tell_json(found.document())
    else:
        options = _options(topology, set_, caching)
        for model, proof in zip(models, found.programs, strict=True):
            command = shlex.join(["tilesim", "run", _given(model), *([] if is_program(model) else options)])
            reproducible = model.isprintable() and (is_program(model) or len(models) == 1)
            tell(*_lines(command if reproducible else "", proof))
        for sentence in found.together:
            tell(f"refuted (parameters): {sentence}")
    if not found.proven:
        raise typer.Exit(REFUTED)


def _programs(
    words: list[str], topology: str, changes: dict[str, object], caching: Caching, say: Callable[[str], None]
) -> list[Program]:
    """Those in files, and those that the models are compiled to, in the order of the words."""
    ready, models = [word for word in words if is_program(word)], [word for word in words if not is_program(word)]
    if faults := caching.faults([] if models else ready):
        raise InputError(faults)
    own = iter([ready_program(word, topology, changes) for word in ready])
    others = iter(compiled(models, topology, changes, caching, say).programs if models else [])
    return [next(own if is_program(word) else others) for word in words]


def _given(model: str) -> str:
    """A file's name, such that it is not taken for an option."""
    return f"./{model}" if model.startswith("-") else model


def _options(topology: list[str] | None, set_: list[str] | None, caching: Caching) -> list[str]:
    """The words with which one model is run on the chip for which it was checked."""
    found = [("-t", each) for each in topology or []]
    found += [("--set", each) for each in set_ or []]
    found += [("--partition", each) for each in caching.partition or []]
    found += [("--priority", caching.priority)] if caching.priority else []
    found += [("--layer-priority", caching.layer_priority)] if caching.layer_priority else []
    return [*(word for pair in found for word in pair), *(["--no-cache"] if caching.no_cache else [])]


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
    yield f"  {_counted(proof['transfers'], 'transfer')} on the ring, {_counted(total, 'pair')}{_listed(pairs)}"
    proofs = [f"{count:,} {PROOFS[kind]}" for kind, count in proof["proofs"].items() if count]
    if proofs:
        yield f"  {_counted(sum(proof['proofs'].values()), 'order')} proven one by one{_listed(proofs)}"
    if total:
        readings = [_verdict(reading, found["pairs"], proof["reading"]) for reading, found in proof["readings"].items()]
        yield f"  the rule for masters, read as {'; '.join(readings)}"


def _verdict(reading: str, pairs: int, binding: str) -> str:
    read = f"{reading}, which binds" if reading == binding else reading
    return f"{read}: {_counted(pairs, 'pair')} unproven" if pairs else f"{read}: proven"


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"


def _listed(words: list[str]) -> str:
    return f": {', '.join(words)}" if words else ""


def _sight(command: str, reading: str, refutation: Document) -> str:
    """With what it was seen, or how little was seen."""
    what = "meet" if reading == MEET else "under way at once"
    if refutation["start_times"] is None:
        if refutation["runs"]:
            return (
                f"nothing orders them, but in {_counted(refutation['runs'], 'run')} they were not seen to {_be(what)}"
            )
        return f"no run was made to see them {what}"
    holds = [word for label, cycle in refutation["start_times"].items() for word in ("--hold", f"{label}={cycle}")]
    strictly = [] if reading == MEET else ["--masters", reading]
    rules = shlex.join(["--rules", "observe", *strictly, *holds])
    return f"to see them {what}: {command} {rules}" if command else f"to see them {what}, run the program with {rules}"


def _be(what: str) -> str:
    return f"be {what}" if what.startswith("under") else what
