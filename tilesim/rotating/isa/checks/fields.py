"""Static checks of single instructions: fields that contradict each other, the chip, or what words can be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from enum import EnumMeta
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np

from tilesim.machines.checks import RULES
from tilesim.rotating.isa.model.instructions import (
    CLASSES,
    Alu,
    Function,
    Instruction,
    Mask,
    Out,
    Parameters,
    Place,
    ReadHostMemory,
    Rows,
    Set,
    Step,
    Sync,
    WriteHostMemory,
)
from tilesim.rotating.topology import Topology

LIMITS = -(1 << 31), (1 << 31) - 1
"""Of any number in an instruction."""
MOST_TURNS = 1 << 24
"""Repetitions of a step, or turns of a loop."""
SETS = 2
PLANES = 4


def number_faults(op: Instruction) -> Iterator[str]:
    """The fields of ``op`` that are none of the words that they can be, or numbers beyond all bounds."""
    return _record_faults("", op)


def field_faults(op: Instruction, topology: Topology) -> Iterator[str]:
    """What is wrong with ``op``, whose fields have room for what they hold, beyond its addresses."""
    find = _RULES.get(type(op))
    return find(op, topology) if find else iter(())


def word_range(topology: Topology, signed: bool) -> tuple[int, int]:
    """The least and the largest that a word can be."""
    values = 1 << topology.units.word_bits
    return (-values // 2, values // 2 - 1) if signed else (0, values - 1)


def mask_words(mask: Mask, units: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The words that a mask names, in the order in which it does; of one of no words, none."""
    blocks, words = np.arange(mask.blocks), np.arange(mask.count)
    return ((mask.offset + blocks[:, None] * mask.block + words * mask.stride) % units).reshape(-1)


def _within(name: str, value: int, low: int, high: int, what: str = "") -> Iterator[str]:
    if not low <= value <= high:
        yield f"{name} must be {low} to {high}{what and f', {what}'}, not {_shown(value)}"


def _at_least(name: str, value: int, least: int) -> Iterator[str]:
    if value < least:
        yield f"{name} must be {f'{least} or more' if least != 1 else 'at least 1'}, not {value}"


def _shown(value: int) -> str:
    return str(value) if abs(value) < 1 << 64 else f"a number of {value.bit_length()} bits"


def _step(op: Step, topology: Topology) -> Iterator[str]:
    yield from _within("repeat", op.repeat, 1, MOST_TURNS)
    yield from _within("plane", op.plane, 0, PLANES - 1)
    if op.rotate not in (0, *topology.rotation.reach):
        yield f"rotate must be 0 or a distance of the chip, {topology.rotation.distances}, not {op.rotate}"
    elif op.rotate and op.data is not None:
        yield f"rotate must be 0 where data is loaded, not {op.rotate}"
    if op.alu is not Alu.PLANE and op.plane:
        yield f"plane must be 0 where alu is {op.alu}, not {op.plane}"
    if op.repeat == 1:
        yield from _still("data", op.data)
        yield from _still("weights", op.weights)


def _still(name: str, rows: Rows | None) -> Iterator[str]:
    """Rows of what is done once are those of a step of 0."""
    if rows is not None and rows.step:
        yield f"{name}.step must be 0 where nothing is repeated, not {rows.step}"


def _out(op: Out, topology: Topology) -> Iterator[str]:
    yield from _within("set", op.set, 0, SETS - 1)
    yield from _written("fill", op.fill, topology)
    yield from _still("row", op.row)
    yield from _still("data", op.data)
    if op.set and op.function is not Function.REQUANTISE:
        yield f"set must be 0 where function is {op.function}, not {op.set}"
    if op.fill and op.outside == "keep":
        yield f"fill must be 0 where outside is keep, not {op.fill}"
    if op.place is None:
        return
    if topology.output.place == "none":
        yield "place must not be given, for output.place is none"
    yield from _at_least("place.slots", op.place.slots, 1)
    if op.place.slots >= 1:
        yield from _within("place.slot", op.place.slot, 0, op.place.slots - 1)


def _written(name: str, value: int, topology: Topology) -> Iterator[str]:
    """A word that may be signed or not."""
    return _within(name, value, word_range(topology, True)[0], word_range(topology, False)[1], "what a word can be")


