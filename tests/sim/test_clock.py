"""Phases of a cycle come in their order, whatever the order in which they were asked for."""

from __future__ import annotations

from itertools import permutations

import pytest

from tilesim.sim.clock import Clock, Phase


@pytest.mark.parametrize("asked", list(permutations(Phase)))
def test_phases_in_order(asked: tuple[Phase, ...]) -> None:
    clock, seen = Clock(), []
    for phase in asked:
        clock.phase(phase, 3).callbacks.append(lambda _, phase=phase: seen.append((clock.cycle, phase)))
    clock.run()
    assert seen == [(3, phase) for phase in Phase]
