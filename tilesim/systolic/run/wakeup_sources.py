"""Who lets each unit go on, where it stalls for something that others have or bring.

A wait for a sync is not here, nor one for a shift or for a place in a queue: whoever ends it says so.
"""

from __future__ import annotations

from tilesim.sim.core.unit import Reason
from tilesim.sim.trace.wakeups import WakeupSource, WakeupSources
from tilesim.systolic.isa.model.instructions import Queue

PARTNERS: WakeupSources = {
    ("chip.matrix", Reason.WEIGHTS.kind): WakeupSource(["chip.weight_fetcher"]),
    ("chip.weight_path", Reason.FIFO.kind): WakeupSource(["chip.matrix"]),
    ("chip.weight_fetcher", Reason.FIFO.kind): WakeupSource(["chip.weight_path"]),
    ("chip.sequencer", Reason.WORK.kind): WakeupSource([f"chip.{queue}" for queue in Queue]),
}
"""By track and kind of stall."""
