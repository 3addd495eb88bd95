"""Several networks, as the words of a command line name them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tilesim import api
from tilesim.errors import InputError
from tilesim.network.graph import Network


@dataclass(frozen=True)
class Named:
    """A network, and the word with which the command line names its model."""

    word: str
    network: Network

    @property
    def names(self) -> frozenset[str]:
        """What a person may call it."""
        return frozenset({self.word, self.network.name})


def load_all(models: Sequence[str]) -> list[Named]:
    """The networks of several models.

    Raises:
        InputError: a model given twice, or faults in any of them, all at once.
    """
    found: list[Named] = []
    faults = [f"{word}: must be given once, not {count} times" for word, count in Counter(models).items() if count > 1]
    for word in dict.fromkeys(models):
        try:
            found.append(Named(word, api.load_network(word)))
        except InputError as error:
            faults += error.faults
    if faults:
        raise InputError(faults)
    return found


def titles(named: Sequence[Named]) -> list[str]:
    """What to call each network so that no two are called alike: its name, or the model's word if names repeat."""
    names = Counter(each.network.name for each in named)
    return [each.network.name if names[each.network.name] == 1 else each.word for each in named]
