"""YAML files into validated, frozen models: the only place that reads YAML, and it knows no schema.

`load` reports every fault of a file and of its overrides at once, each as ``path:line:column: sentence``. Values are
taken strictly: text is not a number and a number is not text. A schema's own validators raise
``ValueError("must be a power of two, not 48")``, which `load` prefixes with the dotted key; a validator of several keys
names the key itself (``"tile.lanes must be ..."``, relative to the section it stands in) and may put one fault a line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar, get_args

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from tilesim.budgets import LARGEST_YAML_BYTES, LONGEST_NUMBER, LONGEST_TEXT, MOST_YAML_LEVELS, MOST_YAML_VALUES
from tilesim.errors import ConfigError
from tilesim.files import read_text
from tilesim.printable import short
from tilesim.units import format_bytes, parse_bytes, parse_hertz

Model = TypeVar("Model", bound=BaseModel)
Key = tuple[str | int, ...]
Bytes = Annotated[int, BeforeValidator(parse_bytes)]
"""A field in bytes that YAML may write as an int or as ``64 KiB``."""
Hertz = Annotated[int, BeforeValidator(parse_hertz)]
"""A field in hertz that YAML may write as an int or as ``500 MHz``."""

_HALF = re.compile("[\ud800-\udfff]")
"""Half of a character, as an escape in YAML or a word that is not UTF-8 makes it: JSON has no word for that."""


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
    reading = _Reading(path)
    data = reading.file()
    for number, (key, value) in enumerate((overrides or {}).items(), 1):
        reading.override(data, number, key, value)
    faults = list(reading.faults)
    try:
        model = schema.model_validate_json(json.dumps(data, default=_number), strict=True)
    except ValidationError as error:
        unread = {place for place, _ in faults}
        for details in error.errors(include_url=False):
            faults += [fault for fault in _sentences(details, schema, reading) if fault[0] not in unread]
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
    reading = _Reading(path)
    data = reading.file()
    if not isinstance(data, dict) or key not in data:
        return choices[0]
    if data[key] is None and reading.faults:
        raise ConfigError(f"{place}: {sentence}" for place, sentence in reading.faults)
    close = get_close_matches(str(data[key]), choices, n=1)
    if not close:
        raise ConfigError(f"{path}: {key} must be {' or '.join(map(repr, choices))}, not {_shown(data[key])}")
    return close[0]


def top_keys(path: Path) -> frozenset[str]:
    """The keys of the file itself, for whoever must know what kind of file it is.

    Raises:
        ConfigError: The file is not YAML.
    """
    data = _Reading(path).file()
    return frozenset(data) if isinstance(data, dict) else frozenset()


def _number(value: object) -> object:
    """What JSON gets for a value that it has no word for: a NumPy scalar counts as the number it holds."""
    return value.item() if hasattr(value, "item") else repr(value)


# ---- reading: YAML nodes and overrides into plain values, and where each came from


class _Loader(yaml.SafeLoader):
    """PyYAML's loader, which stops where there is more than any file needs."""

    nodes = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        self.nodes += 1
        if self.nodes > MOST_YAML_VALUES:
            raise yaml.YAMLError(f"more than {MOST_YAML_VALUES} keys and values")
        return super().compose_node(parent, index)


@lru_cache(maxsize=32)  # a sweep reads the same chips again and again, with other overrides
def _composed(text: str) -> yaml.Node | None:
    """The text's tree of nodes. Raises a YAMLError or a RecursionError where there is none."""
    try:
        return yaml.compose(text, Loader=_Loader)
    except (ValueError, OverflowError):  # PyYAML takes any number for one of these
        raise yaml.YAMLError("there is no character, or no version, of such a number") from None


class _Place(NamedTuple):
    """Where a value was written; places sort as a file reads, with the overrides last."""

    override: int
    line: int
    column: int
    origin: str

    def __str__(self) -> str:
        return self.origin if self.override else f"{self.origin}:{self.line}:{self.column}"


