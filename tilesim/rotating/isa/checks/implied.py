"""What an out that is issued says of the output unit, without a sync: what the array has waited for."""

from __future__ import annotations

import numpy as np

from tilesim.rotating.isa.checks.instances import Instances, Ints, instances
from tilesim.rotating.isa.checks.section import Section
from tilesim.rotating.isa.model.instructions import Function, Out, Parameters, Ram


def interlocked(section: Section) -> Ints:
    """How many rows the output unit has written for sure once so many outs are issued: a load waits for its row."""
    touched = [it for it in section.touched if it.access.ram is Ram.DATA]
    writes = Instances.joined(instances(it for it in touched if it.access.writes))
    known = np.zeros(section.totals.outs + 2, np.int64)
    most = section.totals.issued + 1
    keys = writes.row * most + writes.issued
    order = np.argsort(keys)
    keys, numbers = np.concatenate([[-most], keys[order]]), np.concatenate([[0], writes.writes[order] + 1])
    for loads in instances(it for it in touched if not it.access.writes):
        last = np.searchsorted(keys, loads.row * most + loads.issued) - 1
        same = keys[last] // most == loads.row
        np.maximum.at(known, loads.outs[same] + 1, numbers[last[same]])
    return np.maximum.accumulate(known)


def fetches(section: Section) -> tuple[Ints, Ints]:
    """Places in which fetches are issued, and the first out, from 1, whose issue says that they, and all before them,
    are done: both in rising order, and behind the last the number after all outs.
    """
    parts = [_awaited(section, register) for register in (0, 1, None)]
    done, outs = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    order = np.argsort(outs)
    ends = np.maximum.accumulate(done[order])
    return ends, np.concatenate([outs[order], [section.totals.outs + 1]])


def needed(op: Out) -> tuple[int | None, ...]:
    """The parameter set that an out takes, None for the table of look-ups; nothing, if it takes neither."""
    if op.function is Function.REQUANTISE:
        return (op.set,)
    return (None,) if op.function is Function.LOOKUP else ()


def fetched(op: Parameters) -> int | None:
    return None if op.table else op.set


def _awaited(section: Section, register: int | None) -> tuple[Ints, Ints]:
    """For each out that takes a set or the table, where its last fetch is issued, and the number of the out."""
    touched = section.touched
    takers = (
        it for it in touched if isinstance(it.nested.op, Out) and it.access.writes and register in needed(it.nested.op)
    )
    makers = (it for it in touched if isinstance(it.nested.op, Parameters) and fetched(it.nested.op) == register)
    outs, made = Instances.joined(instances(takers)), Instances.joined(instances(makers))
    last = np.searchsorted(made.issued, outs.issued) - 1
    return made.issued[last[last >= 0]], outs.outs[last >= 0] + 1
