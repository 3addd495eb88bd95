"""Which rows pass which nodes of the ring when, in one run: of the stepped model, which tells of every packet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tilesim.machines.holds import holds
from tilesim.machines.trial import TrialPassage, TrialSpan
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.rules.untimed.transfers import Transfer
from tilesim.tiled.run.simulate import tiles_of
from tilesim.tiled.stepped.chip import Chip
from tilesim.tiled.stepped.ring import Packet, RingStop


@dataclass(frozen=True)
class Passage:
    """Number ``row`` of the rows that the instruction ``sender`` sends passes a node."""

    cycle: int
    node: int
    sender: str
    row: int


def passages_of(program: Program, start_times: Mapping[str, int]) -> list[Passage]:
    """Those of a run in which instructions do not begin before their ``start_times``, whether transfers meet or not."""
    chip = Chip(program.topology, program.data, keeps_spans=False, observes=True)
    seen: list[Passage] = []
    rows: Counter[tuple[int, str]] = Counter()

    def note(stop: RingStop, packet: Packet) -> None:
        key = stop.node, packet.transfer.sender
        seen.append(Passage(chip.clock.cycle, *key, rows[key]))
        rows[key] += 1

    for stop in chip.stops:
        stop.note = note
    chip.run(program.run, [], holds(program, start_times, tiles_of))
    return seen


def under_way(transfer: Transfer, passages: list[Passage]) -> tuple[int, int] | None:
    """From the cycle in which a transfer's first row enters the ring to that in which its last destination takes the
    last one; up to the last passage of all if that never comes, None if it does not begin.
    """
    own = [passage for passage in passages if passage.sender == transfer.name]
    taken = [passage.cycle for passage in own if passage.node == transfer.destinations[-1]]
    if not own:
        return None
    return own[0].cycle, taken[-1] if len(taken) == transfer.rows else passages[-1].cycle + 1


def as_plain(names: Mapping[str, str], passages: list[Passage]) -> list[TrialPassage]:
    """As JSON holds them; ``names`` are the transfers by the labels of what sends them."""
    return [
        {"cycle": each.cycle, "node": each.node, "transfer": names[each.sender], "row": each.row} for each in passages
    ]


def spans(names: Mapping[str, str], transfers: Sequence[Transfer], passages: list[Passage]) -> list[TrialSpan]:
    """When each transfer that begins is under way."""
    both = [(names[transfer.name], under_way(transfer, passages)) for transfer in transfers]
    return [{"transfer": name, "start": span[0], "end": span[1]} for name, span in both if span is not None]
