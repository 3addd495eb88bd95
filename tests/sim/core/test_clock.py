"""The clock's events and those that wait for them."""

from __future__ import annotations

import simpy

from tilesim.sim.core.clock import Clock, Phase


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
    assert any(each is heard for each in listeners)
    assert any(each is process for each in listeners)
    assert None in listeners
    clock.run()
    assert list(clock.listeners()) == []
