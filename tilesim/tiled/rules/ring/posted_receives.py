"""Where rows circulate that find no consumer, each must be posted before they come."""

from __future__ import annotations

from collections.abc import Iterator

from tilesim.tiled.isa.model.neighbours import node_name
from tilesim.tiled.rules.ring.transfer_order import TransferOrder
from tilesim.tiled.rules.ring.transfers import Transfer
from tilesim.tiled.rules.untimed.ordered_play import OrderedPlay
from tilesim.tiled.rules.untimed.play import Play
from tilesim.tiled.rules.untimed.situation import Barrier, History
from tilesim.tiled.rules.untimed.work_queues import Task, WorkQueues


def late_consumers(duties: WorkQueues, history: History, precedence: TransferOrder) -> Iterator[str]:
    """Every transfer that can reach a destination before the instruction that takes its first row there is posted."""
    found: list[str] = []
    play = OrderedPlay(duties, history, precedence)

    def before(task: Task) -> None:
        assert task.transfer is not None
        found.extend(_early(play, task.transfer))

    play.run(before)
    yield from found


def _early(play: Play, transfer: Transfer) -> Iterator[str]:
    for stage, node in enumerate(transfer.destinations):
        taker = _taker(play, transfer, stage, node)
        if taker is None:
            continue
        play.without(Barrier(task=taker))
        early = play.rows[transfer.number][stage] > 0
        play.rewind()
        if early:
            yield (
                f"{transfer} can reach {node_name(node, play.duties.tiles)} before {taker} is posted there: its rows "
                f"would go round, and come out of order"
            )


def _taker(play: Play, transfer: Transfer, stage: int, node: int) -> Task | None:
    row = play.history.ahead[transfer.number][stage]
    queue = play.duties.queues[play.duties.takers[node]] if node in play.duties.takers else []
    return next((task for task in queue if task.node == node and task.takes_before + task.rounds > row), None)
