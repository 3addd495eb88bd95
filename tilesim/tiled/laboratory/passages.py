"""Which rows pass which nodes of the ring when, in one run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct

from tilesim.findings import Finding
from tilesim.machines.trial import TrialPassage, TrialSpan
from tilesim.sim.trace.packets import PacketSeen
from tilesim.tiled.counterexamples import StartTimes, breaches
from tilesim.tiled.isa.model.fields import node_name
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.rules.ring.readings import Reading
from tilesim.tiled.rules.untimed.transfers import Transfer


class Passage(Struct, frozen=True):
    """Number ``row`` of the rows that the instruction ``sender`` sends passes a node, from ``cycle`` on."""

    cycle: int
    node: int
    sender: str
    row: int


def observed(program: Program, start_times: StartTimes, reading: Reading) -> tuple[list[Passage], list[Finding]]:
    """What passes in a run in which instructions do not begin before their ``start_times``, whether transfers meet or
    not; and who breaks the ``reading`` of the rule for masters.
    """
    seen: list[PacketSeen] = []
    found = breaches(program, start_times, reading, seen.append)
    tiles = program.topology.tiles
    nodes = {node_name(node, tiles): node for node in range(tiles + 3)}
    rows: Counter[tuple[str, str]] = Counter()
    passages = []
    for cycle, where, _, sender, _ in seen:
        passages.append(Passage(cycle, nodes[where], sender, rows[where, sender]))
        rows[where, sender] += 1
    return passages, [*found.values()]


def under_way(transfer: Transfer, passages: list[Passage], row_cycles: int = 1) -> tuple[int, int] | None:
    """From the cycle in which a transfer's first row enters the ring to that in which its last destination takes the
    last part of the last one, which passes for ``row_cycles``; up to the last passage of all if that never comes, None
    if it does not begin.
    """
    own = [passage for passage in passages if passage.sender == transfer.name]
    taken = [passage.cycle for passage in own if passage.node == transfer.destinations[-1]]
    if not own:
        return None
    last = taken[-1] if len(taken) == transfer.rows else passages[-1].cycle + 1
    return own[0].cycle, last + row_cycles - 1


def as_plain(names: Mapping[str, str], passages: list[Passage], row_cycles: int = 1) -> list[TrialPassage]:
    """As JSON holds them, one for each of the ``row_cycles`` in which a row passes; ``names`` are the transfers by the
    labels of what sends them.
    """
    return [
        {"cycle": each.cycle + part, "node": each.node, "transfer": names[each.sender], "row": each.row}
        for each in passages
        for part in range(row_cycles)
    ]


def spans(
    names: Mapping[str, str], transfers: Sequence[Transfer], passages: list[Passage], row_cycles: int = 1
) -> list[TrialSpan]:
    """When each transfer that begins is under way."""
    both = [(names[transfer.name], under_way(transfer, passages, row_cycles)) for transfer in transfers]
    return [{"transfer": name, "start": span[0], "end": span[1]} for name, span in both if span is not None]
