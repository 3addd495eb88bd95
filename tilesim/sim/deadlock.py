"""Why nothing can go on: who waits for whom, in a circle or for what never comes; the same before a run and in one."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Generic, NamedTuple, TypeVar

from tilesim.sim.core.unit import Reason, Unit

NAMED = 8
"""Causes that are named, and waits of a circle; of more only the number is given."""

Waiter = TypeVar("Waiter", bound=Hashable)


class Awaited(NamedTuple, Generic[Waiter]):
    """What somebody waits for, in words, and who must go on before it comes; nobody, if it never does."""

    words: str
    of: Waiter | None = None


def explain(waiters: Iterable[Waiter], awaited: Callable[[Waiter], Awaited[Waiter]]) -> list[str]:
    """A sentence for each circle of waits, and for each wait without an end; who only waits for those has none."""
    sentences: dict[str, None] = {}
    explained: set[Waiter] = set()
    for waiter in waiters:
        sentences.update(dict.fromkeys(_follow(waiter, awaited, explained)))
    return _shortened(list(sentences), "and {} more")


def _follow(waiter: Waiter, awaited: Callable[[Waiter], Awaited[Waiter]], explained: set[Waiter]) -> Iterator[str]:
    """Follow the waits from somebody on until they end, or come to somebody who was there before."""
    words: dict[Waiter, str] = {}
    here: Waiter | None = waiter
    while here is not None and here not in explained:
        explained.add(here)
        wait = awaited(here)
        words[here] = f"{here} waits for {wait.words}"
        if wait.of is None:
            yield words[here]
        here = wait.of
    if here in words:
        circle = [*words.values()][[*words].index(here) :]
        yield "these wait in a circle: " + "; ".join(_shortened(circle, "and so on, through {} more"))


def _shortened(words: list[str], more: str) -> list[str]:
    return words if len(words) <= NAMED else [*words[:NAMED], more.format(len(words) - NAMED)]


def stuck(unit: Unit) -> bool:
    """Whether a unit is in the middle of something, and does not just wait for an instruction."""
    return unit.waiting is not None and unit.waiting.reason is not Reason.INSTRUCTION


def stuck_units(units: Iterable[Unit], start: int) -> Iterator[str]:
    """A line for each unit that is in the middle of something: since when, counted from cycle ``start``, and why."""
    for unit in units:
        wait = unit.waiting
        if wait is not None and stuck(unit):
            where = f"{unit.track} in {unit.instruction}" if unit.instruction else unit.track
            yield f"{where} has waited since cycle {wait.since - start:,} for {wait.describe()}"
