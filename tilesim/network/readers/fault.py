"""A sentence about what is wrong with a model, which remembers what it is about: for those who sort such sentences."""

from __future__ import annotations

from typing import Literal, TypeAlias

from tilesim.errors import ModelError

About: TypeAlias = Literal["file", "operator", "type", "shape", "form"]
"""``file``: it is no model. ``operator``: nothing here reads it. ``type``: numbers that nothing here computes with.
``shape``: sizes that are not fixed. ``form``: anything else that a model or an operator of it must not be.
"""


class Fault(str):
    """The sentence. ``found`` is what is there instead, an operator's kind or a type of numbers; ``operator`` and
    ``name`` are those of the node that it is about, or there is only the name, of a tensor. ``inside`` is the sentence
    without the file's name.
    """

    __slots__ = ("about", "found", "inside", "name", "operator")

    about: About
    found: str
    operator: str
    name: str
    inside: str

    def __new__(
        cls,
        sentence: str,
        about: About = "form",
        found: str = "",
        operator: str = "",
        name: str = "",
        inside: str = "",
    ) -> Fault:
        self = super().__new__(cls, sentence)
        self.about, self.found, self.operator, self.name = about, found, operator, name
        self.inside = inside or sentence
        return self

    @classmethod
    def of(cls, sentence: str) -> Fault:
        """Any sentence as one that is about a form."""
        return sentence if isinstance(sentence, Fault) else cls(sentence)

    def at(self, where: str, operator: str = "", name: str = "") -> Fault:
        """The sentence, led by where in the file it arose."""
        return Fault(f"{where}: {self}", self.about, self.found, operator or self.operator, name or self.name)

    def of_file(self, path: str) -> Fault:
        """The sentence, led by the file's name."""
        return Fault(f"{path}: {self}", self.about, self.found, self.operator, self.name, self.inside)


def no_model(sentence: str) -> ModelError:
    """That a file is no model at all, and why."""
    return ModelError(Fault(sentence, "file"))
