"""The state log says of each cycle what the stepped model has in it, and changes nothing."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import tilesim
from tests.soak import counts
from tilesim.sim.trace.recorder import Recording
from tilesim.sim.trace.signals import NUMBERS, Signals
from tilesim.tiled import stepped
from tilesim.tiled.isa.model.fields import Flag
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.stepped.chip import Chip

ROOT = Path(__file__).parents[3]
ALL = range(1 << 40)

Seen = dict[str, list[Any]]
"""Of each signal its value in each cycle; of a packet its transfer alone."""


class SeenChip(Chip):
    """A stepped chip that keeps what it holds in each cycle of the section that it runs last."""

    last: SeenChip

    def run(self, *section: Any, **options: Any) -> tuple[int, int]:
        SeenChip.last, self.seen = self, {}
        return super().run(*section, **options)

    def step(self) -> None:
        now, before = self.clock.cycle, self._before()
        super().step()
        for name, value in {**before, **self._after(now)}.items():
            self.seen.setdefault(name, []).extend([value] * (self.clock.cycle - now))

    def _before(self) -> dict[str, Any]:
        """What units see as the cycle begins."""
        seen: dict[str, Any] = {}
        for tile in self.tiles:
            for flag in Flag:
                seen[f"chip.tile{tile.index}.flags.{flag}"] = tile.flags.counts[flag]
        for stop in self.stops:
            standing = [packet for ready, packet in stop.register if ready <= self.clock.cycle]
            seen[f"chip.ring.stop{stop.node}"] = standing[0].transfer.sender if standing else ""
            seen[f"chip.ring.stop{stop.node}.fifo"] = len(standing)
        return seen

    def _after(self, now: int) -> dict[str, Any]:
        """What waits for a cycle longer, and what has entered the links."""
        seen: dict[str, Any] = {}
        engines = {
            f"chip.tile{tile.index}.{name}": engine for tile in self.tiles for name, engine in tile.engines.items()
        }
        for name, engine in engines.items():
            seen[f"{name}.fifo"] = waiting(engine.buffer, now)
        for name, unit in {"infeed": self.infeed, "outfeed": self.outfeed, "classifier": self.classifier}.items():
            seen[f"chip.{name}.fifo"] = waiting(unit.buffer, now)
        for stop in self.stops:
            came = stop.following.register
            entered = bool(came) and came[-1][0] == now + stop._hop_cycles
            seen[f"chip.ring.link{stop.node}"] = came[-1][1].transfer.sender if entered else ""
        return seen


def waiting(fifo: Any, now: int) -> int:
    return sum(ready <= now for ready, _ in fifo._items)


def stepped_along(made: Program, inputs: list[NDArray[Any]]) -> tuple[Seen, stepped.Outcome]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(import_module("tilesim.tiled.stepped.simulate"), "Chip", SeenChip)
        outcome = stepped.simulate(made, inputs, trace=True, observes=True)
    return SeenChip.last.seen, outcome


def values(signals: Signals) -> Seen:
    """Those in the window; of a packet its transfer alone."""
    found: Seen = {}
    for place, (name, kind, row) in enumerate(zip(signals.names, signals.kinds, signals.table().tolist(), strict=True)):
        packets = [signals.text(place, value).rsplit(" ", 2)[0] for value in row] if kind == "packet" else []
        found[name] = packets or (row if kind in NUMBERS else [signals.text(place, value) for value in row])
    return found


def must_agree(made: Program, inputs: list[NDArray[Any]]) -> None:
    run = tilesim.simulate(made, inputs, trace=True, rules="observe", signals=ALL)
    seen, outcome = stepped_along(made, inputs)
    assert run.signals is not None
    assert run.signals.window == range(run.cycles) == range(outcome.cycles)
    found = values(run.signals)
    compared = [name for name in found if name in seen]
    for name in compared:
        assert found[name] == seen[name][: run.cycles], name
    assert {run.signals.kinds[run.signals.names.index(name)] for name in compared} == {"flag", "fill", "packet"}
    must_be_at(run.signals, outcome)


def must_be_at(signals: Signals, outcome: stepped.Outcome) -> None:
    """What each unit is at, as the stepped model's spans have it."""
    at = {
        name: [""] * outcome.cycles
        for name, kind in zip(signals.names, signals.kinds, strict=True)
        if kind == "instruction"
    }
    words = {
        name: [""] * outcome.cycles for name, kind in zip(signals.names, signals.kinds, strict=True) if kind == "word"
    }
    sent: dict[tuple[str, str], int] = {}
    for track, first, cycles, kind, label in outcome.spans:
        for cycle in range(first - outcome.run_start, first - outcome.run_start + cycles):
            if cycle < 0:
                continue
            if track in at:
                at[track][cycle] = label
            elif track in words and kind == "busy":
                number = sent[track, label] = sent.get((track, label), -1) + 1
                words[track][cycle] = f"{label} {number}"
    found = values(signals)
    for name, texts in {**at, **words}.items():
        assert found[name] == texts, name


