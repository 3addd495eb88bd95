"""The clock's events and those that wait for them; an alarm rings at the cycle that was set last, once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import simpy

from tilesim.sim.core.clock import Clock, Handover, Phase, Timer


def test_it_knows_who_hears_of_the_events_to_come() -> None:
    clock = Clock()
    heard: list[object] = []
    clock.phase(Phase.SETTLE, 3).callbacks.append(heard.append)
    clock.timeout(5).callbacks.append(lambda _: None)
    clock.timeout(1)

    def work() -> simpy.events.ProcessGenerator:
        yield clock.timeout(9)

    process = clock.process(work())
    clock.run(until=2)
    listeners = list(clock.listeners())
    assert len(listeners) == 3
    assert any(listener is heard for listener in listeners)
    assert any(listener is process for listener in listeners)
    assert None in listeners
    clock.run()
    assert list(clock.listeners()) == []


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


@pytest.mark.parametrize("cycles", [0, 1, 5])
def test_what_is_handed_over_is_there_when_all_of_it_has_come(cycles: int) -> None:
    clock, heard = Clock(), []
    handover = Handover(clock)
    handover.callbacks.append(lambda event: heard.append((clock.cycle, event.value)))
    clock.timeout(3).callbacks.append(lambda _: handover.begin("row", cycles))
    clock.run()
    assert heard == [(3 + cycles, "row")]
