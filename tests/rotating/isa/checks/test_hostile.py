"""Programs of anything at all: they have sentences, and no check stumbles over a number or runs away with one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.assembly.drawing import WORDS, any_of, segments, some
from tests.rotating.isa.checks.listings import program
from tests.rotating.programs import chip
from tilesim.machines.program import DataSegment
from tilesim.rotating.isa.checks.program import faults
from tilesim.rotating.isa.model.instructions import CLASSES, Halt, Instruction
from tilesim.rotating.isa.model.program import HostTensor, Layer, Program, TensorPlace

SMALL = st.integers(-2, 9) | st.sampled_from([16, 63, 1 << 24, (1 << 31) - 1, -(1 << 31), 1 << 40])


def small(_kind: type, name: str) -> st.SearchStrategy[Any] | None:
    """Numbers that get past the first checks."""
    return (
        None if name in ("label", "rule", "name") else SMALL if name not in ("dtype", "element", "rounding") else WORDS
    )


wild = st.one_of([any_of(kind) for kind in CLASSES])
tame = st.one_of([any_of(kind, small) for kind in CLASSES if kind is not Halt])


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.builds(
        Program,
        name=WORDS,
        topology=st.sampled_from([chip(8), chip(16, units={"count": 16, "word_bits": 16})]),
        load=some(wild, 3),
        run=some(wild, 5),
        data=segments(DataSegment),
        inputs=some(any_of(HostTensor)),
        outputs=some(any_of(HostTensor)),
        layers=some(any_of(Layer), 2),
        tensors=some(any_of(TensorPlace)),
    )
)
def test_anything_has_sentences_or_is_sound(wild: Program) -> None:
    assert all(faults(wild))


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_instructions_in_the_middle_of_a_sound_program_do_no_harm(data: st.DataObject) -> None:
    sound = program()
    place = data.draw(st.integers(0, len(sound.run)))
    more: tuple[Instruction, ...] = data.draw(some(tame, 3))
    run = (*sound.run[:place], *more, *sound.run[place:])
    assert all(faults(replace(sound, run=run)))


@settings(max_examples=200)
@given(st.data())
def test_any_number_of_a_sound_program_can_be_another(data: st.DataObject) -> None:
    sound = program()
    place = data.draw(st.integers(0, len(sound.run) - 1))
    op = sound.run[place]
    names = [name for name, value in vars(op).items() if isinstance(value, int) and not isinstance(value, bool)]
    number: dict[str, Any] = {data.draw(st.sampled_from(names)): data.draw(SMALL)}
    changed = replace(op, **number)
    run = (*sound.run[:place], changed, *sound.run[place + 1 :])
    assert all(faults(replace(sound, run=run)))
