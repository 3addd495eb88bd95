"""The options that choose a chip."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from tilesim import api
from tilesim.errors import ConfigError
from tilesim.machines.topology import Topology


@dataclass(frozen=True)
class ChipOptions:
    """Which chip, and what is changed of it."""

    topology: Annotated[
        list[str] | None,
        typer.Option(
            "--topology",
            "-t",
            metavar="NAME_OR_FILE",
            help="The chip: see `tilesim topologies`; a program brings its own. `tilesim run` compares several.",
        ),
    ] = None
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Change a key of the chip, e.g. grid.rows=2; grid=2x4 sets both. May be given several times.",
        ),
    ] = None

    @property
    def names(self) -> list[str]:
        """The words after ``--topology``."""
        return self.topology or []

    def name(self) -> str:
        """The word after ``--topology``, or nothing."""
        if len(self.names) > 1:
            fault = f"--topology must be given once, not {len(self.names)} times; `tilesim run` compares chips"
            raise ConfigError([fault])
        return "".join(self.names)

    def changes(self) -> dict[str, object]:
        """The words after ``--set`` as keys and values."""
        words = self.set_ or []
        if faults := [
            f"--set {word}: must be KEY=VALUE, such as grid.rows=2" for word in words if not all(word.partition("="))
        ]:
            raise ConfigError(faults)
        return {key: value for key, _, value in (word.partition("=") for word in words)}

    def load(self) -> Topology:
        """The one chip, changed."""
        if not self.name():
            raise ConfigError("--topology must name a chip; `tilesim topologies` lists them")
        return api.load_topology(self.name(), self.changes())
