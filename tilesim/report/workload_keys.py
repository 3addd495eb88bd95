"""The keys of a network in YAML: what each must be, its default, and what it means."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from tilesim.network.readers.yaml_layers import LayerSection, Workload

Schema = Mapping[str, Any]
"""A JSON Schema, or a part of one."""


class WorkloadKey(NamedTuple):
    """A key in words: what its value must be, its default or that it must be given, and what it means."""

    key: str
    value: str
    default: str
    meaning: str


class KeySection(NamedTuple):
    """Keys that stand together: those of the file, of its input, of every layer, or of a kind of layers."""

    title: str
    meaning: str
    keys: tuple[WorkloadKey, ...]


def workload_keys() -> Iterator[KeySection]:
    """Every key of a network in YAML, kinds of layers in the order of the schema."""
    schema = Workload.model_json_schema()
    sections = schema["$defs"]
    yield _section("the file", "", schema)
    yield _section("input", sections["InputSection"]["description"], sections["InputSection"])
    yield _section("a layer of any kind", "", LayerSection.model_json_schema())
    for reference in schema["properties"]["layers"]["items"]["oneOf"]:
        layer = sections[reference["$ref"].rpartition("/")[2]]
        kind = layer["properties"]["kind"]
        title = " or ".join(kind.get("enum", [kind.get("const")]))
        yield _section(f"kind: {title}", layer["description"], layer, {"kind", *LayerSection.model_fields})


def _section(title: str, meaning: str, schema: Schema, known: Collection[str] = ()) -> KeySection:
    keys = (
        WorkloadKey(name, _value(field), _default(field), field["description"])
        for name, field in schema["properties"].items()
        if name not in known
    )
    return KeySection(title, meaning.replace("``", "`"), tuple(keys))


def _value(field: Schema) -> str:
    """What a value must be."""
    if "anyOf" in field:  # that, or nothing
        return _value(field["anyOf"][0])
    if "enum" in field:
        return ", ".join(field["enum"])
    kind = field.get("type", "object")
    if kind == "array":
        return _list(field)
    return {"integer": f"a whole number{_bounds(field)}", "number": f"a number{_bounds(field)}"}.get(kind) or {
        "string": "text",
        "object": "a section",
    }[kind]


def _list(field: Schema) -> str:
    if "prefixItems" in field:
        return f"[rows, columns], each {_value(field['prefixItems'][0])}"
    most = f" to {field['maxItems']}" if "maxItems" in field else " or more"
    element = "layers" if "oneOf" in field["items"] else f"numbers, each {_value(field['items'])}"
    return f"a list of {field['minItems']}{most} {element}"


def _bounds(field: Schema) -> str:
    words = {"minimum": "from", "exclusiveMinimum": "above", "maximum": "to", "exclusiveMaximum": "below"}
    return "".join(f" {word} {field[bound]:,g}" for bound, word in words.items() if bound in field)


def _default(field: Schema) -> str:
    if "default" not in field:
        return "must be given"
    return "none" if field["default"] is None else str(field["default"])
