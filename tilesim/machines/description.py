"""What reports say of a machine's runs: words for what its run.json names. Data that a machine gives, and no code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias


@dataclass(frozen=True)
class Role:
    """What the tracks are whose paths end as ``ending`` says (``*`` stands for anything)."""

    ending: str
    words: str
    """What several of them are called."""
    bus: str = ""
    """The bus that it is a link of."""
    sends_on: str = ""
    """The bus on which it puts what it sends, as one of several masters."""
    apart: bool = False
    """Whether each of them has a row of its own in the picture of the whole run."""
    moves: bool = False
    """Whether its instructions are transfers, which may take no time if the user wants to know what that would save."""


@dataclass(frozen=True)
class Resource:
    """What units wait for: for a ``reason``, in the role that ends in ``ending``, where somebody of the role that ends
    in ``by`` lets them go on; ``*`` stands for all roles, and for nobody.
    """

    words: str
    reason: str
    ending: str = "*"
    by: str = "*"
    own: bool = False
    """Whether it is the unit's own doing if nobody is named who lets it go on."""


Lost: TypeAlias = Literal[
    "remainder", "halo", "parameters", "serial", "bus", "ports", "tile", "unused", "idle", "other"
]
"""What cycles are lost to where a chip has more MAC arrays; in words in :mod:`tilesim.report.exploration.losses`."""


@dataclass(frozen=True)
class Cause:
    """What cycles of MAC arrays went into, a key of ``breakdown``."""

    meaning: str
    """For a legend."""
    wait: str = ""
    """The same in a list of what a run spent its cycles on; empty where the arrays compute."""
    lost: Lost = "other"
    """What cycles are lost to that go into it where a chip has more arrays; ``idle``: they had nothing to do."""
    lost_if_sent: Lost | None = None
    """The same in layers whose parameters come from elsewhere during the run, if that is something else."""
    short: str = ""
    """In a table, if that is not its name."""


@dataclass(frozen=True)
class PeakRate:
    """A roof: so many MACs or bytes a cycle of the ``clock``, the product of a chip's ``keys``, and of the number of
    ``links`` of a bus if one is named.
    """

    words: str
    keys: tuple[str, ...]
    links: str = ""
    clock: str = "clock_hz"
    per: int = 1
    """By what the product is divided: 8 where the keys say how many bits."""
    byte: str = ""
    """What a byte is of which it brings so many; empty of MACs. The bytes of a layer are the following."""
    bus: str = ""
    """Those that entered it: a name in run.json's ``bytes``."""
    actions: tuple[str, ...] = ()
    """Those of the actions: names in run.json's ``energy``."""
    rates: tuple[str, ...] = ()
    """Keys that say it a second, whatever the clock, where they are not 0: one a way, of which the fastest counts."""


@dataclass(frozen=True)
class AreaPart:
    """What takes area on a chip: MACs, bytes of a memory, or bytes that links carry a cycle; ``times`` the product of
    the chip's ``keys``, or of what it makes of them (``tiles``).
    """

    words: str
    """What all of them are called."""
    kind: Literal["mac", "sram", "link"]
    keys: tuple[str, ...]
    times: int = 1
    ports: int | str = 1
    """Of a memory: how many, or the key that says it."""


Ends: TypeAlias = Mapping[str, tuple[str, ...]]
"""By how a track ends, how other tracks end, the likeliest first. ``#`` is the number in its name, the same in theirs,
``#-1`` the one before; ``*`` is anything. What stands before the end is the same.
"""


@dataclass(frozen=True)
class Dependences:
    """Who waits for whom, as far as the stalls of a trace do not say it."""

    started_by: Ends = field(default_factory=dict)
    """Who sets an idle unit to work, with the same instruction."""
    taken_by: Ends = field(default_factory=dict)
    """Who takes what stands before a link, as it enters that."""
    freed_by: Ends = field(default_factory=dict)
    """Who frees the place for which a unit stalls: the one of them that the instruction is for."""
    told_by: Ends = field(default_factory=dict)
    """Whose spans tell more of what a unit does."""


@dataclass(frozen=True)
class Description:
    """A machine in the words of a report. What it leaves out is called as in run.json, or is left out of the report."""

    roles: tuple[Role, ...] = ()
    """The first that fits a track is its role."""
    groups: Mapping[str, str] = field(default_factory=dict)
    """The title of the group that a track's second word belongs to, groups in order; any other word titles its own."""
    resources: tuple[Resource, ...] = ()
    """The first that fits a stall is what the unit waits for."""
    mac_arrays: str = ""
    """How the tracks of MAC arrays end."""
    dependences: Dependences = field(default_factory=Dependences)
    """What a trace does not say of them."""
    causes: Mapping[str, Cause] = field(
        default_factory=lambda: {"macs": Cause("the MAC array multiplies, or does the layer's other work")}
    )
    """In the order in which they are explained."""
    sent_parameters: tuple[str, ...] = ()
    """Which of the words of a layer's ``parameters`` say that they come from elsewhere during the run."""
    tile_keys: tuple[str, ...] = ()
    """The keys of a chip whose product is the number of its MAC arrays."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """What columns of the table of layers mean here: ``cycles``, ``in use``, ``bound by``, ``lasted``, ``bytes``; and
    its row ``outside layers``.
    """
    parameter_memory: str = "memory"
    """Where parameters come from during a run."""
    peaks: tuple[PeakRate, ...] = ()
    """Of MACs, whatever the intensity."""
    bandwidths: tuple[PeakRate, ...] = ()
    """Of bytes, the most telling first: each has a roofline of its own."""
    as_much_as: Mapping[str, str] = field(default_factory=dict)
    """Keys that runs of earlier versions lack, with the key that said it then."""
    buses: tuple[str, ...] = ()
    """Those in run.json's ``bytes``."""
    memories: tuple[str, ...] = ()
    """Those of which the machine tells a program's peak."""
    area: tuple[AreaPart, ...] = ()
    """What takes area; what stands beside the chip is not among it."""
