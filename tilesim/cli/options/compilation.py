"""The options that say how models are compiled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Annotated, TypeVar

import typer

from tilesim.cli.faults import faults_of
from tilesim.cli.options.groups import Options, word_option
from tilesim.cli.options.models import Named
from tilesim.errors import InputError, refuse
from tilesim.machines.machine import Spreads
from tilesim.machines.policies import (
    AUTO,
    CHOICES,
    LAYER_CHOICES,
    MIXED,
    ORDERS,
    WAYS,
    CachePolicy,
    PartitionPolicy,
    misordered,
    weighs,
)
from tilesim.machines.program import Program
from tilesim.network.graph import Network, Node
from tilesim.printable import printable, short, shown, unknown
from tilesim.registry import machine_of
from tilesim.report.words import short_name

Meant = TypeVar("Meant")


@dataclass(frozen=True)
class PlacementOptions(Options):
    """Whose parameters stay in the tiles, and how layers are spread over these."""

    priority: Annotated[
        str | None,
        word_option(
            "MODEL,...", "Networks whose parameters get room in the tiles first, in descending order; else as listed."
        ),
    ] = None
    layer_priority: Annotated[
        str | None,
        word_option(
            "MODEL:LAYER,...", "Layers, by name or number, that get room before all others, in descending order."
        ),
    ] = None
    parameters_over: Annotated[
        str,
        word_option(
            "auto|ring|mesh",
            "By which bus parameters come to other tiles from one that keeps them: the ring, the mesh, from neighbour "
            "to neighbour, where it joins wide memories, or each set as holds up the tiles less, by estimate.",
        ),
    ] = AUTO
    partition: Annotated[
        list[str] | None,
        word_option(
            "mixed, or [LAYER=]spatial|channel|auto, or LAYER=one",
            "How layers are spread over the tiles: each fitted to tiles and lanes by estimate; by rows and columns; by "
            "output channels where that can be; or whichever takes fewest simulated cycles. With LAYER=, a name or a "
            "number, for one layer; one: a fully connected layer in one tile. May be given several times.",
        ),
    ] = None
    loop_order: Annotated[
        list[str] | None,
        word_option(
            "LAYER=rows|blocks|pixels|inputs",
            "What the outermost loop of a layer, by name or number, goes over on each tile: output rows, blocks of "
            "output channels, output pixels, or input channels, with partial sums in wide memory. May be given several "
            "times.",
        ),
    ] = None
    no_bands: Annotated[
        bool,
        typer.Option(
            "--no-bands", help="Refuse maps that don't fit the tiles; else the host may send them in bands of rows."
        ),
    ] = False

    def faults(self) -> Iterator[str]:
        for word in self.partition or ():
            choices = LAYER_CHOICES if "=" in word else CHOICES
            if (choice := word.rpartition("=")[2]) not in choices:
                yield f"--partition {short(word)}: {unknown(choice, choices, 'a choice')}"
        for option, words in {"--priority": self.priority, "--layer-priority": self.layer_priority}.items():
            if words is not None and not all(_split(words)):
                yield f"{option} must be names with commas between them, not {shown(words)}"
        if self.parameters_over not in WAYS:
            yield f"--parameters-over {unknown(self.parameters_over, WAYS)}"
        for word in self.loop_order or ():
            if not (parts := word.rpartition("="))[0] or parts[2] not in ORDERS:
                yield f"--loop-order must be LAYER=ORDER, with an order of {', '.join(ORDERS)}, not {short(word)}"
        if len(self._defaults) > 1:
            yield f"--partition: must be one choice for all layers, not {' and '.join(self._defaults)}"

    @property
    def _defaults(self) -> list[str]:
        """The choices for all layers."""
        return [word for word in self.partition or () if word in CHOICES]

    def unmeant(self, named: Sequence[Named]) -> list[str]:
        """Faults of words that stand for nothing of the networks, if these are known."""
        return faults_of(lambda: self.cache_policy(named), lambda: self.partition_policy(named)) if named else []

    def cache_policy(self, named: Sequence[Named]) -> CachePolicy:
        """The numbers of the networks in ``MODEL,...`` and the (network, layer) of each in ``MODEL:LAYER,...``.

        A network is named by its model's word or its own name; a layer by its number or its name, long or short. Where
        there is one network, the layer alone will do.
        """
        faults: list[str] = []
        first = _meant("--priority", _listed(self.priority), lambda word: _network(named, word), faults)
        most = _meant("--layer-priority", _listed(self.layer_priority), lambda w: layer_of(named, w, weighs), faults)
        refuse(faults)
        return CachePolicy(True, tuple(first), tuple(most), self.parameters_over)

    def partition_policy(self, named: Sequence[Named]) -> PartitionPolicy:
        """What is asked of networks: ``CHOICE`` for all layers, ``LAYER=CHOICE`` for one."""

        faults: list[str] = []
        spread = [word for word in self.partition or () if "=" in word]
        layers = _of_layers("--partition", spread, named, faults)
        orders = _of_layers("--loop-order", self.loop_order or (), named, faults, misordered)
        refuse(faults)
        default = "".join(self._defaults[:1]) or MIXED
        return PartitionPolicy(default, tuple(layers), tuple(orders), not self.no_bands)


@dataclass(frozen=True)
class CompilationOptions(PlacementOptions):
    """How models are compiled."""

    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Keep no parameters in the tiles: all are streamed in every inference.")
    ] = False

    def faults(self) -> Iterator[str]:
        yield from super().faults()
        order = {"--priority": self.priority, "--layer-priority": self.layer_priority}
        for option in [option for option, words in order.items() if words is not None and self.no_cache]:
            yield f"{option} must be left out, as --no-cache leaves nothing in the tiles"

    def cache_policy(self, named: Sequence[Named]) -> CachePolicy:
        return replace(super().cache_policy(named), cache=not self.no_cache)


def _of_layers(
    option: str,
    words: Iterable[str],
    named: Sequence[Named],
    faults: list[str],
    unfit: Callable[[Node, str], str] = lambda _node, _choice: "",
) -> list[tuple[int, int, str]]:
    """The (network, layer, choice) of each word ``LAYER=CHOICE`` of an option; a layer has one choice, which ``unfit``
    may say something against.
    """

    def meant(word: str) -> tuple[int, int, str]:
        name, _, choice = word.rpartition("=")
        network, layer = layer_of(named, name)
        if fault := unfit(named[network].network.nodes[layer], choice):
            raise InputError(fault)
        return network, layer, choice

    layers = _meant(option, words, meant, faults)
    counts = Counter((network, layer) for network, layer, _ in layers)
    faults += [
        f"{option}: layer {layer} of {named[network].word} must be given once, not {count} times"
        for (network, layer), count in counts.items()
        if count > 1
    ]
    return layers


def unmet(networks: Sequence[Network], programs: Sequence[Program], policy: PartitionPolicy) -> Iterator[str]:
    """What was asked of single layers but could not be, and why not; one sentence each."""
    for number, (network, program) in enumerate(zip(networks, programs, strict=True)):
        machine = machine_of(program.topology)
        if not isinstance(machine, Spreads):
            continue
        for k, why in machine.unmet(program, policy.wishes(number, network).layers):
            whose = f" of {printable(network.name)}" if len(networks) > 1 else ""
            yield f"layer {k}{whose}, {short_name(program.layers[k].name)}, {why}"


def _listed(words: str | None) -> list[str]:
    """The names among the words of an option."""
    return [word for word in _split(words or "") if word]


def _split(words: str) -> list[str]:
    return [word.strip() for word in words.split(",")]


def _meant(option: str, words: Iterable[str], find: Callable[[str], Meant], faults: list[str]) -> list[Meant]:
    """What each word of an option stands for; for one that stands for nothing, a fault."""
    meant = []
    for word in words:
        try:
            meant.append(find(word))
        except InputError as error:
            faults += [f"{option} {short(word)}: {fault}" for fault in error.faults]
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
