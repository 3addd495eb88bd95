"""The keys of a chip: what each is set to, what it means, and where two chips differ."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from tilesim.units import format_bytes

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
    others = {key: value for key, value, _ in keys(other)}
    found = [each for each in keys(one) if each.value != others.get(each.key)]
    found.sort(key=lambda each: "." not in each.key)
    return [f"{each.key}: {spelt(each)}, not {spelt(each._replace(value=others[each.key]))}" for each in found]


def spelt(key: Key) -> str:
    """A value as YAML may spell it, sizes and clocks in the unit that they fill."""
    if isinstance(key.value, bool):
        return str(key.value).lower()
    if key.key.endswith("_hz"):
        return f"{int(key.value) / 1e6:.12g} MHz"
    return format_bytes(int(key.value)) if key.key.endswith("size_bytes") else str(key.value)


def _meaning(chip: BaseModel, field: FieldInfo) -> str:
    return field.description or (type(chip).__doc__ or "").partition("\n")[0].rstrip(".")
