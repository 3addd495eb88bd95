"""Bare transfers, judged: the program, the verdicts under all readings, and a run of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tilesim.findings import sentence
from tilesim.machines.trial import Trial, TrialBreach, TrialDocument, TrialPicture, TrialReading, TrialTransfer
from tilesim.tiled.isa.model.fields import node_name
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.laboratory.passages import as_plain, observed, spans
from tilesim.tiled.laboratory.program import program_of, sender
from tilesim.tiled.laboratory.scenario import BareTransfer, Scenario
from tilesim.tiled.laboratory.verdicts import judged, others, proofs_of
from tilesim.tiled.rules.ring.readings import Reading
from tilesim.tiled.rules.untimed.transfers import Transfer
from tilesim.tiled.rules.untimed.work_queues import work_queues


def tried(scenario: Scenario, name: str, reading: Reading) -> Trial:
    """What becomes of a scenario called ``name`` if the rule for masters is read as ``reading``; raises as
    :func:`program_of`.
    """
    program = program_of(scenario, name)
    transfers, tiles = work_queues(program).transfers, program.topology.tiles
    names = {sender(transfer.name): transfer.name for transfer in scenario.transfers}
    proofs = proofs_of(program)
    readings = [judged(proof, names) for proof in proofs.values()]
    binding = next(each for each in readings if each["reading"] == reading)
    document: TrialDocument = {
        "schema": Trial.SCHEMA,
        "name": name,
        "topology": program.topology.name,
        "nodes": [node_name(node, tiles) for node in range(tiles + 3)],
        "transfers": [
            _plain(number, bare, transfer, tiles)
            for number, (bare, transfer) in enumerate(zip(scenario.transfers, transfers, strict=True))
        ],
        "reading": str(reading),
        "readings": readings,
        "others": [*others(proofs[reading])],
        "picture": _picture(program, transfers, names, reading, _times(scenario, binding)),
    }
    return Trial(program, document)


def _plain(number: int, bare: BareTransfer, transfer: Transfer, tiles: int) -> TrialTransfer:
    return {
        "name": bare.name,
        "letter": chr(ord("A") + number),
        "instruction": transfer.name,
        "master": node_name(transfer.master, tiles),
        "to": [node_name(node, tiles) for node in transfer.destinations],
        "path": [*transfer.path],
        "rows": bare.rows,
        "after": {name: str(when) for name, when in bare.after.items()},
    }


def _times(scenario: Scenario, binding: TrialReading) -> tuple[str, dict[str, int]]:
    """The start times of the run that is shown, and why: those that were given, or those of a counterexample."""
    if given := {sender(each.name): each.start for each in scenario.transfers if each.start is not None}:
        return "start", given
    for pair in binding["pairs"]:
        if pair["start_times"] is not None:
            return "counterexample", pair["start_times"]
    return "run", {}


def _picture(
    program: Program,
    transfers: Sequence[Transfer],
    names: Mapping[str, str],
    reading: Reading,
    shown: tuple[str, dict[str, int]],
) -> TrialPicture:
    shows, times = shown
    passages, findings = observed(program, times, reading)
    row_cycles = program.topology.ring_row_cycles
    by_label = {transfer.name: transfer for transfer in transfers}
    taken = sum(each.node in by_label[each.sender].destinations for each in passages)
    found: list[TrialBreach] = [
        {
            "transfers": [names[label] for label in finding["instructions"]],
            "cycle": finding["cycle"],
            "stop": finding["stop"],
            "sentence": sentence(finding),
        }
        for finding in findings
    ]
    return {
        "start_times": times,
        "shows": shows,
        "ended": taken == sum(transfer.rows * len(transfer.destinations) for transfer in transfers),
        "passages": as_plain(names, passages, row_cycles),
        "under_way": spans(names, transfers, passages, row_cycles),
        "breaches": sorted(found, key=lambda breach: breach["cycle"]),
    }
