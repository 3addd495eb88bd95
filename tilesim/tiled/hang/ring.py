"""Masters whose turn on the ring does not come, rows that do not come, and rows that nobody takes."""

from __future__ import annotations

from collections.abc import Iterator

from tilesim.sim.core.unit import Reason, Unit
from tilesim.tiled.hang.context import CONTROLLER, Amount, Story, amount, named, waits
from tilesim.tiled.isa.model.instructions import Classify, Instruction, Outfeed, RingConsume
from tilesim.tiled.isa.model.loops import iterations
from tilesim.tiled.isa.model.neighbours import node_name
from tilesim.tiled.rules.tile.happens_before import EXTERNAL
from tilesim.tiled.units.ring.ring import RingStop


def turns(story: Story) -> Iterator[str]:
    """The masters whose turn on the ring does not come."""
    chip = story.chip
    infeed = chip.infeed.unit
    if infeed.waiting is not None and infeed.waiting.reason is Reason.FLAG:
        yield _turn(story, 0, infeed.instruction)
    for tile in chip.tiles:
        for engine in tile.engines.values():
            awaits = {watcher.flag for op in engine.unfinished[:1] for watcher in op.wait}
            if waits(engine.unit) and any(flag in awaits and tile.flags.awaited(flag) for flag in EXTERNAL):
                yield _turn(story, tile.index + 1, engine.unit.instruction)


def _turn(story: Story, node: int, label: str) -> str:
    """What passes the stop of ``node``, where the instruction ``label`` counts transfers."""
    own = next((place for place, op in enumerate(story.ops) if op.label == label), 0)
    transfers = [each for each in story.transfers() if each.master != node or each.place < own]
    behind = [str(each) for each in story.transfers() if each.master == node and each.place > own]
    passing, others = ([str(each) for each in transfers if each.passes(node) is wanted] for wanted in (True, False))
    return (
        f"ring stop of {node_name(node, len(story.chip.tiles))}: {named(passing)} pass{'es' * (len(passing) < 2)} it"
        f"{_and(others, 'does not', 'do not')}{_and(behind, f'waits behind {label}', f'wait behind {label}')}"
    )


def _and(names: list[str], one: str, several: str) -> str:
    return f"; {named(names)} {several if len(names) > 1 else one}" if names else ""


def rows(story: Story) -> Iterator[str]:
    """The stops at which rows are missing, or rows that nobody takes."""
    chip, tiles = story.chip, len(story.chip.tiles)
    transfers = story.transfers()
    afloat = {bit + 1 for each in chip.afloat for bit in range(tiles + 2) if each.header >> bit & 1}
    for node, stop in enumerate(chip.packet_stops):
        receiver = stop.receiver
        if receiver is None or not (_is_out_of_rows(receiver.unit) or node in afloat or _is_refused(stop)):
            continue
        sent = [(each.name, each.rows) for each in transfers if node in each.destinations]
        taken = list(_takers(story.ops, node, tiles))
        come = sum(len(stop.passage.taken.get(label, ())) for label, _ in taken) if stop.passage else 0
        late = story.late(node - 1 if node <= tiles + 1 else CONTROLLER)
        yield (
            f"{node_name(node, tiles)}: the program sends it {amount('row', sent)}{_come(come) if sent else ''} and "
            f"takes {amount('row', taken)} there{_not_there(taken, late)}"
        )


def _come(rows: int) -> str:
    return f", of which {rows or 'none'} {'has' if rows < 2 else 'have'} come,"


def _is_refused(stop: RingStop) -> bool:
    """Whether a packet stands at a stop that is to take it."""
    head = next(iter(stop.packets), None)
    return head is not None and stop.stuck is not None and bool(head.header >> stop.node - 1 & 1)


def _is_out_of_rows(unit: Unit) -> bool:
    return unit.waiting is not None and unit.waiting.reason is Reason.FIFO


def _takers(ops: tuple[Instruction, ...], node: int, tiles: int) -> Iterator[Amount]:
    for op in ops:
        if isinstance(op, RingConsume) and node <= tiles and op.tiles >> node - 1 & 1:
            yield op.label, op.filter.rows if op.filter else iterations(op.write.nest)
        elif (isinstance(op, Classify) and node == tiles + 1) or (isinstance(op, Outfeed) and node == tiles + 2):
            yield op.label, op.rows


def _not_there(parts: list[Amount], late: set[str]) -> str:
    missing = named((label for label, _ in parts if label in late), "")
    return f", but {missing} has not come there" if missing else ""
