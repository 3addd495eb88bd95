"""What is found out of bare transfers of several masters on a bus, as JSON holds it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from typing_extensions import TypedDict

from tilesim.machines.program import Program

Verdict = Literal["proven", "refuted", "not proven"]
"""``refuted``: a run was seen to break the rule. ``not proven``: nothing proves the order, and no run broke it."""


class TrialTransfer(TypedDict):
    """A transfer, and where it goes."""

    name: str
    letter: str
    """What pictures call it."""
    instruction: str
    """The label of what sends it: ``start_times`` name that."""
    master: str
    to: list[str]
    """In the order in which its rows reach them."""
    path: list[int]
    """All nodes that it passes, its master first, by their numbers."""
    rows: int
    after: dict[str, str]
    """Transfers that it waits for, and what of each: ``sent``, ``passed``, ``received`` or ``taken``."""


class TrialPair(TypedDict):
    """Two transfers that nothing keeps from breaking a reading of the rule."""

    transfers: list[str]
    """Their names."""
    verdict: Verdict
    reason: str
    """The sentence of `tilesim check`."""
    start_times: dict[str, int] | None
    """Cycles before which instructions do not begin, with which a run was seen to break the rule."""
    cycle: int | None
    """When it did."""
    stop: str | None
    """Where."""
    runs: int
    """How many runs were made to see it."""


class TrialReading(TypedDict):
    """What is proven under one reading of the rule, the strictest first."""

    reading: str
    verdict: Verdict
    pairs: list[TrialPair]
    more: int
    """Pairs that are not listed."""


class TrialPassage(TypedDict):
    """A row passes a node: it is sent, forwarded or taken there."""

    cycle: int
    node: int
    transfer: str
    row: int


class TrialSpan(TypedDict):
    """A transfer is under way: from its first row on the bus until its last one is taken, which is not included."""

    transfer: str
    start: int
    end: int


class TrialBreach(TypedDict):
    """When and where the reading that binds was broken."""

    transfers: list[str]
    cycle: int
    stop: str
    sentence: str


class TrialPicture(TypedDict):
    """One run: who occupies which nodes when."""

    start_times: dict[str, int]
    shows: str
    """``counterexample``, ``start`` (the times that were given) or ``run``."""
    ended: bool
    """Whether every row was taken."""
    passages: list[TrialPassage]
    under_way: list[TrialSpan]
    breaches: list[TrialBreach]


class TrialDocument(TypedDict):
    """All of it."""

    schema: str
    name: str
    topology: str
    nodes: list[str]
    transfers: list[TrialTransfer]
    reading: str
    """The one that binds."""
    readings: list[TrialReading]
    others: list[str]
    """What else `tilesim check` refutes: ``rule: sentence``."""
    picture: TrialPicture


@dataclass(frozen=True)
class Trial:
    """Bare transfers, judged; ``program`` makes them."""

    SCHEMA: ClassVar[str] = "tilesim.masters/1"

    program: Program
    document: TrialDocument

    @property
    def verdict(self) -> Verdict:
        """That under the reading that binds."""
        binding = self.document["reading"]
        return next(each["verdict"] for each in self.document["readings"] if each["reading"] == binding)


@dataclass(frozen=True)
class SuiteCase:
    """A case of a suite: its transfers in words, and its verdict under each reading."""

    name: str
    family: str
    words: str
    verdicts: dict[str, str]
    files: Callable[[], Mapping[str, str]]
    """Texts by the names of files: the transfers as YAML, and the program that makes them."""


@dataclass(frozen=True)
class Suite:
    """Bare transfers with known verdicts, for others to try their own checkers with: the ``table`` holds all of it."""

    table: Path
    cases: tuple[SuiteCase, ...]
