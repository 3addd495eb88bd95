"""What the core says of a program: when everything happens, and what each unit's cycles are."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec import Struct

from tilesim.tiled.flat.columns import EVENTS
from tilesim.tiled.flat.tables import Numbers


class Watched:
    """How far a run is, for whoever looks, in whatever thread: first its cycles pass, then bytes are moved, layer by
    layer.
    """

    def __init__(self) -> None:
        self.section = "load"
        self.cycles: Numbers = np.zeros(2, np.int64)
        """What the core writes to; the first one is the cycle in the section."""
        self.layer = -1
        """The foremost layer that bytes were moved for; -1 if there is none yet."""

    @property
    def cycle(self) -> int:
        return int(self.cycles[0])

    @property
    def foremost(self) -> int | None:
        """The foremost layer, None if there is none yet."""
        return None if self.layer < 0 else self.layer


class SectionLog(Struct, frozen=True):
    """What happened in a section, in its order: ``events`` have cycle, tile (-1: none), instruction (in the order of
    load and run), engine, one of :data:`~tilesim.tiled.flat.columns.EVENTS` and how far it is; ``deliveries`` say that
    rows were taken off the ring: node, instruction, its first row, transfer, the first row of that, and how many.
    """

    events: Numbers
    deliveries: Numbers


class Notes(Struct, frozen=True):
    """What units did in both sections, in their order: by track, numbers as
    :data:`~tilesim.tiled.flat.columns.NOTED_WORK` says, where the core has them, which they keep. ``wakes`` says who
    waited for a flag that rose: cycle, account, and the instruction that raised it (-1: none).
    """

    of: Mapping[str, Numbers]
    wakes: Numbers


class Timing(Struct, frozen=True):
    """What became of a program: ``outcome`` is one of :data:`~tilesim.tiled.flat.columns.OUTCOMES`, the rest is known
    if that is ``ended``. ``units`` are the cycles of each track by kind in the run section, which began at ``start``;
    ``load`` and ``run`` what happened in the two; ``transfers`` went over the ring: instruction, how far the stops are
    moved up, rows, stops, those on their way, and the tile that sent them (-1: none). ``spent`` are the cycles of each
    tile's tensorops for each request and layer (none before the first) by cause, and ``waits`` those between them:
    tile, instruction, cause, from when to when. ``programs``: when each request, if the host announces it, was
    there; ``received``: when each row of results was at the host; ``steps``: when each step of
    the host began, and ended; ``notes``: what a trace is made of.
    """

    outcome: str
    cycles: int = 0
    load_cycles: int = 0
    start: int = 0
    units: Mapping[str, Mapping[str, int]] | None = None
    load: SectionLog | None = None
    run: SectionLog | None = None
    transfers: Numbers | None = None
    spent: Numbers | None = None
    waits: Numbers | None = None
    programs: Numbers | None = None
    received: Numbers | None = None
    steps: Numbers | None = None
    notes: Notes | None = None

    @property
    def events(self) -> Numbers | None:
        """The run's beginnings and retirements: cycle, tile, instruction, engine, whether it is over."""
        if self.run is None:
            return None
        events = self.run.events[self.run.events[:, 4] < EVENTS.index("rose"), :5].copy()
        events[:, 0] -= self.start
        return events