@dataclass
class _Reading:
    """What was read so far: where each key and each value stands, and the faults."""

    path: Path
    faults: list[tuple[_Place, str]] = field(default_factory=list)
    keys: dict[Key, _Place] = field(default_factory=dict)
    values: dict[Key, _Place] = field(default_factory=dict)
    characters: int = 0

    def file(self) -> object:
        """The file's plain values. Raises a ConfigError when not even the syntax holds."""
        text = read_text(self.path, LARGEST_YAML_BYTES, ConfigError)
        try:
            node = _composed(text)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            raise ConfigError(f"{self._at(mark) if mark else self.path}: not valid YAML: {error.problem}") from None
        except yaml.YAMLError as error:
            raise ConfigError(f"{self.path}: not valid YAML: {str(error).splitlines()[0]}") from None
        except RecursionError:
            raise self._too_deep() from None
        if node is None:
            raise ConfigError(f"{self.path}: empty; it must hold keys and values")
        return self._plain(node, (), (), None)

    def override(self, data: Any, number: int, dotted: str, value: object) -> None:
        """Lay the override of that number over the plain values ``data``."""
        too_long = isinstance(value, int) and value.bit_length() > 4 * LONGEST_NUMBER
        place = _Place(number, 0, 0, f"override {short(dotted)}={'...' if too_long else short(str(value))}")
        if too_long:
            self._fault(place, f"a number must have at most {LONGEST_NUMBER} digits")
            return
        words = dotted.split(".")
        if "" in words or _HALF.search(dotted):
            self._fault(place, "the key must be words with a dot between them, such as grid.rows")
            return
        try:
            parent, key = self._parent(data, words, place)
            for places in (self.keys, self.values):  # what stood there, and below it, is replaced
                for old in [old for old in places if old[: len(key)] == key]:
                    del places[old]
            self.keys[key] = self.values[key] = place
            if isinstance(value, str):
                node = _composed(value)
                value = self._plain(node, key, (), place) if node else ""
            parent[key[-1]] = value
        except ValueError as error:
            self._fault(place, str(error))
        except (yaml.YAMLError, RecursionError):
            self._fault(place, "the value is not valid YAML")

    def _parent(self, data: Any, words: list[str], place: _Place) -> tuple[Any, Key]:
        """The section or list that ``words`` end in, and their key; sections on the way that are not there are made."""
        key: Key = ()
        for word in words[:-1]:
            key = (*key, _step(data, key, word))
            if isinstance(data, dict) and data.get(word) is None:
                data[word] = {}
                self.keys[key] = self.values[key] = place
            data = data[key[-1]]
        return data, (*key, _step(data, key, words[-1]))

    def _plain(self, node: yaml.Node, key: Key, above: tuple[yaml.Node, ...], override: _Place | None) -> object:
        """The node's value; ``above`` are the nodes that it is inside of, ``override`` where it is not in the file."""
        place = self.values[key] = override or self._at(node.start_mark)
        if node in above:
            self._fault(place, f"{_dotted(key)} contains itself")
            return None
        if len(above) > MOST_YAML_LEVELS:
            raise self._too_deep()
        if len(self.values) > MOST_YAML_VALUES or self.characters > LARGEST_YAML_BYTES:
            most = f"{MOST_YAML_VALUES} values, of {format_bytes(LARGEST_YAML_BYTES)} in all"
            raise ConfigError(f"{self.path}: must hold at most {most}; check its aliases")
        inside = (*above, node)
        if isinstance(node, yaml.MappingNode):
            pairs = self._pairs(node, key, override)
            return {name: self._plain(child, (*key, name), inside, override) for name, child in pairs}
        if isinstance(node, yaml.SequenceNode):
            return [self._plain(child, (*key, i), inside, override) for i, child in enumerate(node.value)]
        return self._scalar(node, place)

    def _pairs(self, node: yaml.MappingNode, key: Key, override: _Place | None) -> Iterator[tuple[str, yaml.Node]]:
        """A mapping's names and children, the first of each name."""
        for name, child in node.value:
            place = override or self._at(name.start_mark)
            self.characters += len(name.value)
            plain = isinstance(name, yaml.ScalarNode) and name.tag != "tag:yaml.org,2002:merge"
            if not plain or _HALF.search(name.value):
                self._fault(place, f"a key of {_dotted(key)} must be a plain word")
            elif len(name.value) > LONGEST_TEXT:
                self._fault(place, f"a key must have at most {LONGEST_TEXT} characters, not {len(name.value)}")
            elif (first := self.keys.setdefault((*key, name.value), place)) is not place:
                self._fault(place, f"{_dotted((*key, name.value))} is given twice, first at {first}")
            else:
                yield name.value, child

    def _scalar(self, node: yaml.Node, place: _Place) -> object:
        kind = node.tag.removeprefix("tag:yaml.org,2002:")
        self.characters += len(node.value)
        if kind in {"str", "timestamp"}:
            if half := _HALF.search(node.value):
                self._fault(place, f"text must be of whole characters, not of halves such as {half[0]!r}")
            elif len(node.value) > LONGEST_TEXT:
                self._fault(place, f"a text must have at most {LONGEST_TEXT} characters, not {len(node.value)}")
            return "" if half else node.value
        if len(node.value) > LONGEST_NUMBER:
            self._fault(place, f"a number must have at most {LONGEST_NUMBER} digits, not {len(node.value)}")
            return None
        try:
            if kind in {"int", "float", "bool", "null"}:
                return yaml.SafeLoader("").construct_object(node)
            self._fault(place, f"the tag {node.tag!r} means nothing here")
        except (ValueError, KeyError, IndexError):
            self._fault(place, f"{node.value[:60]!r} is not of the type {kind!r}")
        return None

    def _fault(self, place: _Place, sentence: str) -> None:
        self.faults.append((place, sentence))

    def _too_deep(self) -> ConfigError:
        return ConfigError(f"{self.path}: must nest at most {MOST_YAML_LEVELS} levels deep")

    def _at(self, mark: yaml.Mark) -> _Place:
        return _Place(0, mark.line + 1, mark.column + 1, str(self.path))


