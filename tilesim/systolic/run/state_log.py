"""What there is to log of a systolic chip: what has retired, queues, the weight FIFO, and what units are at."""

from __future__ import annotations

from tilesim.sim.trace.state_log import StateLog
from tilesim.systolic.isa.model.instructions import Queue
from tilesim.systolic.units.chip import Chip


def attach(log: StateLog, chip: Chip) -> None:
    """Have ``chip`` tell the ``log`` of everything; units come first."""
    for unit in (*chip.units, *chip.links):
        log.unit(unit.track, "instruction")

    def now() -> int:
        return chip.clock.cycle

    retired = {queue: log.signal(f"chip.{queue}.flags.retired", "flag") for queue in Queue}

    def count(queue: str, retirements: int) -> None:
        retired[Queue(queue)].set(now(), retirements)

    chip.retirement.counts.on_count = count
    for queue, issue_queue in chip.issue_queues.items():
        issue_queue.buffer.on_fill = log.teller(f"chip.{queue}.fifo", "fill", now)
    chip.weight_fifo.on_fill = log.teller("chip.weight_fifo", "fill", now)
