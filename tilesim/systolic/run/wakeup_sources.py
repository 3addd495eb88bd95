"""Who lets each unit go on, where it stalls for something that others have or bring.

A wait for a sync is not here, nor one for a shift or for a place in a queue: whoever ends it says so.
"""

from __future__ import annotations

from tilesim.sim.core.unit import Reason
from tilesim.sim.trace.wakeups import Partner, Partners
from tilesim.systolic.isa.model.instructions import Queue

PARTNERS: Partners = {
    ("chip.matrix", Reason.WEIGHTS.kind): Partner(["chip.weight_fetcher"]),
    ("chip.weight_path", Reason.FIFO.kind): Partner(["chip.matrix"]),
    ("chip.weight_fetcher", Reason.FIFO.kind): Partner(["chip.weight_path"]),
    ("chip.sequencer", Reason.WORK.kind): Partner([f"chip.{queue}" for queue in Queue]),
}
"""By track and kind of stall."""
