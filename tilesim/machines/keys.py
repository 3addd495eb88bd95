"""The keys of a chip: what each is set to, what it means, and where two chips differ."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from tilesim.units import format_bytes, parse_bytes

Value = str | int | float | bool


class Key(NamedTuple):
    """A key as YAML and ``--set`` name it (``tile.lanes``), its value, and its meaning in words."""

    key: str
    value: Value
    meaning: str


def keys(chip: BaseModel, section: str = "") -> Iterator[Key]:
    """Every key of ``chip``, in the order of its schema; one without a description gets its section's."""
    for name, field in type(chip).model_fields.items():
        value = getattr(chip, name)
        if isinstance(value, BaseModel):
            yield from keys(value, f"{section}{name}.")
        else:
            yield Key(f"{section}{name}", value, _meaning(chip, field))


def differences(one: BaseModel, other: BaseModel) -> list[str]:
    """The keys whose values differ, those within sections first: ``tile.lanes: 64, not 32``."""
    others = {each.key: each for each in keys(other)}
    pairs = [(each, others[each.key]) for each in keys(one) if each.key in others]
    pairs.sort(key=lambda pair: "." not in pair[0].key)
    return [f"{ours.key}: {spelt(ours)}, not {spelt(theirs)}" for ours, theirs in pairs if ours.value != theirs.value]


def spelt(key: Key) -> str:
    """The value as YAML may spell it: exact, sizes and clocks in larger units where those are."""
    if isinstance(key.value, bool):
        return str(key.value).lower()
    if key.key.endswith("_hz"):
        return f"{int(key.value) / 1e6:.12g} MHz"
    size = format_bytes(int(key.value)) if key.key.endswith("size_bytes") else ""
    return size if size and parse_bytes(size) == key.value else str(key.value)


def _meaning(chip: BaseModel, field: FieldInfo) -> str:
    """In words, with what there is to choose from."""
    words = field.description or (type(chip).__doc__ or "").partition("\n")[0].rstrip(".")
    choices = get_args(field.annotation) if get_origin(field.annotation) is Literal else ()
    return f"{words}: {' or '.join(choices)}" if choices else words