def _step(data: object, key: Key, word: str) -> str | int:
    """``word`` as a key into ``data``, which stands at ``key``. Raises a ValueError that says why it is none."""
    if isinstance(data, dict):
        return word
    if not isinstance(data, list):
        raise ValueError(f"{_dotted(key)} is a single value, without a key {word!r}")
    if (index := _index(word)) >= len(data):
        raise ValueError(f"{_dotted(key)} is a list of {len(data)}, counted from 0, without an entry {word!r}")
    return index


def _index(word: str) -> int:
    """A word as the number of an entry; one that is none is beyond every list."""
    return int(word) if word.isdecimal() and len(word) <= len(str(MOST_YAML_VALUES)) else MOST_YAML_VALUES


# ---- wording: pydantic's errors as sentences

_TYPES = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "string": "text",
    **dict.fromkeys(("list", "tuple"), "a list"),
    **dict.fromkeys(("dict", "model", "model_attributes"), "a section with keys"),
}
_BOUNDS = {
    "greater_than_equal": ("ge", "at least"),
    "greater_than": ("gt", "above"),
    "less_than_equal": ("le", "at most"),
    "less_than": ("lt", "below"),
    "multiple_of": ("multiple_of", "a multiple of"),
}
_LENGTHS = {"too_short": ("min_length", "at least"), "too_long": ("max_length", "at most")}


def _sentences(details: ErrorDetails, schema: type[BaseModel], reading: _Reading) -> Iterator[tuple[_Place, str]]:
    """One of pydantic's errors as faults, each with its place."""
    kind, context = details["type"], details.get("ctx", {})
    key = _key(details["loc"], reading)
    if kind == "missing":
        yield reading.values[key], f"{_dotted((*key, details['loc'][-1]))} is missing"
    elif kind == "extra_forbidden":
        yield reading.keys[key], _unknown(key, _names(schema, details["loc"][:-1]))
    elif kind in {"value_error", "assertion_error"}:
        for sentence in str(context["error"]).splitlines():
            yield _validator_place(key, sentence, reading), f"{'.'.join(map(str, key))} {sentence}".strip()
    elif kind in {"union_tag_invalid", "union_tag_not_found"}:
        key = (*key, str(context["discriminator"]).strip("'"))
        yield reading.values.get(key, reading.values[key[:-1]]), f"{_dotted(key)} {_wrong_tag(context)}"
    else:
        yield reading.values[key], f"{_dotted(key)} {_wrong(details)}"


