"""What there is to log of a rotating chip: what is counted, the output unit's buffers, and what units are at."""

from __future__ import annotations

from tilesim.rotating.isa.model.instructions import Counter
from tilesim.rotating.units.chip import Chip
from tilesim.sim.trace.state_log import StateLog


def attach(log: StateLog, chip: Chip) -> None:
    """Have ``chip`` tell the ``log`` of everything; units come first."""
    for unit in (*chip.units, *chip.links):
        log.unit(unit.track, "instruction")
    counted = {counter: log.signal(f"nnu.{counter}.flags.count", "flag") for counter in Counter}

    def count(counter: str, value: int) -> None:
        counted[Counter(counter)].set(chip.clock.cycle, value)

    chip.counts.on_count = count
    chip.output.on_held = log.teller("nnu.output.fifo", "fill", lambda: chip.clock.cycle)
