"""Accesses as arrays: the same as unrolling turn by turn, however many are handled at once."""

from __future__ import annotations

import pytest

from tests.rotating.isa.checks.judge import unrolled
from tests.rotating.isa.checks.test_judged import Draw
from tilesim.rotating.isa.checks import instances as module
from tilesim.rotating.isa.checks.instances import Instances, instances
from tilesim.rotating.isa.checks.section import Section
from tilesim.rotating.isa.model.instructions import Function, Out, Step


def loads(section: Section) -> list[tuple[int, int, int, int]]:
    """Place, row, outs before and rows of these of all loads of the data RAM, in order."""
    found, outs, writes = [], 0, 0
    for place, op, counters in unrolled(section.ops):
        if isinstance(op, (Step, Out)) and op.data:
            repeat = op.repeat if isinstance(op, Step) and op.data.step else 1
            found += [(place, op.data.address(counters, turn), outs, writes) for turn in range(repeat)]
        if isinstance(op, Out):
            outs, writes = outs + 1, writes + (4 if op.function is Function.RAW else 1)
    return found


@pytest.mark.parametrize("at_once", [1, 2, 5, 1 << 20])
def test_they_are_what_unrolling_finds(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_AT_ONCE", at_once)
    for seed in range(100):
        draw = Draw(seed)
        section = Section("run", draw.ops(), draw.topology)
        touched = [it for it in section.touched if it.access.field == "data"]
        whole = Instances.joined(instances(touched))
        columns = (whole.place, whole.row, whole.outs, whole.writes)
        assert list(zip(*(column.tolist() for column in columns), strict=True)) == loads(section)
        assert whole.issued.tolist() == sorted(whole.issued.tolist())
        first = {
            (int(place), int(row))
            for part in instances(touched, True)
            for place, row in zip(part.place, part.row, strict=True)
        }
        assert first == {(place, row) for place, row, _, _ in loads(section)}