def _key(location: Key, reading: _Reading) -> Key:
    """The part of pydantic's location that was written: without the names of union members that it puts in between."""
    key: Key = ()
    for word in location:
        if (*key, word) in reading.values:
            key = (*key, word)
    return key


def _unknown(key: Key, known: list[str]) -> str:
    close = get_close_matches(str(key[-1]), known, n=1)
    hint = f"did you mean {_dotted((*key[:-1], close[0]))!r}?" if close else f"the keys there are {', '.join(known)}"
    return f"unknown key {_dotted(key)!r}; {hint}"


def _wrong_tag(context: Mapping[str, Any]) -> str:
    if "tag" not in context:
        return "is missing"
    tag, expected = context["tag"], context["expected_tags"]
    return f"must be one of {expected}, not {tag!r}{_meant(tag, expected)}"


def _validator_place(key: Key, sentence: str, reading: _Reading) -> _Place:
    """Where the key that the sentence opens with was written, which may have dots in it, else the section; but if an
    override has changed it, or another key that the sentence names, that is the place.
    """
    words = re.findall(r"\w+(?:\.\w+)*", sentence)
    places = [reading.values.get((*key, *word.split("."))) for word in words]
    if changed := [place for place in places if place is not None and place.override]:
        return changed[0]
    opening = sentence.split(" ", 1)[0].rstrip(":")
    dotted = ".".join(map(str, (*key, opening)))
    for written, place in reading.values.items():
        if written[: len(key)] == key and ".".join(map(str, written)) == dotted:
            return place
    named: Key = (*key, *(_index(word) if word.isdecimal() else word for word in opening.split(".")))
    while named not in reading.values:
        named = named[:-1]
    return reading.values[named]


def _wrong(details: ErrorDetails) -> str:
    """What a value must be and what it is."""
    kind, given, context = details["type"], details["input"], details.get("ctx", {})
    if kind in {"literal_error", "enum"}:
        return f"must be {context['expected']}, not {_shown(given)}{_meant(given, context['expected'])}"
    if kind in _BOUNDS:
        name, words = _BOUNDS[kind]
        return f"must be {words} {context[name]}, not {_shown(given)}"
    if kind in _LENGTHS:
        name, words = _LENGTHS[kind]
        entries = "entry" if context[name] == 1 else "entries"
        return f"must have {words} {context[name]} {entries}, not {context['actual_length']}"
    base = kind.removesuffix("_type").removesuffix("_from_float").removesuffix("_parsing")
    if base in _TYPES:
        return f"must be {_TYPES[base]}, not {_shown(given)}"
    return f"is not right: {details['msg']}, not {_shown(given)}"


def _shown(value: object) -> str:
    if value is None:
        return "empty"
    if isinstance(value, dict | list):
        return _TYPES[type(value).__name__]
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return short(text, 60)


def _dotted(key: Key) -> str:
    return ".".join(map(str, key)) or "the file"


def _meant(word: object, choices: str) -> str:
    """A hint from pydantic's list of choices (``"'split' or 'shared'"``)."""
    close = get_close_matches(str(word), re.findall(r"'(.*?)'", choices), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def _names(schema: type[BaseModel], location: Key) -> list[str]:
    """The keys that a schema has at pydantic's location, of every model that could stand there."""
    models = [schema]
    for word in location:
        fields = [model.model_fields[word] for model in models if word in model.model_fields]
        inside = [model for info in fields for model in _models(info.annotation)]
        # an index changes nothing; or it is the tag of one of several models
        tagged = [model for model in models if any(word in get_args(i.annotation) for i in model.model_fields.values())]
        models = inside or tagged or models
    return list(dict.fromkeys(name for model in models for name in model.model_fields))


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    """The models that an annotation mentions: ``list[Grid | None]`` has one."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models(part)
