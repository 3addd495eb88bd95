"""What a search tries next: Optuna's proposals, as places on axes.

Optuna is asked for a round of points before it hears what came of any of them, and hears that in the order in which it
gave them. So what it proposes depends on the seed and on the rounds before, and on nothing else: not on how many
workers there are, nor on which of them is faster. Each round has random numbers of its own, so that a search that was
killed goes on as if it had not been.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from random import Random
from typing import TYPE_CHECKING, Literal, TypeAlias

from tilesim.explore.bench.digests import digest

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.trial import FrozenTrial, Trial

STARTUP_TRIALS = 16
"""Points that are drawn at random before Optuna models what came of them."""
ATTEMPTS = 20
"""How often Optuna is asked for a point that is new and wanted, before one is drawn at random."""
DRAWN = 10_000
"""How many points are then looked at, at most."""
WANTED = "wanted"
"""The constraint that a point violates which is not tried."""
SETTINGS = (STARTUP_TRIALS, ATTEMPTS, DRAWN)

Choice: TypeAlias = tuple[int, ...]
"""A place on each dimension."""


@dataclass(frozen=True)
class Dimension:
    """What varies: how many values it has, and whether those side by side are alike."""

    name: str
    size: int
    ordered: bool


@dataclass(frozen=True)
class Outcome:
    """What came of a point."""

    values: tuple[float, ...]
    """Of the objectives; none where it did not run."""
    violations: Mapping[str, float]
    """By how much it violates each constraint; not at all where that is zero."""

    @property
    def is_feasible(self) -> bool:
        """Whether it ran, and violates nothing."""
        return bool(self.values) and not any(self.violations.values())


UNWANTED = Outcome((), {WANTED: 1.0})


class Sampler:
    """Proposes points, and hears what came of them.

    Args:
        dimensions: what varies.
        maximise: of each objective, whether more is better.
        seed: of everything random.
        wanted: what is true of a point that is to be tried.
    """

    def __init__(
        self,
        dimensions: Sequence[Dimension],
        maximise: Sequence[bool],
        seed: int,
        wanted: Callable[[Choice], object],
    ) -> None:
        import optuna

        self._dimensions, self._seed, self._wanted = dimensions, seed, wanted
        self._size = prod(dimension.size for dimension in dimensions)
        self._distributions = {dimension.name: _distribution(dimension) for dimension in dimensions}
        with quiet():
            self._study = optuna.create_study(directions=directions(maximise))
        self._round = 0
        self._seen: set[Choice] = set()
        self._open: list[tuple[Trial, Outcome | None]] = []

    def ask(self, count: int) -> list[Choice]:
        """A round: at most ``count`` points, all of them new and wanted; fewer if no more are found."""
        from optuna.samplers import TPESampler

        random = Random(digest(self._seed, self._round))  # noqa: S311  (it keeps no secret)
        self._study.sampler = TPESampler(
            n_startup_trials=STARTUP_TRIALS, multivariate=True, seed=random.getrandbits(32)
        )
        choices: list[Choice] = []
        while len(choices) < count and (choice := self._next(random)) is not None:
            choices.append(choice)
        return choices

    def tell(self, outcomes: Sequence[Outcome]) -> list[FrozenTrial]:
        """Hear what came of the points of a round, in their order; returned is the round as Optuna keeps it."""
        coming = iter(outcomes)
        told = [self._told(trial, known or next(coming)) for trial, known in self._open]
        self._open, self._round = [], self._round + 1
        return told

    def recall(self, trials: Sequence[FrozenTrial]) -> list[Choice]:
        """The points of a round that was told before."""
        self._study.add_trials(trials)
        self._seen.update(map(self._choice, trials))
        self._round += 1
        return [self._choice(trial) for trial in trials if WANTED not in trial.constraints]

    def _next(self, random: Random) -> Choice | None:
        """A point that Optuna proposes; those that it proposed before are left out."""
        from optuna.trial import TrialState

        if len(self._seen) == self._size:
            return None
        for _ in range(ATTEMPTS):
            trial = self._study.ask(self._distributions)
            choice = self._choice(trial)
            if choice in self._seen:
                self._study.tell(trial, state=TrialState.FAIL)
            elif self._opened(trial, choice):
                return choice
        return self._drawn(random)

    def _drawn(self, random: Random) -> Choice | None:
        for place in random.sample(range(self._size), min(self._size, DRAWN)):
            choice = self._choice_at(place)
            if choice not in self._seen and self._wanted(choice):
                self._study.enqueue_trial(dict(zip(self._distributions, choice, strict=True)))
                self._opened(self._study.ask(self._distributions), choice)
                return choice
        return None

    def _opened(self, trial: Trial, choice: Choice) -> bool:
        """Whether a new point is wanted; of one that is not, Optuna hears with the others."""
        self._seen.add(choice)
        wanted = bool(self._wanted(choice))
        self._open.append((trial, None if wanted else UNWANTED))
        return wanted

    def _told(self, trial: Trial, outcome: Outcome) -> FrozenTrial:
        from optuna.trial import TrialState

        for name, violation in outcome.violations.items():
            trial.set_constraint(name, violation)
        # Of a trial that was pruned and violates something, Optuna looks at the violation alone.
        state = TrialState.COMPLETE if outcome.values else TrialState.PRUNED
        return self._study.tell(trial, outcome.values or None, state)

    def _choice(self, trial: Trial | FrozenTrial) -> Choice:
        return tuple(int(trial.params[name]) for name in self._distributions)

    def _choice_at(self, place: int) -> Choice:
        """The point at a place among all of them."""
        return tuple(self._places(place))

    def _places(self, place: int) -> Iterator[int]:
        for dimension in self._dimensions:
            place, own = divmod(place, dimension.size)
            yield own


def directions(maximise: Sequence[bool]) -> list[Literal["minimize", "maximize"]]:
    """As Optuna spells them."""
    return ["maximize" if more else "minimize" for more in maximise]


@contextmanager
def quiet() -> Iterator[None]:
    """Keep Optuna from writing what it does."""
    from optuna import logging

    verbosity = logging.get_verbosity()
    logging.set_verbosity(logging.ERROR)
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)


def _distribution(dimension: Dimension) -> BaseDistribution:
    from optuna.distributions import CategoricalDistribution, IntDistribution

    if dimension.ordered:
        return IntDistribution(0, dimension.size - 1)
    return CategoricalDistribution(range(dimension.size))
