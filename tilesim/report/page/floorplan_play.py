"""The state log of a window as the floorplan's page has it, to be played cycle by cycle."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.sim.trace.signals import Signals

MOST_TILES = 16
"""Of more tiles nobody would see what moves."""
MOST_CHANGES = 30_000
"""Of signals, that a page has; what comes later is left out."""


def played(signals: Signals | None, tiles: int) -> tuple[dict[str, Any] | None, dict[str, NDArray[Any]]]:
    """The log, whole or its first cycles, and the columns of its changes; None and no columns where there is nothing
    to play.
    """
    if signals is None or tiles > MOST_TILES or not signals.window:
        return None, {}
    stop = signals.window.stop
    if signals.cycle.size > MOST_CHANGES:
        stop = int(signals.cycle[MOST_CHANGES])
    end = int(np.searchsorted(signals.cycle, stop))
    log = {
        "names": signals.names,
        "kinds": signals.kinds,
        "texts": signals.texts,
        "window": [signals.window.start, max(stop, signals.window.start + 1)],
    }
    return log, {name: getattr(signals, name)[:end] for name in ("signal", "cycle", "value")}
