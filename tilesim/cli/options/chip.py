"""The options that choose a chip, which several commands have."""

from __future__ import annotations

from typing import Annotated

import typer

from tilesim.errors import ConfigError

TopologyOption = Annotated[
    list[str] | None,
    typer.Option(
        "--topology",
        "-t",
        metavar="NAME_OR_FILE",
        help="The chip: see `tilesim topologies`; a program brings its own.",
    ),
]
TopologiesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--topology",
        "-t",
        metavar="NAME_OR_FILE",
        help="The chip: see `tilesim topologies`; a program brings its own. Given several times, the chips are "
        "compared.",
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Change a key of the chip, e.g. grid.rows=2; grid=2x4 sets both. May be given several times.",
    ),
]


def one_chip(words: list[str] | None) -> str:
    """The word after ``--topology``, or nothing.

    Raises:
        ConfigError: several words.
    """
    found = words or [""]
    if len(found) > 1:
        fault = f"--topology must be given once, not {len(found)} times; `tilesim run` compares chips"
        raise ConfigError([fault])
    return found[0]


def overrides(words: list[str] | None) -> dict[str, object]:
    """The words after ``--set`` as keys and values.

    Raises:
        ConfigError: words that are not KEY=VALUE, all at once.
    """
    pairs = [word.partition("=") for word in words or []]
    faults = [f"--set {key}: must be KEY=VALUE, such as grid.rows=2" for key, equals, _ in pairs if not equals]
    if faults:
        raise ConfigError(faults)
    return {key: value for key, _, value in pairs}