def _set(op: Set, topology: Topology) -> Iterator[str]:
    for name, sign, zero in (("data", op.data, op.data_zero), ("weights", op.weights, op.weight_zero)):
        what = f"as {sign} words are"
        yield from _within(f"{name.removesuffix('s')}_zero", zero, *word_range(topology, sign == "signed"), what)
    rules = list(dict.fromkeys(rule for function in ("requantise", "add", "multiply") for rule in RULES[function]))
    if op.rule not in rules:
        yield f"rule must be one of {', '.join(rules)}, not {op.rule!r}"
    yield from _written("zero_point", op.zero_point, topology)
    yield from _clamp(op.clamp, topology)


def _clamp(clamp: tuple[int, ...], topology: Topology) -> Iterator[str]:
    ranges = [word_range(topology, signed) for signed in (True, False)]
    shown = " to ".join(map(str, clamp))
    if len(clamp) != 2:
        yield f"clamp must be 2 numbers, not {len(clamp)}"
    elif not any(low <= end <= high for low, high in ranges for end in clamp[:1] if low <= clamp[1] <= high):
        words = " or ".join(f"{low} to {high}" for low, high in ranges)
        yield f"clamp must be inside {words}, what a word can be, not {shown}"
    elif clamp[0] > clamp[1]:
        yield f"clamp must be the smallest and the largest result, not {shown}"


def _mask(op: Mask, topology: Topology) -> Iterator[str]:
    units = topology.units.count
    numbers = [
        *_within("offset", op.offset, 0, units - 1, "a word of a row"),
        *_within("block", op.block, 0, units, "the words of a row"),
        *_within("stride", op.stride, 1, units, "the words of a row"),
        *_within("count", op.count, 0, units, "the words of a row"),
        *_within("blocks", op.blocks, 1, units, "the words of a row"),
    ]
    yield from numbers
    if numbers:
        return
    if op.count * op.blocks > units:
        yield f"count * blocks must be at most {units}, the words of a row, not {op.count * op.blocks}"
    elif op.count:
        words, times = np.unique(mask_words(op, units), return_counts=True)
        if times.max() > 1:
            yield f"must name each word once, and names word {words[times.argmax()]} {times.max()} times"


def _parameters(op: Parameters, _: Topology) -> Iterator[str]:
    yield from _within("set", op.set, 0, SETS - 1)
    yield from _still("row", op.row)
    if op.set and op.table:
        yield f"set must be 0 of a table, not {op.set}"


def _moved(op: ReadHostMemory | WriteHostMemory, _: Topology) -> Iterator[str]:
    yield from _at_least("rows", op.rows, 1)
    for name, value in (("offset", op.offset), ("row", op.row), ("tensor", op.tensor)):
        yield from _at_least(name, value, 0)


_RULES: dict[type, Callable[[Any, Topology], Iterator[str]]] = {
    Step: _step,
    Out: _out,
    Set: _set,
    Mask: _mask,
    Parameters: _parameters,
    Sync: lambda op, _: _at_least("count", op.count, 0) if not op.strides else iter(()),
    ReadHostMemory: _moved,
    WriteHostMemory: _moved,
}


def _kinds(record: type) -> tuple[tuple[str, tuple[Any, ...], Any], ...]:
    """The fields of a dataclass but texts: those that have few values with these, all with their defaults."""
    hints = get_type_hints(record)
    kinds = (field for field in fields(record) if hints[field.name] is not str)
    return tuple((field.name, _choices(hints[field.name]), field.default) for field in kinds)


def _choices(hint: Any) -> tuple[Any, ...]:
    if get_origin(hint) is Literal:
        return get_args(hint)
    return tuple(hint) if isinstance(hint, EnumMeta) else (False, True) if hint is bool else ()


_KINDS = {record: _kinds(record) for record in (*CLASSES, Rows, Place)}


def _record_faults(prefix: str, record: Any) -> Iterator[str]:
    for name, choices, default in _KINDS[type(record)]:
        value = getattr(record, name)
        if value is default:
            continue
        if choices:
            if value not in choices:
                yield f"{prefix}{name} must be one of {', '.join(map(str, choices))}, not {value!r}"
        elif isinstance(value, int):
            yield from _within(f"{prefix}{name}", value, *LIMITS)
        elif isinstance(value, tuple):
            for number in value:
                yield from _within(f"{prefix}{name}", number, *LIMITS)
        elif is_dataclass(value):
            yield from _record_faults(f"{prefix}{name}.", value)
