"""The options that choose a chip."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from tilesim import api
from tilesim.cli.options.groups import Options, word_option
from tilesim.errors import ConfigError
from tilesim.machines.topology import Topology
from tilesim.printable import short


@dataclass(frozen=True)
class ChipOptions(Options):
    """Which chip, and what is changed of it."""

    topology: Annotated[
        list[str] | None,
        word_option(
            "NAME_OR_FILE",
            "The chip: see `tilesim topologies`. `tilesim run` and `sweep` take several; a program brings its own.",
            "--topology",
            "-t",
        ),
    ] = None
    set_: Annotated[
        list[str] | None,
        word_option(
            "KEY=VALUE",
            "Change a key of the chip, e.g. grid.rows=2; grid=2x4 sets both. May be given several times.",
            "--set",
        ),
    ] = None

    @property
    def names(self) -> list[str]:
        """The words after ``--topology``."""
        return self.topology or []

    def faults(self) -> Iterator[str]:
        for word in self.set_ or ():
            if not all(word.partition("=")):
                yield f"--set {short(word)}: must be KEY=VALUE, such as grid.rows=2"
        keys = [word.partition("=")[0] for word in self.set_ or ()]
        for k, key in enumerate(keys):
            for part in keys[:k]:
                if part.startswith(f"{key}."):
                    word = short((self.set_ or [])[k])
                    yield f"--set {word}: must come before --set {short(part)}, which it would undo"

    def changes(self) -> dict[str, object]:
        """The words after ``--set`` as keys and values."""
        return {key: value for key, _, value in (word.partition("=") for word in self.set_ or ()) if key and value}

    def read(self, faults: list[str], several: bool = False) -> list[Topology]:
        """The chips, changed, or the one where not ``several`` may be named; what keeps them from being read joins the
        ``faults``.
        """
        if not any(self.names):
            faults.append("--topology must name a chip; `tilesim topologies` lists them")
        if len(self.names) > 1 and not several:
            faults.append(f"--topology must be given once, not {len(self.names)} times; `tilesim run` compares chips")
        chips = []
        for name in filter(None, self.names):
            try:
                chips.append(api.load_topology(name, self.changes()))
            except ConfigError as error:
                whose = f"{name}: " if len(self.names) > 1 else ""
                faults += [f"{whose * fault.startswith('override ')}{fault}" for fault in error.faults]
        return chips
