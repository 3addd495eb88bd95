"""What is wrong with plain values, by pydantic's account of it, as sentences with their places."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any, get_args

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from tilesim.config.reading import Key, Place, Reading, dotted, entry
from tilesim.printable import short

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


def sentences(details: ErrorDetails, schema: type[BaseModel], reading: Reading) -> Iterator[tuple[Place, str]]:
    """One of pydantic's errors as faults, each with its place."""
    kind, context = details["type"], details.get("ctx", {})
    key = _key(details["loc"], reading)
    if kind == "missing":
        yield reading.values[key], f"{dotted((*key, details['loc'][-1]))} is missing"
    elif kind == "extra_forbidden":
        yield reading.keys[key], _unknown(key, _names(schema, details["loc"][:-1]))
    elif kind in {"value_error", "assertion_error"}:
        for sentence in str(context["error"]).splitlines():
            yield _validator_place(key, sentence, reading), f"{'.'.join(map(str, key))} {sentence}".strip()
    elif kind in {"union_tag_invalid", "union_tag_not_found"}:
        key = (*key, str(context["discriminator"]).strip("'"))
        yield reading.values.get(key, reading.values[key[:-1]]), f"{dotted(key)} {_wrong_tag(context)}"
    else:
        yield reading.values[key], f"{dotted(key)} {_wrong(details)}"


def _key(location: Key, reading: Reading) -> Key:
    """The part of pydantic's location that was written: without the names of union members that it puts in between."""
    key: Key = ()
    for word in location:
        if (*key, word) in reading.values:
            key = (*key, word)
    return key


def _unknown(key: Key, known: list[str]) -> str:
    close = get_close_matches(str(key[-1]), known, n=1)
    hint = f"did you mean {dotted((*key[:-1], close[0]))!r}?" if close else f"the keys there are {', '.join(known)}"
    return f"unknown key {dotted(key)!r}; {hint}"


def _wrong_tag(context: Mapping[str, Any]) -> str:
    if "tag" not in context:
        return "is missing"
    tag, expected = context["tag"], context["expected_tags"]
    return f"must be one of {expected}, not {tag!r}{_meant(tag, expected)}"


def _validator_place(key: Key, sentence: str, reading: Reading) -> Place:
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
    named: Key = (*key, *(entry(word) if word.isdecimal() else word for word in opening.split(".")))
    while named not in reading.values:
        named = named[:-1]
    return reading.values[named]


def _wrong(details: ErrorDetails) -> str:
    """What a value must be and what it is."""
    kind, given, context = details["type"], details["input"], details.get("ctx", {})
    if kind in {"literal_error", "enum"}:
        return f"must be {context['expected']}, not {shown_value(given)}{_meant(given, context['expected'])}"
    if kind in _BOUNDS:
        name, words = _BOUNDS[kind]
        return f"must be {words} {context[name]}, not {shown_value(given)}"
    if kind in _LENGTHS:
        name, words = _LENGTHS[kind]
        entries = "entry" if context[name] == 1 else "entries"
        return f"must have {words} {context[name]} {entries}, not {context['actual_length']}"
    base = kind.removesuffix("_type").removesuffix("_from_float").removesuffix("_parsing")
    if base in _TYPES:
        return f"must be {_TYPES[base]}, not {shown_value(given)}"
    return f"is not right: {details['msg']}, not {shown_value(given)}"


def shown_value(value: object) -> str:
    if value is None:
        return "empty"
    if isinstance(value, dict | list):
        return _TYPES[type(value).__name__]
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return short(text, 60)


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
