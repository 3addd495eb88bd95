"""A design space in a YAML file, which says what the command line of `tilesim sweep` says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field, field_validator, model_validator

from tilesim.config import ConfigSection, load, top_keys
from tilesim.errors import InputError, kept
from tilesim.explore.conditions.expression import expression
from tilesim.explore.conditions.names import unmeasured
from tilesim.explore.design.space import Space, measures_on, space
from tilesim.explore.design.values import values_of
from tilesim.explore.point import Value
from tilesim.explore.rows.answers import Objective
from tilesim.printable import short, shown

SUFFIXES = (".yaml", ".yml")


def _as_list(words: object) -> object:
    """One word alone stands for a list of it."""
    return (words,) if isinstance(words, str) else tuple(words) if isinstance(words, list) else words


def _condition(text: str) -> str:
    try:
        expression(text)
    except InputError as error:
        raise ValueError(str(error)) from None
    return text


def _measure(name: str) -> str:
    if fault := unmeasured(name):
        raise ValueError(fault)
    return name


Words: TypeAlias = Annotated[tuple[str, ...], BeforeValidator(_as_list)]
Conditions: TypeAlias = Annotated[tuple[Annotated[str, AfterValidator(_condition)], ...], BeforeValidator(_as_list)]
Objectives: TypeAlias = Annotated[tuple[Annotated[str, AfterValidator(_measure)], ...], BeforeValidator(_as_list)]


class SweepDocument(ConfigSection):
    """What to run, on what, and what varies. Files are named as on the command line: as seen from where one is."""

    models: Annotated[Words, Field(min_length=1, description="files, or names of workloads")]
    chips: Annotated[Words, Field(min_length=1, description="files, or names of chips")]
    vary: Annotated[
        dict[str, object],
        Field(
            default_factory=dict,
            description="values of keys and options: a list, or a text such as 2^4..2^8 or squares:1..8",
        ),
    ]
    set: Annotated[
        dict[str, object],
        Field(default_factory=dict, description="keys of the chips that are changed in every point"),
    ]
    where: Annotated[Conditions, Field(description="conditions over keys, options and measures")] = ()
    minimise: Annotated[Objectives, Field(description="measures that are to be small")] = ()
    maximise: Annotated[Objectives, Field(description="measures that are to be large")] = ()

    @field_validator("vary")
    @classmethod
    def _values(cls, vary: dict[str, object]) -> dict[str, object]:
        faults = [f"{key}: {fault}" for key, given in vary.items() for fault in _odd(key, given)]
        if faults:
            raise ValueError("\n".join(faults))
        return vary

    @field_validator("set")
    @classmethod
    def _settings(cls, settings: dict[str, object]) -> dict[str, object]:
        odd = [key for key, value in settings.items() if not isinstance(value, str | int | float | bool)]
        if odd:
            raise ValueError("\n".join(f"{key}: must be one value" for key in odd))
        return settings

    @model_validator(mode="after")
    def _fits(self) -> SweepDocument:
        faults: list[str] = []
        with kept(faults):
            self.space()
        measures = measures_on(self.chips)
        for section, names in (("minimise", self.minimise), ("maximise", self.maximise)):
            odd = ((number, unmeasured(name, measures)) for number, name in enumerate(names))
            faults += (f"{section}.{number} {fault}" for number, fault in odd if fault)
        if faults:
            raise ValueError("\n".join(map(self._placed, faults)))
        return self

    def space(self, where: Sequence[str] = ()) -> Space:
        """The design space that it describes, with more conditions. Raises InputError."""
        vary = {key: _values(given) for key, given in self.vary.items()}
        settings = {key: value for key, value in self.set.items() if isinstance(value, str | int | float | bool)}
        return space(self.models, self.chips, vary, settings, (*self.where, *where))

    def objectives(self) -> list[Objective]:
        """What points are judged by; empty if it does not say."""
        small = [Objective(measure) for measure in self.minimise]
        return small + [Objective(measure, maximise=True) for measure in self.maximise]

    def _placed(self, fault: str) -> str:
        """A fault that begins with the key of the file that it is of."""
        for section, word in (("vary", "vary "), ("set", "settings ")):
            if fault.startswith(word):
                return f"{section}.{fault.removeprefix(word)}"
        for number, text in enumerate(self.where):
            if fault.startswith(f"where {shown(text)}"):
                return f"where.{number} {fault.removeprefix('where ')}"
        return fault


def is_document(word: str) -> bool:
    """Whether a word of the command line names such a file, and not a network in YAML. Raises ConfigError."""
    path = Path(word)
    return path.suffix in SUFFIXES and path.is_file() and bool(top_keys(path) & {*SweepDocument.model_fields})


def load_document(path: Path) -> SweepDocument:
    """The design space in a YAML file.

    Raises:
        ConfigError: all faults in it, with their places.
    """
    return load(path, SweepDocument)


def _odd(key: str, given: object) -> Iterator[str]:
    """What is wrong with the values of an axis."""
    items = given if isinstance(given, list) else [given]
    if len(_values(given)) < len(items):
        yield "must be a list of values, or text such as 2^4..2^8"
        return
    faults: list[str] = []
    with kept(faults):
        values_of(key, _values(given))
    yield from (fault.removeprefix(f"vary {short(key)}: ") for fault in faults)


def _values(given: object) -> Sequence[Value]:
    """Those of an axis; commas part them in a text that stands alone."""
    items = given.split(",") if isinstance(given, str) else given if isinstance(given, list) else [given]
    return [value for value in items if isinstance(value, str | int | float | bool)]
