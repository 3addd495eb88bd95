"""Whether the controller's fences can ever be met, and whether resets come in time."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from tilesim.tiled.isa.model.fields import Flag
from tilesim.tiled.isa.model.instructions import ScalarFence, TileFence
from tilesim.tiled.rules.ring.masters import Masters
from tilesim.tiled.rules.ring.transfer_order import TransferOrder
from tilesim.tiled.rules.ring.transfers import Transfer
from tilesim.tiled.rules.untimed.execution import UntimedExecution
from tilesim.tiled.rules.untimed.history import Barrier, History
from tilesim.tiled.rules.untimed.work_queues import Fence, WorkQueues


def fence_faults(work: WorkQueues) -> Iterator[str]:
    """Every scalar fence that waits for more tile fences than are issued before it."""
    left = 0
    for name, op in work.instructions:
        if isinstance(op, TileFence):
            left += op.increment * op.tiles.bit_count()
        elif isinstance(op, ScalarFence):
            left -= op.count
            if left < 0:
                there = op.count + left
                added = f"those before it add only {there}" if there else "those before it add none"
                yield (
                    f"{name} (scalar_fence) waits for {op.count} tile fence{'s' * (op.count != 1)}, but {added}: one a "
                    "tile that is fenced with an increment"
                )
                left = 0


def early_resets(masters: Masters) -> Iterator[str]:
    """Every reset of a tile's count of transfers that one of those before it may pass after it."""
    yield from (_either(fence, last) for fence, last in masters.early_resets)


def late_resets(work: WorkQueues, history: History, order: TransferOrder) -> Iterator[str]:
    """Every such reset that one of those after it may pass before it; the order of transfers must be proven."""
    watched = {count for queue in work.queues for item in queue for _, count, _ in item.conditions}
    for tile, fences in enumerate(work.fences):
        resets = [fence for fence in fences if Flag.RING_PRODUCER_A in fence.op.reset]
        for number, fence in enumerate(resets, 1):
            if (tile, Flag.RING_PRODUCER_A, number) in watched:
                execution = UntimedExecution(work, history, order)
                with execution.holding(Barrier(fence=fence)):
                    passed = (each for each in execution.passed(tile + 1) if _resets(history, each, tile) >= number)
                    yield from [_either(fence, transfer) for transfer in islice(passed, 1)]


def _resets(history: History, transfer: Transfer, tile: int) -> int:
    return history.resets_before.get((transfer.number, tile), 0)


def _either(fence: Fence, transfer: Transfer) -> str:
    return (
        f"{fence.name} (tile_fence) resets ring_producer_a of tile {fence.tile} before or after the tail of {transfer} "
        f"passes that: no flag and no fence orders the two"
    )
