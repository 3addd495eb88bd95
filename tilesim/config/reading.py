"""YAML into plain values, with overrides laid over them, and where each came from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import yaml

from tilesim.budgets import LARGEST_YAML_BYTES, LONGEST_NUMBER, LONGEST_TEXT, MOST_YAML_LEVELS, MOST_YAML_VALUES
from tilesim.errors import ConfigError
from tilesim.files import read_text
from tilesim.printable import short
from tilesim.units import format_bytes

Key: TypeAlias = tuple[str | int, ...]

_HALF = re.compile("[\ud800-\udfff]")
"""Half of a character, as an escape in YAML or a word that is not UTF-8 makes it: JSON has no word for that."""


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


class Place(NamedTuple):
    """Where a value was written; places sort as a file reads, with the overrides last."""

    override: int
    line: int
    column: int
    origin: str

    def __str__(self) -> str:
        return self.origin if self.override else f"{self.origin}:{self.line}:{self.column}"


@dataclass
class Reading:
    """What was read so far: where each key and each value stands, and the faults."""

    path: Path
    faults: list[tuple[Place, str]] = field(default_factory=list)
    keys: dict[Key, Place] = field(default_factory=dict)
    values: dict[Key, Place] = field(default_factory=dict)
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

    def override(self, data: Any, number: int, spelt: str, value: object) -> None:
        """Lay the override of that number over the plain values ``data``."""
        too_long = isinstance(value, int) and value.bit_length() > 4 * LONGEST_NUMBER
        place = Place(number, 0, 0, f"override {short(spelt)}={'...' if too_long else short(str(value))}")
        if too_long:
            self._fault(place, f"a number must have at most {LONGEST_NUMBER} digits")
            return
        words = spelt.split(".")
        if "" in words or _HALF.search(spelt):
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

    def _parent(self, data: Any, words: list[str], place: Place) -> tuple[Any, Key]:
        """The section or list that ``words`` end in, and their key; sections on the way that are not there are made."""
        key: Key = ()
        for word in words[:-1]:
            key = (*key, _step(data, key, word))
            if isinstance(data, dict) and data.get(word) is None:
                data[word] = {}
                self.keys[key] = self.values[key] = place
            data = data[key[-1]]
        return data, (*key, _step(data, key, words[-1]))

    def _plain(self, node: yaml.Node, key: Key, above: tuple[yaml.Node, ...], override: Place | None) -> object:
        """The node's value; ``above`` are the nodes that it is inside of, ``override`` where it is not in the file."""
        place = self.values[key] = override or self._at(node.start_mark)
        if node in above:
            self._fault(place, f"{dotted(key)} contains itself")
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

    def _pairs(self, node: yaml.MappingNode, key: Key, override: Place | None) -> Iterator[tuple[str, yaml.Node]]:
        """A mapping's names and children, the first of each name."""
        for name, child in node.value:
            place = override or self._at(name.start_mark)
            self.characters += len(name.value)
            plain = isinstance(name, yaml.ScalarNode) and name.tag != "tag:yaml.org,2002:merge"
            if not plain or _HALF.search(name.value):
                self._fault(place, f"a key of {dotted(key)} must be a plain word")
            elif len(name.value) > LONGEST_TEXT:
                self._fault(place, f"a key must have at most {LONGEST_TEXT} characters, not {len(name.value)}")
            elif (first := self.keys.setdefault((*key, name.value), place)) is not place:
                self._fault(place, f"{dotted((*key, name.value))} is given twice, first at {first}")
            else:
                yield name.value, child

    def _scalar(self, node: yaml.Node, place: Place) -> object:
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

    def _fault(self, place: Place, sentence: str) -> None:
        self.faults.append((place, sentence))

    def _too_deep(self) -> ConfigError:
        return ConfigError(f"{self.path}: must nest at most {MOST_YAML_LEVELS} levels deep")

    def _at(self, mark: yaml.Mark) -> Place:
        return Place(0, mark.line + 1, mark.column + 1, str(self.path))


def _step(data: object, key: Key, word: str) -> str | int:
    """``word`` as a key into ``data``, which stands at ``key``. Raises a ValueError that says why it is none."""
    if isinstance(data, dict):
        return word
    if not isinstance(data, list):
        raise ValueError(f"{dotted(key)} is a single value, without a key {word!r}")
    if (index := entry(word)) >= len(data):
        raise ValueError(f"{dotted(key)} is a list of {len(data)}, counted from 0, without an entry {word!r}")
    return index


def entry(word: str) -> int:
    """A word as the number of an entry; one that is none is beyond every list."""
    return int(word) if word.isdecimal() and len(word) <= len(str(MOST_YAML_VALUES)) else MOST_YAML_VALUES


def dotted(key: Key) -> str:
    """A key as a sentence names it."""
    return ".".join(map(str, key)) or "the file"
