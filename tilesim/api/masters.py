"""Bare transfers of several masters: judged, and the cases that come with tilesim."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tilesim.api.arguments import checked
from tilesim.errors import InputError
from tilesim.machines.machine import TriesMasters
from tilesim.machines.trial import Suite, Trial
from tilesim.registry import MACHINES, machine_named


@checked
def try_masters(source: Path | str, masters: str = "meet") -> Trial:
    """Find out what becomes of the transfers in a YAML file, or of a case of the suite.

    Args:
        source: a path (anything with ``/`` or an ending), or the name of a case.
        masters: what two masters of the ring must not do, as in :func:`tilesim.simulate`.

    Raises:
        InputError: faults of the file, all at once, no such case, or transfers that the chip can't run.
    """
    return _laboratory().try_masters(source, masters)


def masters_suite() -> Suite:
    """The cases that come with tilesim, and their verdicts."""
    return _laboratory().masters_suite()


def _laboratory() -> TriesMasters[Any, Any]:
    machines = [machine for machine in map(machine_named, MACHINES) if isinstance(machine, TriesMasters)]
    if not machines:
        raise InputError(f"there is no machine here that can {TriesMasters.can}")
    return machines[0]
