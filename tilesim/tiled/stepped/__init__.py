"""The tiled chip once more, cycle by cycle: the living definition of what each unit does in a cycle.

Every unit is plain state that is asked in every cycle, in a fixed order: first all requests, which see the state at the
start of the cycle; then the ring's stops, which commit rows; then everybody else at the memory ports, by priority; at
last all effects, which the next cycle sees. Nothing is planned ahead, and nothing skipped but cycles that would be as
the one before: when nothing has changed in a whole cycle, the next is the first in which something is sure to. It
shares with :mod:`tilesim.tiled.units` nothing but the instruction set, the topology and the arithmetic of an operation,
and takes the same cycles.
"""

from tilesim.tiled.stepped.memory import Touch
from tilesim.tiled.stepped.simulate import Outcome, simulate

__all__ = ["Outcome", "Touch", "simulate"]
