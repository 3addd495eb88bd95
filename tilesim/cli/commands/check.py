"""``tilesim check``: what can be proven of a program before it runs."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import typer

from tilesim.cli.options.chip import SetOption, TopologyOption, one_chip, overrides, program_of_tiles
from tilesim.cli.options.compilation import Caching, LayerPriorityOption, NoCacheOption, PriorityOption, compiled
from tilesim.cli.options.partition import PartitionOption
from tilesim.cli.options.program import is_program, ready_program
from tilesim.cli.output import tell, tell_json
from tilesim.cli.progress import progress
from tilesim.cli.simulation import MastersOption
from tilesim.errors import InputError
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.rules.proof import Proof, Refutation, proof_of
from tilesim.tiled.rules.ring.collisions import Collision
from tilesim.tiled.rules.ring.readings import Reading, reading_of
from tilesim.tiled.rules.tile.cached import overlaps_between
from tilesim.tiled.verify.recipes import seen

SCHEMA = "tilesim.check/2"
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
    masters: MastersOption = Reading.MEET,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Prove that programs keep to the chip's rules.

    Or show how they can break them. What is proven holds whatever the delays; of what is refuted, start times are shown
    with which it was seen to happen in a run. The rule for masters of the ring has three readings: all are told,
    --masters says which one counts. The exit status is 1 if anything that counts is refuted. Models are compiled
    together, as `tilesim run` does it; programs must fit beside them, and beside one another, as they are.
    """
    reading = reading_of(masters)
    caching = Caching(no_cache, priority, layer_priority, partition)
    with progress(f"checking {', '.join(models)}") as say:
        programs = _programs(models, one_chip(topology), overrides(set_), caching, say)
        proofs = [proof_of(program, reading) for program in programs]
        say("looking for start times with which refuted transfers are seen")
        proofs = [seen(proof) for proof in proofs]
        together = list(overlaps_between(programs))
    proven = not together and all(proof.proven for proof in proofs)
    if json_:
        tell_json(_document(proven, proofs, together))
    else:
        options = _options(topology, set_, caching)
        for model, proof in zip(models, proofs, strict=True):
            command = shlex.join(["tilesim", "run", _given(model), *([] if is_program(model) else options)])
            reproducible = model.isprintable() and (is_program(model) or len(models) == 1)
            tell(*_lines(command if reproducible else "", proof))
        for sentence in together:
            tell(f"refuted (parameters): {sentence}")
    if not proven:
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
    return [program_of_tiles(next(own if is_program(word) else others), "check") for word in words]


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


def _document(proven: bool, proofs: list[Proof], together: list[str]) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "proven": proven,
        "programs": [proof.document() for proof in proofs],
        "together": together,
    }


def _lines(command: str, proof: Proof) -> Iterator[str]:
    verdict = "proven" if proof.proven else f"{len(proof.refutations)} refuted"
    yield f"{proof.program.name} on {proof.program.topology.name}: {verdict}"
    masters = proof.masters
    if masters is not None:
        pairs = [f"{count:,} {PAIRS[kind]}" for kind, count in masters.pairs.items() if count]
        total = masters.pairs.total()
        yield f"  {_counted(proof.transfers, 'transfer')} on the ring, {_counted(total, 'pair')}{_listed(pairs)}"
        proofs = [f"{count:,} {PROOFS[kind]}" for kind, count in masters.proofs.items() if count]
        if proofs:
            yield f"  {_counted(masters.proofs.total(), 'order')} proven one by one{_listed(proofs)}"
        if total:
            readings = [_verdict(each, count, proof.reading) for each, count in proof.forbidden.items()]
            yield f"  the rule for masters, read as {'; '.join(readings)}"
    for refutation in proof.refutations:
        yield f"refuted ({refutation.rule}): {refutation.sentence}"
        if refutation.collision is not None:
            yield f"  {_sight(command, proof.reading, refutation, refutation.collision)}"


def _verdict(reading: Reading, pairs: int, binding: Reading) -> str:
    read = f"{reading}, which binds" if reading is binding else str(reading)
    return f"{read}: {_counted(pairs, 'pair')} unproven" if pairs else f"{read}: proven"


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"


def _listed(words: list[str]) -> str:
    return f": {', '.join(words)}" if words else ""


def _sight(command: str, reading: Reading, refutation: Refutation, collision: Collision) -> str:
    """With what it was seen, or how little was seen."""
    what = "under way at once" if collision.at_once else "meet"
    if refutation.start_times is None:
        if refutation.runs:
            return f"nothing orders them, but in {_counted(refutation.runs, 'run')} they were not seen to {_be(what)}"
        return f"no run was made to see them {what}"
    holds = [word for label, cycle in refutation.start_times.items() for word in ("--hold", f"{label}={cycle}")]
    strictly = [] if reading is Reading.MEET else ["--masters", str(reading)]
    rules = shlex.join(["--rules", "observe", *strictly, *holds])
    return f"to see them {what}: {command} {rules}" if command else f"to see them {what}, run the program with {rules}"


def _be(what: str) -> str:
    return f"be {what}" if what.startswith("under") else what
