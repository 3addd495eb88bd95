"""Bare transfers, as a file names them: who sends how many rows to whom, on which ring, and after what."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from tilesim.config import ConfigSection, load
from tilesim.errors import ConfigError
from tilesim.printable import shown, unknown
from tilesim.shipped import located
from tilesim.tiled.topology import Topology

SOURCE, SINK = "source", "sink"
"""The ends of the ring, at the controller: its infeed, which only sends, and its outfeed, which only receives."""
EXAMPLE = "ring-8"
"""The chip that a number of tiles is a variant of."""
MOST_TRANSFERS = 26
MOST_TILES = 64
MOST_ROWS = 1024
"""Of all transfers together."""
LATEST_START = 10_000
LONGEST_NAME = 24


class When(StrEnum):
    """What of an earlier transfer a later one waits for.

    ``sent``: its last row has left its master, by a fence on that one's producer. ``passed``: its tail has passed the
    later one's master, by the count of tails there. ``received``: the later one's master has taken all its rows, by
    the flag of its consumer. ``taken``: all destinations have taken all its rows, by a fence on their consumers.
    """

    SENT = "sent"
    PASSED = "passed"
    RECEIVED = "received"
    TAKEN = "taken"


def _name(word: object) -> object:
    if isinstance(word, str) and not re.fullmatch(rf"[A-Za-z][\w-]{{0,{LONGEST_NAME - 1}}}", word, re.ASCII):
        raise ValueError(f"must be a letter, then up to {LONGEST_NAME - 1} letters, digits, - or _, not {shown(word)}")
    return word


def _node(word: object, end: str) -> object:
    """The number of a tile, or the one end of the ring that this can be."""
    if isinstance(word, bool) or not isinstance(word, int | str):
        raise ValueError(f"must be the number of a tile or {end}")
    if isinstance(word, str) and word != end:
        meant = f"; did you mean {end!r}?" if get_close_matches(word, [end], 1) else ""
        raise ValueError(f"must be the number of a tile or {end}, not {shown(word)}{meant}")
    return word


def _several(words: object) -> object:
    return tuple(words) if isinstance(words, list | tuple) else (words,)


def _waits(words: object) -> object:
    """``first`` and ``[first, other]`` are short for all that they send having been taken."""
    if isinstance(words, str):
        words = [words]
    if isinstance(words, list) and all(isinstance(word, str) for word in words):
        if len(set(words)) < len(words):
            raise ValueError("must name each transfer once")
        return dict.fromkeys(words, str(When.TAKEN))
    if not isinstance(words, dict):
        raise ValueError("must be the names of transfers, or keys such as first: taken")
    return words


Name = Annotated[str, BeforeValidator(_name)]
Sender = Annotated[int | str, BeforeValidator(lambda word: _node(word, SOURCE))]
Receiver = Annotated[int | str, BeforeValidator(lambda word: _node(word, SINK))]


class BareTransfer(ConfigSection):
    """Rows of one master to one group of receivers."""

    name: Annotated[Name, Field(description="what verdicts call it")]
    master: Annotated[Sender, Field(description="the tile that sends it, or source")]
    to: Annotated[
        tuple[Receiver, ...],
        BeforeValidator(_several),
        Field(min_length=1, description="the tiles that take its rows, or sink; one or a list"),
    ]
    rows: Annotated[int, Field(ge=1, le=MOST_ROWS, description="packets, of which the last has the tail bit")] = 4
    after: Annotated[
        dict[str, Annotated[When, Field(strict=False)]],
        BeforeValidator(_waits),
        Field(description="earlier transfers, and what of each it waits for"),
    ] = {}  # noqa: RUF012  (frozen)
    start: Annotated[
        int | None, Field(ge=0, le=LATEST_START, description="the cycle before which it does not begin")
    ] = None


class Scenario(ConfigSection):
    """Transfers on the ring of one chip, in the order in which their instructions are issued."""

    chip: Annotated[str, Field(description="a chip by name or file")] = EXAMPLE
    tiles: Annotated[
        int | None, Field(ge=2, le=MOST_TILES, description=f"tiles of a chip like {EXAMPLE}, instead of a chip")
    ] = None
    keys: Annotated[dict[str, Any], Field(description="keys of the chip that are changed, by their dotted names")] = {}  # noqa: RUF012  (frozen)
    transfers: Annotated[
        tuple[BareTransfer, ...], Field(max_length=MOST_TRANSFERS, description=f"from 1 to {MOST_TRANSFERS}")
    ]

    @model_validator(mode="after")
    def _transfers_fit(self) -> Scenario:
        try:
            chip = self.topology()
        except ConfigError as error:
            raise ValueError("\n".join(_chip_faults(error))) from None
        faults = [*self._choice_faults(), *self._faults(chip)]
        if faults:
            raise ValueError("\n".join(faults))
        return self

    def topology(self) -> Topology:
        """The chip. Raises ConfigError."""
        changes = dict(self.keys)
        if self.tiles is not None:
            grid = {"grid.rows": 1, "grid.columns": self.tiles}
            words = {"name": f"ring-{self.tiles}", "description": f"{self.tiles} small tiles on the ring"}
            changes = {**words, **changes, **grid}
        return load(located(self.chip, "topologies"), Topology, changes)

    def _choice_faults(self) -> Iterator[str]:
        if self.tiles is not None and "chip" in self.model_fields_set:
            yield "tiles must be left out where there is a chip: its keys grid.rows and grid.columns say it"

    def _faults(self, chip: Topology) -> Iterator[str]:
        if not self.transfers:
            yield "transfers must have at least 1 entry, not 0"
        if chip.tiles > MOST_TILES:
            yield f"chip must have at most {MOST_TILES} tiles, not {chip.tiles}"
        rows = sum(transfer.rows for transfer in self.transfers)
        if rows > MOST_ROWS:
            yield f"transfers must have at most {MOST_ROWS} rows in all, not {rows}"
        earlier: dict[str, BareTransfer] = {}
        for k, transfer in enumerate(self.transfers):
            for fault in (
                *_node_faults(transfer, chip.tiles),
                *_row_faults(transfer, chip),
                *wait_faults(transfer, earlier, chip.tiles),
            ):
                yield f"transfers.{k}.{fault}"
            if transfer.name in earlier:
                yield f"transfers.{k}.name must not be that of an earlier one, {transfer.name!r}"
            earlier.setdefault(transfer.name, transfer)


def _chip_faults(error: ConfigError) -> list[str]:
    """What is wrong with the chip: its machine, before all keys that are another machine's."""
    of_machine = [fault for fault in error.faults if " machine must be " in fault]
    return [
        re.sub(r"^override ([\w.]+)=.*?: ", r"keys.\1: ", fault) if fault.startswith("override ") else f"chip {fault}"
        for fault in of_machine or error.faults
    ]


