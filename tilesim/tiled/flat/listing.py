"""What each instruction of a program is for: stops on the instruction bus, layers, requests."""

from __future__ import annotations

from itertools import accumulate, islice, repeat

import numpy as np
from numpy.typing import NDArray

from tilesim.tiled.isa.model.instructions import header_of
from tilesim.tiled.isa.model.program import Program


class Headers:
    """The headers of all instructions of load and run, of which few differ."""

    def __init__(self, program: Program) -> None:
        tiles = program.topology.tiles
        every = [header_of(op, tiles) for op in (*program.load, *program.run)]
        numbers = {header: number for number, header in enumerate(dict.fromkeys(every))}
        self.unlike = [*numbers]
        """Each of them once, as a bitmap of stops."""
        self.number = np.array([numbers[header] for header in every], np.int64)
        """By instruction, which of them it has."""
        self.stops = np.array([header.bit_length() for header in self.unlike], np.int64)[self.number]
        """By instruction, how many stops it passes, up to the last one that it is for."""


def layers_of(program: Program) -> NDArray[np.int64]:
    """The layer for which each instruction is, of those of load and run; -1 for none."""
    return np.array([op.layer for op in (*program.load, *program.run)], np.int64)


def requests_of(program: Program) -> NDArray[np.int64]:
    """The number of the request for which each is."""
    begins = {request.begins for request in program.requests if request.begins}
    behind = accumulate((op.label in begins for op in program.run), initial=0) if begins else repeat(0)
    return np.array([*repeat(0, len(program.load)), *islice(behind, len(program.run))], np.int64)
