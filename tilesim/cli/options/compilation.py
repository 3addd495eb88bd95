"""The options that say how models are compiled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

from tilesim.cli.options.models import Named
from tilesim.cli.options.partition import partition_policy
from tilesim.cli.options.priorities import policy
from tilesim.machines.policies import CachePolicy, PartitionPolicy


@dataclass(frozen=True)
class PlacementOptions:
    """Whose parameters stay in the tiles, and how layers are spread over these."""

    priority: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL,...",
            help="Networks whose parameters get room in the tiles first, in descending order; else as listed.",
        ),
    ] = None
    layer_priority: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL:LAYER,...",
            help="Layers, by name or number, that get room before all others, in descending order.",
        ),
    ] = None
    partition: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[LAYER=]spatial|channel|auto",
            help="How layers are spread over the tiles: by rows and columns, by output channels where that can be, or "
            "whichever takes fewer simulated cycles; with LAYER=, a name or a number, for one layer. May be given "
            "several times.",
        ),
    ] = None

    def cache_policy(self, named: Sequence[Named], keep: bool = True) -> CachePolicy:
        """What is kept in the tiles, if anything is to be. Raises InputError with all that is no network or layer."""
        return policy(named, keep, self.priority, self.layer_priority)

    def partition_policy(self, named: Sequence[Named]) -> PartitionPolicy:
        """How layers are to be spread. Raises InputError with all words that make no sense."""
        return partition_policy(named, self.partition)


@dataclass(frozen=True)
class CompilationOptions(PlacementOptions):
    """How models are compiled."""

    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Keep no parameters in the tiles: all are streamed in every inference.")
    ] = False

    def faults(self) -> Iterator[str]:
        """What makes no sense together."""
        order = {"--priority": self.priority, "--layer-priority": self.layer_priority}
        for option in [option for option, words in order.items() if words is not None and self.no_cache]:
            yield f"{option} must be left out, as --no-cache leaves nothing in the tiles"