def read_scenario(path: Path) -> Scenario:
    """The transfers in a YAML file.

    Raises:
        ConfigError: every fault of it.
    """
    return load(path, Scenario)


def _node_faults(transfer: BareTransfer, tiles: int) -> Iterator[str]:
    there = f"a tile from 0 to {tiles - 1}"
    if isinstance(transfer.master, int) and not 0 <= transfer.master < tiles:
        yield f"master must be {there} or {SOURCE}, not {transfer.master}"
    for k, place in enumerate(transfer.to):
        if isinstance(place, int) and not 0 <= place < tiles:
            yield f"to.{k} must be {there} or {SINK}, not {place}"
        elif place == transfer.master:
            yield f"to.{k} must not be the master itself, tile {place}"
        if place in transfer.to[:k]:
            yield f"to.{k} must be given once, not twice: {place}"


def _row_faults(transfer: BareTransfer, chip: Topology) -> Iterator[str]:
    most = chip.data_memory.size_bytes // chip.wide_memory.row_bytes
    if transfer.master == SOURCE and transfer.rows > most:
        yield f"rows must be at most {most}, which data memory holds, not {transfer.rows}"


def wait_faults(transfer: BareTransfer, earlier: Mapping[str, BareTransfer], tiles: int) -> Iterator[str]:
    for name, when in transfer.after.items():
        if name not in earlier:
            yield f"after.{name} {_no_earlier(name, earlier)}"
        elif fault := _impossible(transfer, earlier[name], when, tiles):
            yield f"after.{name} {fault}"


def _no_earlier(name: str, earlier: Mapping[str, BareTransfer]) -> str:
    if not earlier:
        return "must be left out: no transfer stands before this one"
    return unknown(name, earlier, "the name of a transfer that stands before this one")


def _impossible(transfer: BareTransfer, first: BareTransfer, when: When, tiles: int) -> str | None:
    """Why there is nothing to wait for, if so."""
    others = "must be one of the others"
    if when is When.RECEIVED and transfer.master not in first.to:
        return f"{others}, not received: {_called(transfer.master)} gets no rows of {first.name}"
    if when is When.SENT and first.master == SOURCE:
        return f"{others}, not sent: no fence tells when the source has sent its rows"
    if when is When.PASSED and not passes(first, transfer.master, tiles):
        return f"{others}, not passed: the tail of {first.name} never passes {_called(transfer.master)}"
    return None


def _called(place: int | str) -> str:
    return f"tile {place}" if isinstance(place, int) else f"the {place}"


def passes(transfer: BareTransfer, place: int | str, tiles: int) -> bool:
    """Whether the packets of a transfer come by a tile or an end of the ring."""
    nodes = tiles + 3
    master, node, *to = (node_of(each, tiles) for each in (transfer.master, place, *transfer.to))
    return (node - master) % nodes <= max((each - master) % nodes for each in to)


def node_of(place: int | str, tiles: int) -> int:
    """The node of the ring that the number of a tile means, or an end's name."""
    if isinstance(place, int):
        return place + 1
    return 0 if place == SOURCE else tiles + 2
