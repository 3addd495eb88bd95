"""The options that say how models are compiled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Annotated, TypeVar

import typer

from tilesim.cli.faults import kept, refuse
from tilesim.cli.options.models import Named
from tilesim.errors import InputError
from tilesim.machines.machine import Spreads
from tilesim.machines.policies import CHOICES, SPATIAL, CachePolicy, PartitionPolicy, weighs
from tilesim.machines.program import Program
from tilesim.network.graph import Network
from tilesim.printable import printable, unknown
from tilesim.registry import machine_of
from tilesim.report.words import short_name

Meant = TypeVar("Meant")


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


def partition_policy(named: Sequence[Named], words: Sequence[str] | None) -> PartitionPolicy:
    """What the words after ``--partition`` say of networks: ``CHOICE`` for all layers, ``LAYER=CHOICE`` for one."""
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


def policy(named: Sequence[Named], cache: bool, networks: str | None, layers: str | None) -> CachePolicy:
    """The numbers of the networks in ``MODEL,...`` and the (network, layer) of each in ``MODEL:LAYER,...``.

    A network is named by its model's word or its own name; a layer by its number or its name, long or short. Where
    there is one network, the layer alone will do.
    """
    faults: list[str] = []
    first = _each("--priority", networks, lambda word: _network(named, word), faults)
    most = _each("--layer-priority", layers, lambda word: layer_of(named, word, weighs), faults)
    refuse(faults)
    return CachePolicy(cache, tuple(first), tuple(most))


def _each(option: str, words: str | None, find: Callable[[str], Meant], faults: list[str]) -> list[Meant]:
    """What each word of an option stands for; for one that stands for nothing, a fault."""
    meant = []
    for word in map(str.strip, words.split(",") if words is not None else ()):
        wrong: list[str] = []
        with kept(wrong):
            meant.append(find(word))
        faults += [f"{option} {word}: {fault}" for fault in wrong]
    return meant


def _network(named: Sequence[Named], word: str) -> int:
    numbers = [k for k, model in enumerate(named) if word in model.names]
    if len(numbers) == 1:
        return numbers[0]
    known = ", ".join(model.word for model in named)
    near = _guess(word, (name for model in named for name in model.names))
    raise InputError(f"must name one of {known}{f', not {len(numbers)}' if numbers else near}")


def anything(_network: Network, _layer: int) -> bool:
    """Any layer will do."""
    return True


def layer_of(named: Sequence[Named], word: str, fits: Callable[[Network, int], bool] = anything) -> tuple[int, int]:
    """The numbers of the network and of the layer, one that ``fits``, that ``MODEL:LAYER`` names; of one network the
    layer alone will do.

    Names may have colons, so the longest name of a network that fits is meant.
    """
    spelt = [(name, k) for k, model in enumerate(named) for name in model.names if word.startswith(f"{name}:")]
    if spelt:
        name = max(spelt)[0]  # each begins with the others
        network = _network(named, name)
        return network, _layer_number(named[network].network, word[len(name) + 1 :], fits)
    if len(named) == 1:
        return 0, _layer_number(named[0].network, word, fits)
    raise InputError(f"must be MODEL:LAYER, with one of {', '.join(model.word for model in named)}")


def _layer_number(network: Network, word: str, fits: Callable[[Network, int], bool]) -> int:
    names = {k: {node.name, short_name(node.name)} for k, node in enumerate(network.nodes) if fits(network, k)}
    numbers = [k for k, own in names.items() if word in own or word == str(k)]
    if len(numbers) == 1:
        return numbers[0]
    if numbers:
        raise InputError(f"must name one layer; give the number of one of {', '.join(map(str, numbers))}")
    near = _guess(word, (name for own in names.values() for name in own))
    which = " that has parameters" if fits is weighs else ""
    raise InputError(f"must name a layer of {printable(network.name)}{which}{near}")


def _guess(word: str, names: Iterable[str]) -> str:
    near = get_close_matches(word, sorted(set(names)), 1)
    return f"; did you mean {near[0]}?" if near else ""
