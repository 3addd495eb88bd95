"""The state log of a rotating chip: counters, buffers and instructions, in each cycle what the second model has."""

from __future__ import annotations

from importlib import import_module
from typing import Any, ClassVar

import pytest

from tests.rotating.random_programs import random_program
from tests.soak import counts
from tilesim.machines.options import RunOptions
from tilesim.rotating import stepped
from tilesim.rotating.isa.model.instructions import Counter, WriteHostMemory
from tilesim.rotating.isa.model.program import Program
from tilesim.rotating.run.simulate import simulate
from tilesim.rotating.stepped.chip import Section
from tilesim.sim.trace.signals import NUMBERS, Signals

ALL = range(1 << 40)
Seen = dict[str, list[Any]]


class SeenSection(Section):
    """Keeps what there was at the start of each cycle."""

    last: ClassVar[SeenSection]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        SeenSection.last = self
        self.seen: Seen = {}

    def _cycle(self, cycle: int) -> None:
        now = {f"nnu.{counter}.flags.count": self._counters._counts[counter] for counter in Counter}
        for name, value in {**now, "nnu.output.fifo": self.output.held}.items():
            self.seen.setdefault(name, []).append(value)
        super()._cycle(cycle)


def stepped_along(program: Program, inputs: list[Any]) -> Seen:
    """By signal what it is in each cycle of the run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(import_module("tilesim.rotating.stepped.simulate"), "Section", SeenSection)
        outcome = stepped.simulate(program, inputs, trace=True)
    seen = {name: _lengthened(values, outcome.cycles) for name, values in SeenSection.last.seen.items()}
    for track in outcome.units:
        seen[track] = [""] * outcome.cycles
    for track, first, cycles, _kind, label in outcome.spans:
        for cycle in range(first - outcome.load_cycles, first - outcome.load_cycles + cycles):
            if cycle >= 0:
                seen[track][cycle] = label
    return seen


def _lengthened(values: list[Any], cycles: int) -> list[Any]:
    """In the last cycle of a run nothing may happen any more; what there is then, the second model doesn't look at."""
    return values[:cycles] if len(values) >= cycles else [*values, *[None] * (cycles - len(values))]


def signals_of(program: Program, inputs: list[Any], window: range = ALL) -> Signals:
    found = simulate(program, inputs, RunOptions(signals=window)).signals
    assert found is not None
    return found


def values(signals: Signals) -> Seen:
    rows = zip(signals.names, signals.kinds, signals.table().tolist(), strict=True)
    return {
        name: row if kind in NUMBERS else [signals.text(place, value) for value in row]
        for place, (name, kind, row) in enumerate(rows)
    }


@pytest.mark.parametrize("programs", counts(40, 1000))
def test_every_signal_is_what_the_second_model_has(programs: int) -> None:
    for seed in range(programs):
        program, inputs = random_program(seed)
        found, seen = values(signals_of(program, inputs)), stepped_along(program, inputs)
        assert found.keys() == seen.keys()
        for name, column in seen.items():
            ours = [None if theirs is None else value for value, theirs in zip(found[name], column, strict=True)]
            assert ours == column, (seed, name)


@pytest.mark.parametrize("window", [range(5), range(7, 30), range(20, 21), range(10_000, 10_001)])
def test_a_window_has_its_cycles_of_the_whole(window: range) -> None:
    for seed in range(8):
        program, inputs = random_program(seed)
        whole, part = values(signals_of(program, inputs)), signals_of(program, inputs, window)
        assert part.window == range(window.start, max(window.start, min(window.stop, len(whole["nnu.array"]))))
        assert values(part) == {name: column[window.start : window.stop] for name, column in whole.items()}


def test_names_and_kinds() -> None:
    signals = signals_of(*random_program(0))
    assert dict(zip(signals.names, signals.kinds, strict=True)) == {
        **{
            f"nnu.{unit}": "instruction"
            for unit in ("array", "output", "parameters", "dma_in", "dma_out", "host.in", "host.out")
        },
        **{f"nnu.{counter}.flags.count": "flag" for counter in Counter},
        "nnu.output.fifo": "fill",
    }


def test_counters_begin_anew_and_end_with_all_that_was_moved() -> None:
    """What is written, or leaves, in the last cycle of the run is counted in the one after."""
    program, inputs = random_program(3)
    found = values(signals_of(program, inputs))
    sent = sum(op.rows for op in program.run if isinstance(op, WriteHostMemory))
    assert all(found[f"nnu.{counter}.flags.count"][0] == 0 for counter in Counter)
    assert sent - 1 <= found["nnu.dma_out.flags.count"][-1] <= sent
    assert 0 < max(found["nnu.output.fifo"]) <= program.topology.output.buffers
