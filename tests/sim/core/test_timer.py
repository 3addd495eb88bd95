"""An alarm rings at the cycle that was set last, once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import simpy

from tilesim.sim.core.clock import Clock
from tilesim.sim.core.timer import Timer


@pytest.mark.parametrize(
    ("settings", "rings"),
    [
        ({0: 5}, [5]),
        ({0: 5, 2: 9}, [9]),
        ({0: 9, 2: 5}, [5]),
        ({0: 5, 2: None}, []),
        ({0: None, 3: 4}, [4]),
        ({0: 3, 4: 4}, [3, 4]),
        ({0: 5, 2: 5}, [5]),
        ({0: 5, 2: 6, 3: 5}, [5]),
        ({0: 0}, [0]),
    ],
)
def test_the_last_setting_counts(settings: dict[int, int | None], rings: list[int]) -> None:
    clock = Clock()
    heard: list[int] = []
    alarm = Timer(clock, lambda: heard.append(clock.cycle))
    clock.process(_set(clock, alarm, settings))
    clock.run()
    assert heard == rings


def _set(clock: Clock, alarm: Timer, settings: dict[int, int | None]) -> Iterator[simpy.Event]:
    for at, cycle in settings.items():
        yield clock.timeout(at - clock.cycle)
        alarm.set(cycle)
