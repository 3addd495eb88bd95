"""Which networks and layers come first, as the words of a command line say it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from typing import TypeVar

from tilesim.cli.faults import kept, refuse
from tilesim.cli.options.models import Named
from tilesim.errors import InputError
from tilesim.machines.policies import CachePolicy
from tilesim.network.graph import Network
from tilesim.printable import printable
from tilesim.report.words import short_name

Meant = TypeVar("Meant")


def policy(named: Sequence[Named], cache: bool, networks: str | None, layers: str | None) -> CachePolicy:
    """The numbers of the networks in ``MODEL,...`` and the (network, layer) of each in ``MODEL:LAYER,...``.

    A network is named by its model's word or its own name; a layer by its number or its name, long or short. Where
    there is one network, the layer alone will do.

    Raises:
        InputError: names of nothing, or of several things, all at once.
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


def weighs(network: Network, layer: int) -> bool:
    """Whether a layer has parameters."""
    return any(network.tensors[index].data is not None for index in network.nodes[layer].inputs)


def layer_of(named: Sequence[Named], word: str, fits: Callable[[Network, int], bool] = anything) -> tuple[int, int]:
    """The numbers of the network and of the layer, one that ``fits``, that ``MODEL:LAYER`` names; of one network the
    layer alone will do.

    Names may have colons, so the longest name of a network that fits is meant.

    Raises:
        InputError: the name of nothing, or of several layers.
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
