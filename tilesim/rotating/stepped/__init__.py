"""The rotating machine once more, clock by clock: the living definition of what each unit does in a cycle.

Every unit is plain state that is asked in every cycle, in the order of who goes first at the ports of the RAMs. What
it sees is the state at the start of the cycle; all effects are seen from the next one on. Nothing is skipped, nothing
is planned ahead. It shares with the first model nothing but the instruction set, the topology, how the host's maps
stand in rows, and the arithmetic of an operation, and takes the same cycles.
"""

from tilesim.rotating.stepped.simulate import Outcome, simulate, step

__all__ = ["Outcome", "simulate", "step"]
