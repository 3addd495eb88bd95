"""Faults of several things, kept to be told together, in the words of the command line."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Annotated, TypeAlias, TypeVar

from tilesim.errors import InputError, kept, refuse

T = TypeVar("T")

Faults: TypeAlias = Annotated[list[str], "no option"]
"""What is wrong with the words of a command line, for a command that goes on to look for more."""

OPTIONS = {
    "override": "--set",
    "partition": "--partition, --loop-order and --no-bands",
    "cache": "--no-cache, --priority, --layer-priority and --parameters-over",
    "masters": "--masters",
    "rules": "--rules",
    "holds": "--hold",
    "hold": "--hold",
    "instant": "--instant",
    "keys": "--keys",
    "fit": "--fit",
    "vary": "--vary",
    "where": "--where",
    "settings": "--set",
}
PLACES = (
    re.compile(r"^(?:[^:]*: )?(?P<word>\w+) must be left out: "),
    re.compile(r"^(?:\S+: )?(?P<word>override) \S+="),
    re.compile(r"^(?P<word>vary|where|settings|keys|fit) \S"),
    re.compile(r"^(?P<word>hold|instant) (?:must be the label |')"),
    re.compile(r"; (?P<word>the override) grid=RxC "),
)
"""Where a fault names an argument."""


def faults_of(*readings: Callable[[], object]) -> list[str]:
    """The faults of all that is read."""
    faults: list[str] = []
    for read in readings:
        with kept(faults):
            read()
    return faults


def told_with(faults: Sequence[str], read: Callable[[], T]) -> T:
    """What ``read`` gives, unless there are ``faults``: these are told with those of the reading. Raises InputError."""
    try:
        found = read()
    except InputError as error:
        raise InputError([*faults, *error.faults]) from None
    refuse(faults)
    return found


def in_options(fault: str) -> str:
    """A fault in the words of the command line."""
    for place in PLACES:
        match = place.search(fault)
        if match and (option := OPTIONS.get(match["word"].removeprefix("the "))):
            return f"{fault[: match.start('word')]}{option}{fault[match.end('word') :]}"
    return fault
