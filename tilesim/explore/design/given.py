"""Networks and chips that a script hands over, in the words of a command line."""

from __future__ import annotations

from pathlib import Path

from tilesim import api
from tilesim.errors import InputError
from tilesim.explore.point import Value
from tilesim.machines.topology import Topology, keys
from tilesim.network.graph import Network
from tilesim.registry import machine_of


def network_words(model: Network | Path | str) -> tuple[str, Network]:
    """What names a network, and the network. One that is no file goes by its own name.

    Raises:
        InputError: no such file or workload, or faults in it.
    """
    if isinstance(model, Network):
        return model.name, model
    return str(model), api.load_network(model)


def chip_words(chip: Topology | Path | str) -> tuple[str, dict[str, Value]]:
    """What names a chip, and the keys that are to be changed of it. One that is no file is a chip that comes with
    tilesim, changed in all keys that differ.

    Raises:
        InputError: none of its machine does.
    """
    if not isinstance(chip, Topology):
        return str(chip), {}
    named = chip.name if chip.name in api.list_topologies() else machine_of(chip).example
    if not named:
        raise InputError(f"{chip.name}: must be given as a file, as no {chip.machine} chip comes with tilesim")
    other = {key.key: key.value for key in keys(api.load_topology(named))}
    changed = {key.key: key.value for key in keys(chip) if key.value != other.get(key.key)}
    changed.pop("description", None)
    if "name" in changed:
        changed["name"] = _quoted(chip.name)
    return named, changed


def _quoted(text: str) -> str:
    """Text that YAML reads as text, whatever it holds."""
    plain = (c if c.isprintable() and c not in '"\\' else f"\\U{ord(c):08x}" for c in text)
    return f'"{"".join(plain)}"'
