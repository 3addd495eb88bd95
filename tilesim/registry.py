"""The machines that there are, by the ``machine:`` key of a topology: the one place that names them.

One from outside is an entry more: of the packages that are installed, those that have an entry point in the group
``tilesim.machines`` add theirs; a script does it with ``tilesim.MACHINES["mine"] = "my_package.machine:Mine"``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from tilesim.errors import InputError, ProgramError
from tilesim.machines.description import Description
from tilesim.machines.machine import AnyMachine, Describes
from tilesim.machines.topology import Topology
from tilesim.printable import unknown

MACHINES: dict[str, str] = {
    "tiled": "tilesim.tiled.machine:Tiled",
    "systolic": "tilesim.systolic.machine:Systolic",
    "rotating": "tilesim.rotating.machine:Rotating",
}
"""The class of each, imported when it is asked for. The first is what a topology is read as that names no machine."""
for _entry in entry_points(group="tilesim.machines"):
    MACHINES.setdefault(_entry.name, _entry.value)


def machine_named(name: str) -> AnyMachine:
    """The machine of that name, one of :data:`MACHINES`."""
    return _made(MACHINES[name])


def engines() -> Iterator[str]:
    """How the engines stand that are there for speed, a line each; of machines that can be imported."""
    for name in MACHINES:
        with suppress(InputError):
            for engine, standing in machine_named(name).engines().items():
                yield f"{engine} engine of {name} chips: {standing}"


def machine_of(topology: Topology) -> AnyMachine:
    """The machine that a chip is of.

    Raises:
        InputError: nobody has registered it.
    """
    if topology.machine not in MACHINES:
        raise InputError(f"{topology.name}: machine {unknown(topology.machine, MACHINES, 'one that there is')}")
    return machine_named(topology.machine)


def machine_of_file(path: Path) -> AnyMachine:
    """The machine that the program in a file is for; the first one, where it does not say, which tells what is wrong.

    Raises:
        ProgramError: there is no such file, or no such machine.
    """
    from tilesim.assembly.files import machine_in

    name = machine_in(path) or next(iter(MACHINES))
    if name not in MACHINES:
        raise ProgramError(f"{path}: .chip machine {unknown(name, MACHINES, 'a machine that there is')}")
    return machine_named(name)


def description_of(name: str) -> Description:
    """What reports say of runs of the machine of that name; of one that is not here, or says nothing, an empty one."""
    machine = machine_named(name) if name in MACHINES else None
    return machine.description if isinstance(machine, Describes) else Description()


def can(topology: Topology, capability: type[Any]) -> bool:
    """Whether a chip's machine has a ``capability``, one of those in :mod:`tilesim.machines.machine`."""
    return isinstance(machine_of(topology), capability)


def refusal(topology: Topology, capability: type[Any]) -> InputError:
    """What is said of a chip whose machine has not the ``capability``."""
    other = f"not one of the {topology.machine} machine"
    return InputError(f"{topology.name}: must be a chip whose machine can {able(capability)}, {other}")


def able(capability: type[Any]) -> str:
    """What a ``capability`` is, in words that follow "can", and which chips have it."""
    machines = [machine for machine in map(machine_named, MACHINES) if isinstance(machine, capability)]
    examples = [machine.example for machine in machines if machine.example]
    return f"{capability.can}, such as {' or '.join(examples)}" if examples else f"{capability.can}"


@cache
def _made(place: str) -> AnyMachine:
    try:
        machine: AnyMachine = resolve_name(place)()
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(f"machine {place}: must be a class that can be imported: {error}") from None
    return machine
