"""YAML files into validated, frozen models: the only place that reads YAML, and it knows no schema.

`load` reports every fault of a file and of its overrides at once, each as ``path:line:column: sentence``. Values are
taken strictly: text is not a number and a number is not text. A schema's own validators raise
``ValueError("must be a power of two, not 48")``, which `load` prefixes with the dotted key; a validator of several keys
names the key itself (``"tile.lanes must be ..."``, relative to the section it stands in) and may put one fault a line.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from tilesim.config.reading import Reading
from tilesim.config.wording import sentences, shown_value
from tilesim.errors import ConfigError
from tilesim.units import parse_bytes, parse_hertz

Model = TypeVar("Model", bound=BaseModel)
Bytes = Annotated[int, BeforeValidator(parse_bytes)]
"""A field in bytes that YAML may write as an int or as ``64 KiB``."""
Hertz = Annotated[int, BeforeValidator(parse_hertz)]
"""A field in hertz that YAML may write as an int or as ``500 MHz``."""


class ConfigSection(BaseModel):
    """A group of keys: an unknown key is a fault, and values never change."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def load(path: Path, schema: type[Model], overrides: Mapping[str, object] | None = None) -> Model:
    """The YAML file at ``path``, one mapping in UTF-8, as a ``schema``, with ``overrides`` laid over it.

    These are dotted keys and values: ``{"grid.rows": 2, "layers.0.kernel": "[3, 3]"}``. Text is read as YAML, so that
    words of a command line can be passed as they are.

    Raises:
        ConfigError: With every fault found, in the order of the file, overrides last.
    """
    reading = Reading(path)
    data = reading.file()
    for number, (key, value) in enumerate((overrides or {}).items(), 1):
        reading.override(data, number, key, value)
    faults = list(reading.faults)
    try:
        model = schema.model_validate_json(json.dumps(data, default=_number), strict=True)
    except ValidationError as error:
        unread = {place for place, _ in faults}
        for details in error.errors(include_url=False):
            faults += [fault for fault in sentences(details, schema, reading) if fault[0] not in unread]
    else:
        if not faults:
            return model
    raise ConfigError(f"{place}: {sentence}" for place, sentence in sorted(dict.fromkeys(faults)))


def peek(path: Path, key: str, choices: tuple[str, ...]) -> str:
    """Which of ``choices`` the file's ``key`` names: what to read the rest as.

    A name that is close to one of them counts as that, none as the first: `load` then reports it along with all else
    that is wrong.

    Raises:
        ConfigError: The file is not YAML, or names something else.
    """
    reading = Reading(path)
    data = reading.file()
    if not isinstance(data, dict) or key not in data:
        return choices[0]
    if data[key] is None and reading.faults:
        raise ConfigError(f"{place}: {sentence}" for place, sentence in reading.faults)
    close = get_close_matches(str(data[key]), choices, n=1)
    if not close:
        raise ConfigError(f"{path}: {key} must be {' or '.join(map(repr, choices))}, not {shown_value(data[key])}")
    return close[0]


def top_keys(path: Path) -> frozenset[str]:
    """The keys of the file itself, for whoever must know what kind of file it is.

    Raises:
        ConfigError: The file is not YAML.
    """
    data = Reading(path).file()
    return frozenset(data) if isinstance(data, dict) else frozenset()


def _number(value: object) -> object:
    """What JSON gets for a value that it has no word for: a NumPy scalar counts as the number it holds."""
    return value.item() if hasattr(value, "item") else repr(value)
