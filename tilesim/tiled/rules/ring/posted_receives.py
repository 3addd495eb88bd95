"""Where rows circulate that find no consumer, each must be posted before they come."""

from __future__ import annotations

from collections.abc import Iterator

from tilesim.tiled.isa.model.fields import node_name
from tilesim.tiled.rules.ring.transfer_order import TransferOrder
from tilesim.tiled.rules.ring.transfers import Transfer
from tilesim.tiled.rules.untimed.execution import UntimedExecution
from tilesim.tiled.rules.untimed.history import Barrier, History
from tilesim.tiled.rules.untimed.work_queues import WorkItem, WorkQueues


def late_consumers(work: WorkQueues, history: History, order: TransferOrder) -> Iterator[str]:
    """Every transfer that can reach a destination before the instruction that takes its first row there is posted."""
    found: list[str] = []
    execution = UntimedExecution(work, history, order)

    def before(item: WorkItem) -> None:
        assert item.transfer is not None
        found.extend(_early(execution, item.transfer))

    execution.run(before)
    yield from found


def _early(execution: UntimedExecution, transfer: Transfer) -> Iterator[str]:
    for stage, node in enumerate(transfer.destinations):
        taker = _taker(execution, transfer, stage, node)
        if taker is None:
            continue
        with execution.holding(Barrier(item=taker)):
            early = execution.rows[transfer.number][stage] > 0
        if early:
            yield (
                f"{transfer} can reach {node_name(node, execution.work.tiles)} before {taker} is posted there: its "
                f"rows would go round, and come out of order"
            )


def _taker(execution: UntimedExecution, transfer: Transfer, stage: int, node: int) -> WorkItem | None:
    row = execution.history.ahead[transfer.number][stage]
    queue = execution.work.queues[execution.work.takers[node]] if node in execution.work.takers else []
    return next((item for item in queue if item.node == node and item.takes_before + item.rounds > row), None)
