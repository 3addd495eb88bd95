"""The words of a command line that name models and programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from tilesim import api
from tilesim.assembly import SUFFIXES
from tilesim.cli.options.chip import ChipOptions
from tilesim.errors import InputError, ModelError, kept, refuse
from tilesim.machines.program import Program
from tilesim.machines.topology import Topology, differences
from tilesim.network.graph import Network
from tilesim.network.obstacles import TYPES
from tilesim.network.readers.fault import ModelFault

MODEL_FILES = "A .tflite, .onnx or .yaml file, or a workload's name"
ModelArgument = Annotated[str, typer.Argument(metavar="MODEL", help=f"{MODEL_FILES}.", show_default=False)]
ModelsArgument = Annotated[
    list[str], typer.Argument(metavar="MODEL", help=f"{MODEL_FILES}; one or several.", show_default=False)
]
SourceArgument = Annotated[
    str,
    typer.Argument(metavar="MODEL_OR_PROGRAM", help=f"{MODEL_FILES}; or a .tasm or .tbin file.", show_default=False),
]
SourcesArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="MODEL_OR_PROGRAM",
        help=f"{MODEL_FILES}; or a .tasm or .tbin file. Several models share one chip.",
        show_default=False,
    ),
]

MOST_DIFFERENCES = 5


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
    """The networks of several models."""
    named: list[Named] = []
    faults = [f"{word}: must be given once, not {count} times" for word, count in Counter(models).items() if count > 1]
    for word in dict.fromkeys(models):
        with kept(faults):
            named.append(Named(word, _loaded(word)))
    refuse(faults)
    return named


def _loaded(word: str) -> Network:
    """The network of a model; what would help one of numbers that chips do not compute with, is said at the end."""
    try:
        return api.load_network(word)
    except ModelError as error:
        types = [fault.actual for fault in map(ModelFault.of, error.faults) if fault.about == "type"]
        helping = dict.fromkeys(TYPES[actual] for actual in types if actual in TYPES)
        raise ModelError([*error.faults, *(f"{word}: what would help: {remedy}" for remedy in helping)]) from error


def titles(named: Sequence[Named]) -> list[str]:
    """What to call each network so that no two are called alike: its name, or the model's word if names repeat."""
    return distinct([model.word for model in named], [model.network.name for model in named])


def distinct(words: Sequence[str], names: Sequence[str]) -> list[str]:
    """The names of what ``words`` stand for; for each name that repeats, the word."""
    return [name if names.count(name) == 1 else word for word, name in zip(words, names, strict=True)]


def is_program(model: str) -> bool:
    """Whether the word names the file of a program, not a model."""
    return Path(model).suffix in SUFFIXES


def ready_program(path: str, chips: ChipOptions, named: Sequence[Topology]) -> Program:
    """The program in a file. It brings its chip: those that are ``named`` must be the same."""
    program = api.load_program(path)
    if chips.changes() and not chips.names:
        raise InputError(
            f"{path}: --set cannot change the chip of a program; change its .chip lines, or compile the model for "
            "another chip"
        )
    for chip in named:
        _must_be_same(path, program.topology, chip)
    return program


def _must_be_same(path: str, ours: Topology, given: Topology) -> None:
    if given == ours:
        return
    differing = differences(ours, given)
    more = [f"and {len(differing) - MOST_DIFFERENCES} more"] if len(differing) > MOST_DIFFERENCES else []
    raise InputError(
        f"{path}: the program is compiled for another chip than --topology gives "
        f"({'; '.join([*differing[:MOST_DIFFERENCES], *more])}); leave --topology out, or compile the model again"
    )