def drawn(made: Program) -> list[NDArray[Any]]:
    rng = np.random.default_rng(5)
    return [rng.integers(-128, 128, tensor.shape).astype(tensor.dtype) for tensor in made.inputs]


CHIPS: dict[str, st.SearchStrategy[Any]] = {
    "instruction_bus.buffer_depth": st.sampled_from([1, 2, 8]),
    "instruction_bus.hop_cycles": st.sampled_from([1, 3]),
    "tile.strict_compare": st.booleans(),
    "mesh.credits": st.sampled_from([1, 2, 4]),
    "mesh.hop_cycles": st.sampled_from([1, 3]),
    "ring.hop_cycles": st.sampled_from([1, 2]),
    "wide_memory.ports": st.sampled_from([1, 2]),
    "ring.queue": st.sampled_from(["split", "shared"]),
}


@pytest.mark.parametrize("chip", ["pocket-2x1", "edge-2x2"])
def test_both_models_hold_the_same_in_each_cycle(chip: str) -> None:
    made = tilesim.compile(tilesim.load_network("pocket"), tilesim.load_topology(chip))
    must_agree(made, drawn(made))


@pytest.mark.parametrize("examples", counts(6, 150))
def test_so_they_do_on_any_chip(examples: int) -> None:
    @settings(max_examples=examples, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(st.fixed_dictionaries(CHIPS), st.sampled_from(["pocket-2x1", "edge-1x2"]))
    def agree(changes: dict[str, Any], chip: str) -> None:
        made = tilesim.compile(tilesim.load_network("pocket"), tilesim.load_topology(chip, changes))
        must_agree(made, drawn(made))

    agree()


@pytest.mark.parametrize("name", ["legal", "overlap", "shared-node", "wraps", "wraps-overlap"])
def test_so_they_do_with_two_masters(name: str) -> None:
    must_agree(tilesim.load_program(ROOT / f"workloads/dual-master/{name}.tasm"), [])


@pytest.mark.parametrize("chip", ["pocket-2x1", "edge-2x2", "systolic-4"])
def test_a_run_is_the_same_with_it(chip: str) -> None:
    made = tilesim.compile(tilesim.load_network("pocket"), tilesim.load_topology(chip))
    inputs = drawn(made)
    plain, logged = (tilesim.simulate(made, inputs, trace=True, signals=window) for window in (None, ALL))
    assert plain.signals is None
    assert plain.trace is not None
    assert logged.trace is not None
    assert (logged.cycles, logged.trace.sha256) == (plain.cycles, plain.trace.sha256)
    assert logged.json() == plain.json()
    part = Recording(tracks=("chip.*a*",))
    cut, both = (tilesim.simulate(made, inputs, trace=part, signals=window).trace for window in (None, range(9, 70)))
    assert cut is not None
    assert both is not None
    assert cut.sha256 == both.sha256


@pytest.mark.parametrize("chip", ["pocket-2x1", "systolic-4"])
def test_a_window_is_cut_out_of_the_whole(chip: str) -> None:
    made = tilesim.compile(tilesim.load_network("pocket"), tilesim.load_topology(chip))
    inputs = drawn(made)
    whole = tilesim.simulate(made, inputs, signals=ALL).signals
    part = tilesim.simulate(made, inputs, signals=range(90, 160)).signals
    assert whole is not None
    assert part is not None
    assert (part.names, part.window) == (whole.names, range(90, 160))
    assert values(part) == {name: row[90:160] for name, row in values(whole).items()}


def test_a_packet_says_who_sent_which_row() -> None:
    made = tilesim.load_program(ROOT / "workloads/dual-master/legal.tasm")
    signals = tilesim.simulate(made, [], signals=ALL).signals
    assert signals is not None
    link, stop = (values(signals)[name] for name in ("chip.ring.link1", "chip.ring.stop2"))
    sent = [text for text in signals.texts if text.startswith("first.send ")]
    assert sent == [f"first.send {row} 1" for row in range(len(sent))]
    assert stop[1:] == link[:-1]
