"""Sentences about what is wrong with a model, which remember what they are about: for those who sort such sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal, TypeAlias, TypeVar

from tilesim.errors import ModelError

Item = TypeVar("Item")
Result = TypeVar("Result")

About: TypeAlias = Literal["file", "operator", "type", "shape", "form"]
"""``file``: it is no model. ``operator``: nothing here reads it. ``type``: numbers that nothing here computes with.
``shape``: sizes that are not fixed. ``form``: anything else that a model or an operator of it must not be.
"""


class ModelFault(str):
    """The sentence. ``actual`` is what is there instead, an operator's kind or a type of numbers; ``operator`` and
    ``name`` are those of the node that it is about, or there is only the name, of a tensor. ``inside`` is the sentence
    without the file's name.
    """

    __slots__ = ("about", "actual", "inside", "name", "operator")

    about: About
    actual: str
    operator: str
    name: str
    inside: str

    def __new__(
        cls,
        sentence: str,
        about: About = "form",
        actual: str = "",
        operator: str = "",
        name: str = "",
        inside: str = "",
    ) -> ModelFault:
        self = super().__new__(cls, sentence)
        self.about, self.actual, self.operator, self.name = about, actual, operator, name
        self.inside = inside or sentence
        return self

    @classmethod
    def of(cls, sentence: str) -> ModelFault:
        """Any sentence as one that is about a form."""
        return sentence if isinstance(sentence, ModelFault) else cls(sentence)

    def at(self, where: str, operator: str = "", name: str = "") -> ModelFault:
        """The sentence, led by where in the file it arose."""
        return ModelFault(f"{where}: {self}", self.about, self.actual, operator or self.operator, name or self.name)

    def of_file(self, path: str) -> ModelFault:
        """The sentence, led by the file's name."""
        return ModelFault(f"{path}: {self}", self.about, self.actual, self.operator, self.name, self.inside)


def wrong_type(sentence: str, actual: str, name: str = "") -> ModelError:
    """That numbers must be of a type, as the ``sentence`` says, and not of the ``actual`` one."""
    return ModelError(ModelFault(f"{sentence}, not {actual}", "type", actual, name=name))


def no_model(sentence: str) -> ModelError:
    """That a file is no model at all, and why."""
    return ModelError(ModelFault(sentence, "file"))


def collect(faults: list[str], where: str, error: ModelError, operator: str = "", name: str = "") -> None:
    """Keep each of an error's sentences, led by where it arose: at a node, or a tensor that has but a name."""
    faults.extend(ModelFault.of(fault).at(where, operator, name) for fault in error.faults)


def gather(faults: list[str], items: Iterable[Item], read: Callable[[Item], Result]) -> list[Result]:
    """What ``read`` makes of each item; of those that it refuses the faults are kept instead."""
    return [result for result in gather_each(faults, items, read) if result is not None]


def gather_each(faults: list[str], items: Iterable[Item], read: Callable[[Item], Result | None]) -> list[Result | None]:
    """What ``read`` makes of each item, None of those that it refuses."""
    results: list[Result | None] = []
    for item in items:
        try:
            results.append(read(item))
        except ModelError as error:
            faults.extend(error.faults)
            results.append(None)
    return results


def in_file(path: Path, error: ModelError) -> ModelError:
    """Every fault of an error, led by the file."""
    return ModelError(ModelFault.of(fault).of_file(str(path)) for fault in error.faults)
