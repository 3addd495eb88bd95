"""The order of issue against the depth of the instruction buffers: a full one stalls the bus, and all behind it.

The order in which transfers go is proven before; so what can happen doesn't depend on delays, and one execution tells.
"""

from __future__ import annotations

from collections.abc import Iterator

from tilesim.tiled.rules.ring.transfer_order import TransferOrder
from tilesim.tiled.rules.untimed.deadlock import deadlocks
from tilesim.tiled.rules.untimed.delivery import ThroughBuffers
from tilesim.tiled.rules.untimed.execution import UntimedExecution
from tilesim.tiled.rules.untimed.history import History
from tilesim.tiled.rules.untimed.work_queues import WorkQueues


def buffer_faults(work: WorkQueues, history: History, order: TransferOrder) -> Iterator[str]:
    """Why a program that would come to its end with endless buffers doesn't with those of the chip."""
    execution = UntimedExecution(work, history, order, ThroughBuffers)
    execution.run()
    if not any(True for _ in execution.unfinished()):
        return
    assert isinstance(execution.delivery, ThroughBuffers)
    depth = work.program.topology.instruction_bus.buffer_depth
    for queue, place in execution.delivery.full():
        item = execution.in_hand(queue)
        name, op = work.instructions[place]
        yield (
            f"{name} ({op.mnemonic}) can't be issued: the buffer of {depth} instructions is full in which {item} "
            f"stands first"
        )
    yield from deadlocks(execution)
