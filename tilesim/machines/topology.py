"""What chips of all machines have in common; their keys in words, and where two chips differ."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal, NamedTuple, get_args, get_origin

from pydantic import BaseModel, Field
from pydantic.fields import FieldInfo

from tilesim.config import ConfigSection, Hertz
from tilesim.printable import html_table, printable
from tilesim.units import format_bytes, format_hertz, parse_bytes

Value = str | int | float | bool
Clock = Annotated[Hertz, Field(ge=1, le=10**12, description="cycles a second of everything on the chip")]


class Topology(ConfigSection):
    """A chip, as :func:`tilesim.load_topology` reads it. Its ``machine`` says of which kind it is; each kind has keys
    of its own, which ``tilesim topologies NAME`` lists, and so does a notebook.
    """

    machine: Annotated[str, Field(description="the kind of chip that this is")]
    name: Annotated[str, Field(description="what results call the chip")]
    description: Annotated[str, Field(description="what the list of chips says of it")] = ""
    clock_hz: Clock

    @property
    def arrays(self) -> int:
        """Its MAC arrays."""
        return 1

    def __repr__(self) -> str:
        return f"<Topology {self._summary}>"

    def _repr_html_(self) -> str:
        """Its keys, for a notebook."""
        return html_table(
            self._summary, ("key", "value", ""), ((key.key, spelt(key), key.meaning) for key in keys(self))
        )

    @property
    def _summary(self) -> str:
        return f"{printable(self.name)}: a {self.machine} machine at {format_hertz(self.clock_hz)}"


class Key(NamedTuple):
    """A key as YAML and ``--set`` name it (``tile.lanes``), its value, its meaning in words, and what there is to
    choose from, if it is one of several words.
    """

    key: str
    value: Value
    meaning: str
    choices: tuple[str, ...] = ()


def keys(chip: BaseModel, section: str = "") -> Iterator[Key]:
    """Every key of ``chip``, in the order of its schema; one without a description gets its section's."""
    for name, field in type(chip).model_fields.items():
        value = getattr(chip, name)
        if isinstance(value, BaseModel):
            yield from keys(value, f"{section}{name}.")
        else:
            yield Key(f"{section}{name}", value, _meaning(chip, field), _choices(field))


def differences(one: BaseModel, other: BaseModel) -> list[str]:
    """The keys whose values differ, those within sections first: ``tile.lanes: 64, not 32``."""
    others = {theirs.key: theirs for theirs in keys(other)}
    pairs = [(ours, others[ours.key]) for ours in keys(one) if ours.key in others]
    pairs.sort(key=lambda pair: "." not in pair[0].key)
    return [f"{ours.key}: {spelt(ours)}, not {spelt(theirs)}" for ours, theirs in pairs if ours.value != theirs.value]


def spelt(key: Key) -> str:
    """The value as YAML may spell it: exact, sizes and clocks in larger units where those are."""
    if isinstance(key.value, bool):
        return str(key.value).lower()
    if key.key.endswith("_hz"):
        return format_hertz(int(key.value))
    return _size(int(key.value)) if key.key.endswith("size_bytes") else str(key.value)


def _size(size_bytes: int) -> str:
    """In a larger unit where two decimals are exact."""
    words = format_bytes(size_bytes)
    try:
        return words if parse_bytes(words) == size_bytes else str(size_bytes)
    except ValueError:  # not whole bytes
        return str(size_bytes)


def _meaning(chip: BaseModel, field: FieldInfo) -> str:
    """In words, with what there is to choose from."""
    words = field.description or (type(chip).__doc__ or "").partition("\n")[0].rstrip(".")
    choices = _choices(field)
    return f"{words}: {' or '.join(choices)}" if choices else words


def _choices(field: FieldInfo) -> tuple[str, ...]:
    return tuple(map(str, get_args(field.annotation))) if get_origin(field.annotation) is Literal else ()
