"""``tilesim check``: what can be proven of a program before it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, Any

import typer

from tilesim.cli.chip import SetOption, TopologyOption, one_chip, overrides, program_of_tiles
from tilesim.cli.compiling import Caching, LayerPriorityOption, NoCacheOption, PriorityOption, compiled
from tilesim.cli.output import tell, tell_json
from tilesim.cli.partition import PartitionOption
from tilesim.cli.program import is_program, ready_program
from tilesim.cli.progress import progress
from tilesim.errors import InputError
from tilesim.tiled.isa.program import Program
from tilesim.tiled.rules.cached import overlaps_between
from tilesim.tiled.rules.proof import Proof, Refutation, proof_of

SCHEMA = "tilesim.check/1"
REFUTED = 2
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


def check(
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
    json_: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Prove that programs keep to the chip's rules.

    Or show how they can break them. Nothing is run: what is proven holds whatever the delays. The exit status is 2 if
    anything is refuted. Models are compiled together, as `tilesim run` does it; programs must fit beside them, and
    beside one another, as they are.
    """
    caching = Caching(no_cache, priority, layer_priority, partition)
    with progress(f"checking {', '.join(models)}") as say:
        programs = _programs(models, one_chip(topology), overrides(set_), caching, say)
        proofs = [proof_of(program) for program in programs]
        together = list(overlaps_between(programs))
    proven = not together and all(proof.proven for proof in proofs)
    if json_:
        tell_json(_document(proven, proofs, together))
    else:
        for model, proof in zip(models, proofs, strict=True):
            tell(*_lines(model, proof))
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


def _document(proven: bool, proofs: list[Proof], together: list[str]) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "proven": proven,
        "programs": [proof.document() for proof in proofs],
        "together": together,
    }


def _lines(model: str, proof: Proof) -> Iterator[str]:
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
    for refutation in proof.refutations:
        yield from _refuted(model, refutation)


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"


def _listed(words: list[str]) -> str:
    return f": {', '.join(words)}" if words else ""


def _refuted(model: str, refutation: Refutation) -> Iterator[str]:
    yield f"refuted ({refutation.rule}): {refutation.sentence}"
    if refutation.start_times:
        holds = " ".join(f"--hold {label}={cycle}" for label, cycle in refutation.start_times)
        yield f"  to see them meet: tilesim run {model} --rules observe {holds}"
