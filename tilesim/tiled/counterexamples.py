"""Start times with which transfers are seen to break the rule for masters that a proof could not show them to keep.

A refutation says that nothing orders two transfers. Whether they ever come so close depends on delays; here they are
sought by running the program, so that what is said of start times has been seen. When the two begin, everything else is
long over. The times are those of chips on which nothing else wants the memories' ports; so there are several to try,
the best guess first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from math import ceil

import numpy as np
from msgspec.structs import replace

from tilesim.errors import HangError
from tilesim.findings import Finding
from tilesim.machines import frame
from tilesim.machines.holds import LATEST
from tilesim.sim.trace.packets import PacketSeen
from tilesim.tiled.isa.model.fields import node_name
from tilesim.tiled.isa.model.instructions import (
    WORD_BYTES,
    Infeed,
    Outfeed,
    RingProduce,
    TensorOp,
    Work,
    program_bytes,
)
from tilesim.tiled.isa.model.loops import iterations
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.rules.proof import Proof, Refutation
from tilesim.tiled.rules.ring.collisions import Collision
from tilesim.tiled.rules.ring.readings import Reading
from tilesim.tiled.rules.soundness import unrunnable
from tilesim.tiled.rules.untimed.transfers import Transfer
from tilesim.tiled.rules.untimed.work_queues import CONTROLLER, WorkItem, WorkQueues, work_queues
from tilesim.tiled.run import host_driver
from tilesim.tiled.run.delayed_issue import holds_of
from tilesim.tiled.run.event_driven import run_sections
from tilesim.tiled.units.chip import Chip
from tilesim.tiled.units.ring.ring_monitor import AT_ONCE, MEETING

Parties = tuple[str, frozenset[tuple[str, int, str]]]
"""What two transfers do, and which they are as findings name them: instruction, which of its transfers, and master."""
OnPacket = Callable[[PacketSeen], None]
StartTimes = Mapping[str, int]
"""Cycles before which instructions must not begin, by label, or label, ``@`` and tile."""
SHIFTS = (1, -1, 2, -2, 3, -3, 4, -4, 6, -6, 8, -8)
"""Cycles by which one of two instructions may be earlier or later than was guessed."""
OTHERS = 8
"""Other transfers that are kept out of the way one by one."""
BUDGET = 1_000_000
"""Work for which one proof may have its program run: instructions and their rounds, tile by tile."""
TILE = 100
"""What a tile costs in a run beside that."""
GUESSES = 2
"""Start times that are tried for every pair before more are for any."""


def seen(proof: Proof, budget: int = BUDGET) -> Proof:
    """The proof, its refuted transfers with start times with which they were seen to break the rule, where such have
    been found within the ``budget``. A program that no chip could run is left as it is.
    """
    if proof.masters is None or unrunnable(proof.program):
        return proof
    runs = _Runs(work_queues(proof.program), proof.reading, budget)
    refutations = proof.refutations
    for first, end in ((0, GUESSES), (GUESSES, None)):
        refutations = tuple(runs.tried(refutation, first, end) for refutation in refutations)
    return replace(proof, refutations=refutations)


class _Runs:
    """Runs of one program, as many as the budget allows; what one shows of other pairs is kept."""

    def __init__(self, work: WorkQueues, reading: Reading, budget: int) -> None:
        self._work, self._reading = work, reading
        rounds = sum(1 + item.rounds for queue in work.queues for item in queue)
        self._left = budget // (TILE * work.tiles + rounds)
        self._seen: dict[Parties, StartTimes] = {}

    def tried(self, refutation: Refutation, first: int, end: int | None) -> Refutation:
        """A refutation after runs with more start times, if it needs any: those from ``first`` up to ``end``."""
        collision, runs = refutation.collision, refutation.runs
        if collision is None or refutation.start_times is not None:
            return refutation
        guesses = start_times(self._work, collision)
        possible = (times for times in guesses if all(0 <= cycle <= LATEST for cycle in times.values()))
        for times in islice(possible, first, end):
            if not self._left:
                break
            self._left, runs = self._left - 1, runs + 1
            if self._shows(collision, times):
                return replace(refutation, start_times=times, runs=runs)
        by_chance = self._seen.get(parties_of(collision, self._work.tiles)) if end is None else None
        return replace(refutation, start_times=by_chance, runs=runs)

    def _shows(self, collision: Collision, times: Mapping[str, int]) -> bool:
        """Whether a run with these start times does."""
        broken = breaches(self._work.program, times, self._reading)
        for those in broken:
            self._seen.setdefault(those, times)
        return parties_of(collision, self._work.tiles) in broken


def parties_of(collision: Collision, tiles: int) -> Parties:
    """What the two of a collision can do, as the findings of a run name it."""
    kind, both = AT_ONCE if collision.at_once else MEETING, (collision.first, collision.other)
    return kind, frozenset((sent.name, sent.ordinal, node_name(sent.master, tiles)) for sent in both)


def breaches(
    program: Program, given: StartTimes, masters: Reading, on_packet: OnPacket | None = None
) -> dict[Parties, Finding]:
    """Who is seen to break the rule for masters in a run with zeros for inputs and with holds ``given``, and when.

    ``on_packet`` hears of every packet that passes a node of the ring, in cycles of its section.
    """
    found: dict[Parties, Finding] = {}
    for finding in _noticed(program, given, masters, on_packet):
        if finding["kind"] in {MEETING, AT_ONCE}:
            both = zip(finding["instructions"], finding["transfers"], finding["masters"], strict=True)
            found.setdefault((finding["kind"], frozenset(both)), finding)
    return found


def _noticed(program: Program, given: StartTimes, masters: Reading, on_packet: OnPacket | None) -> list[Finding]:
    """What is noticed on the ring in such a run, if that comes to its end or not."""
    program = frame.named(program)
    arrays = [np.zeros(tensor.shape, tensor.dtype) for tensor in program.inputs]
    host = host_driver.HostSide(program, arrays)
    tasks = host.tasks(lambda: chip.host_outfeed)
    chip = Chip(program.topology, host.samples, None, frame.forget, reading=masters, host_tasks=tasks)
    if on_packet is not None:
        chip.monitor.tell(lambda seen: on_packet((seen[0] - chip.section[1], *seen[1:])))
    try:
        run_sections(chip, program, host.rows, holds_of(program, given))
    except HangError as error:
        return error.findings
    return chip.monitor.findings()


def start_times(work: WorkQueues, collision: Collision) -> Iterator[StartTimes]:
    """Start times that may let the two of a collision do what they can: guessed, and around that; with others out of
    the way; with the two in turned roles; with one of them held up where it arrives; and without any.
    """
    turned = replace(collision, first=collision.other, other=collision.first, after=None)
    for pair in (collision, turned):
        guess = _at_once(work, pair) if pair.at_once else _meeting(work, pair)
        away = _out_of_the_way(work, pair)
        yield guess
        yield {**away, **guess}
        *_, later = guess
        yield from ({**guess, later: guess[later] + shift} for shift in SHIFTS)
        yield from ({label: cycle, **guess} for label, cycle in islice(away.items(), OTHERS))
    yield from _held_up(work, collision.first, collision.other)
    yield from _held_up(work, collision.other, collision.first)
    yield {}


def _meeting(work: WorkQueues, collision: Collision) -> dict[str, int]:
    """One of the two has its master at the stop. Its first packet is ready in the cycle in which the other's first one
    passes, which goes before it; or in the cycle before, if that is the other's last one, or leaves it no gap.
    """
    node, hop, quiet = collision.stop, work.program.topology.ring.hop_cycles, _quiet(work)
    here, through = collision.first, collision.other
    if here.master != node:
        here, through = through, here
    gate = None if collision.after is None else _gate(work, through, collision.after, node)
    if gate is None:
        gap, held = _row_cycles(work, through), work.senders[through.number]
        passes = quiet + _lead(work, through) + through.hops(node) * hop
    else:
        assert gate.node is not None, "it takes rows off the ring"
        gap, held = work.program.topology.ring_row_cycles, gate
        passes = quiet + (node - gate.node) % work.nodes * hop
    closed = gap == work.program.topology.ring_row_cycles and through.reach > through.hops(node)
    early = through.rows == 1 or (closed and here.rows > 1)
    return {_key(held): quiet, _key(work.senders[here.number]): passes - early - _lead(work, here)}


def _at_once(work: WorkQueues, collision: Collision) -> dict[str, int]:
    """The first packets of both enter the ring in one cycle; or that of the other does when the first transfer is held
    up where it arrives.
    """
    first, other, quiet = collision.first, collision.other, _quiet(work)
    late = _key(work.senders[other.number])
    gate = None if collision.after is None else _gate(work, first, collision.after, first.destinations[-1])
    if gate is not None:
        return {_key(gate): quiet, late: quiet - 2 - _lead(work, other)}
    held = work.senders[first.number]
    return {_key(held): quiet, late: quiet + _lead(work, first) - _lead(work, other)}


def _out_of_the_way(work: WorkQueues, collision: Collision) -> dict[str, int]:
    """The transfers behind the first of the two in the program, late enough for both to be over."""
    behind = work.senders[collision.first.number + 1 :]
    return {_key(item): 2 * _quiet(work) for item in behind if item.transfer is not collision.other}


def _held_up(work: WorkQueues, transfer: Transfer, other: Transfer) -> Iterator[StartTimes]:
    """One transfer waits at one of its destinations; the other begins shortly before it can go on, or after."""
    quiet, key = _quiet(work), _key(work.senders[other.number])
    for place in range(len(transfer.destinations)):
        before = transfer.destinations[place - 1] if place else transfer.master
        gate = _gate(work, transfer, before, transfer.destinations[place])
        if gate is not None:
            yield {_key(gate): quiet}
            yield from ({_key(gate): quiet, key: quiet - _lead(work, other) + shift} for shift in (-4, -1, 0, 2))


def _gate(work: WorkQueues, transfer: Transfer, after: int, node: int) -> WorkItem | None:
    """The instruction that can hold up a transfer on the ring behind one node and no further than another: that which
    takes its first row at the last destination there, if there is one.
    """
    between = range(transfer.hops(after) + 1, transfer.hops(node) + 1)
    for destination in reversed([there for there in transfer.destinations if transfer.hops(there) in between]):
        ahead = (earlier for earlier in work.transfers[: transfer.number] if destination in earlier.destinations)
        taker = work.taker(destination, sum(earlier.rows for earlier in ahead))
        if taker is not None:
            return taker
    return None


def _key(item: WorkItem) -> str:
    op = item.op
    several = isinstance(op, Work) and op.tiles.bit_count() > 1
    return f"{item.name}@{item.tile}" if several and item.tile != CONTROLLER else item.name


def _row_cycles(work: WorkQueues, transfer: Transfer) -> int:
    """Cycles from one row of a transfer to the next."""
    return _fetch_cycles(work, transfer) + work.program.topology.ring_row_cycles


def _fetch_cycles(work: WorkQueues, transfer: Transfer) -> int:
    """Cycles that it takes to read a row, before it enters the ring."""
    if isinstance(transfer.op, RingProduce):
        return 1
    topology = work.program.topology
    if isinstance(transfer.op, Infeed) and transfer.op.source == "data":
        if topology.host.sends_parameters:
            return ceil(topology.to_chip_cycles(topology.wide_memory.row_bytes))
        return ceil(topology.wide_memory.row_bytes / topology.data_memory.bytes_per_cycle)
    return 0


def _lead(work: WorkQueues, transfer: Transfer) -> int:
    """Cycles from the beginning of a transfer's instruction to its first row's entry into the ring."""
    return _fetch_cycles(work, transfer) + _row_cycles(work, transfer) * transfer.ordinal * transfer.rows


def _quiet(work: WorkQueues) -> int:
    """A cycle by which everything that can be is over."""
    topology = work.program.topology
    issue = (work.tiles + 2) * topology.instruction_bus.hop_cycles
    words = topology.mesh_beats * topology.wide_memory.row_bytes // topology.narrow_memory.word_bytes
    cycles = topology.host.latency_cycles + _host_cycles(work)
    for _, op in work.instructions:
        cycles += ceil(op.words * WORD_BYTES / topology.instruction_bus.width_bytes) + issue
        cycles += 8 * iterations(op.nest) if isinstance(op, TensorOp) else 0
    for queue in work.queues:
        cycles += sum(item.rounds * (words + topology.mesh.hop_cycles + 4) for item in queue if not item.transfer)
    for transfer in work.transfers:
        cycles += transfer.rows * _row_cycles(work, transfer) + work.nodes * topology.ring.hop_cycles
    return cycles


def _host_cycles(work: WorkQueues) -> int:
    """What requests take that the host announces, and its rows over a link of so many bytes a second."""
    topology = work.program.topology
    cycles = 2 * topology.request_cycles
    if topology.host.sends_instructions:
        cycles += ceil(topology.to_chip_cycles(program_bytes(op for _, op in work.instructions)))
    if topology.host.to_chip_bytes_per_second:
        rows = sum(item.rows for item in work.transfers if isinstance(item.op, Infeed))
        cycles += ceil(topology.to_chip_cycles(rows * topology.wide_memory.row_bytes))
    if topology.host.from_chip_bytes_per_second:
        rows = sum(op.rows for _, op in work.instructions if isinstance(op, Outfeed))
        cycles += ceil(topology.from_chip_cycles(rows * topology.wide_memory.row_bytes))
    return cycles
