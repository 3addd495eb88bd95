"""``--partition``: how the layers of networks are to be spread over the tiles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tilesim.cli.faults import kept, refuse
from tilesim.cli.options.models import Named
from tilesim.cli.options.priorities import layer_of
from tilesim.machines.machine import Spreads
from tilesim.machines.policies import CHOICES, SPATIAL, PartitionPolicy
from tilesim.machines.program import Program
from tilesim.network.graph import Network
from tilesim.printable import printable, unknown
from tilesim.registry import machine_of
from tilesim.report.words import short_name


def partition_policy(named: Sequence[Named], words: Sequence[str] | None) -> PartitionPolicy:
    """What the words after ``--partition`` say of networks: ``CHOICE`` for all layers, ``LAYER=CHOICE`` for one.

    Raises:
        InputError: choices that there are not, names of nothing, or several words for one thing, all at once.
    """
    faults: list[str] = []
    defaults: list[str] = []
    layers: list[tuple[int, int, str]] = []
    for word in words or []:
        name, equals, choice = word.rpartition("=")
        wrong: list[str] = []
        if choice not in CHOICES:
            wrong.append(unknown(choice, CHOICES, "a choice"))
        elif equals:
            with kept(wrong):
                layers.append((*layer_of(named, name), choice))
        else:
            defaults.append(choice)
        faults += [f"--partition {word}: {fault}" for fault in wrong]
    if len(defaults) > 1:
        faults.append(f"--partition: must be one choice for all layers, not {' and '.join(defaults)}")
    faults += _repeated(named, layers)
    refuse(faults)
    return PartitionPolicy(defaults[0] if defaults else SPATIAL, tuple(layers))


def unmet(networks: Sequence[Network], programs: Sequence[Program], policy: PartitionPolicy) -> Iterator[str]:
    """What was asked of single layers but could not be, and why not; one sentence each."""
    for number, (network, program) in enumerate(zip(networks, programs, strict=True)):
        machine = machine_of(program.topology)
        if not isinstance(machine, Spreads):
            continue
        for k, why in machine.unmet(program, policy.wishes(number, network).layers):
            whose = f" of {printable(network.name)}" if len(networks) > 1 else ""
            yield f"layer {k}{whose}, {short_name(program.layers[k].name)}, {why}"


def _repeated(named: Sequence[Named], layers: Sequence[tuple[int, int, str]]) -> list[str]:
    counts = Counter((network, layer) for network, layer, _ in layers)
    return [
        f"--partition: layer {layer} of {named[network].word} must be given once, not {count} times"
        for (network, layer), count in counts.items()
        if count > 1
    ]
