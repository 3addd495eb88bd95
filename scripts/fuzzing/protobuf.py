"""Damage to a protocol-buffer message that stays one: fields get other values, or are copied, moved and left out."""

from __future__ import annotations

from random import Random
from typing import Any

import onnx
from google.protobuf.descriptor import FieldDescriptor as Field  # type: ignore[import-untyped]

from scripts.fuzzing import nasty

MOST_DEPTH = 6


def damaged(rng: Random, data: bytes) -> bytes:
    """A model after one to three changes anywhere in it."""
    model = onnx.ModelProto.FromString(data)
    for _ in range(rng.choice((1, 1, 2, 3))):
        _change(rng, model, names(model))
    return bytes(model.SerializeToString())


def names(model: Any) -> list[str]:
    """Those of values and nodes, which stand for wires."""
    graph = model.graph
    names = {name for node in graph.node for name in (*node.input, *node.output, node.op_type)}
    return sorted(names | {value.name for value in (*graph.initializer, *graph.input, *graph.output)})


def _change(rng: Random, message: Any, known: list[str], depth: int = 0) -> None:
    """Go down to a field, and change it there."""
    field, content = rng.choice(message.ListFields() or [(rng.choice(message.DESCRIPTOR.fields), None)])
    inner = content is not None and field.type == Field.TYPE_MESSAGE
    if inner and depth < MOST_DEPTH and rng.random() < 0.9:
        if not _is_repeated(field):
            _change(rng, content, known, depth + 1)
        elif len(content) and rng.random() < 0.85:
            _change(rng, rng.choice(content), known, depth + 1)
        else:
            _rearrange(rng, content)
    elif _is_repeated(field):
        _change_list(rng, getattr(message, field.name), field, known)
    elif field.type == Field.TYPE_MESSAGE or rng.random() < 0.1:
        message.ClearField(field.name)
    else:
        setattr(message, field.name, _scalar(rng, field, known, getattr(message, field.name)))


def _is_repeated(field: Field) -> bool:
    return bool(field.is_repeated)


def _rearrange(rng: Random, items: Any) -> None:
    """Leave one out, or put a copy of one at the end."""
    if not len(items):
        return
    if rng.random() < 0.5:
        del items[rng.randrange(len(items))]
    else:
        for _ in range(rng.choice((1, 1, 3, 200))):
            items.append(rng.choice(items))


def _change_list(rng: Random, items: Any, field: Field, known: list[str]) -> None:
    if field.type == Field.TYPE_MESSAGE or (len(items) and rng.random() < 0.3):
        _rearrange(rng, items)
    elif len(items) and rng.random() < 0.7:
        place = rng.randrange(len(items))
        items[place] = _scalar(rng, field, known, items[place])
    else:
        items.append(_scalar(rng, field, known))


def _scalar(rng: Random, field: Field, known: list[str], old: object = None) -> object:
    if field.type == Field.TYPE_STRING:
        return rng.choice(known) if known and rng.random() < 0.6 else nasty.text(rng)
    if field.type == Field.TYPE_BYTES:
        return rng.choice((b"", rng.randbytes(rng.choice((1, 8, 100))), nasty.text(rng).encode()))
    if field.type in {Field.TYPE_FLOAT, Field.TYPE_DOUBLE}:
        return rng.choice(nasty.FLOATS)
    if field.type == Field.TYPE_ENUM:
        return rng.choice(field.enum_type.values).number
    number = nasty.near(rng, old) if isinstance(old, int) and rng.random() < 0.6 else nasty.number(rng)
    bits = 31 if field.type == Field.TYPE_INT32 else 63
    least = 0 if field.type in {Field.TYPE_UINT32, Field.TYPE_UINT64} else -(1 << bits)
    return max(least, min((1 << bits) - 1, number))
