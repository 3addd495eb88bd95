"""Two models of one chip, written apart from each other, must agree to the last cycle of every unit.

One is discrete-event: it computes with stretches of time. The other steps through every cycle. They share the program's
format and the arithmetic of operators, nothing else. So a timing that only one of them has is an error in one of them,
or a sentence that is missing in a docstring. A machine's compiled engine, if it has one, must agree with both.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby, zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.errors import ArrayError, CollisionError, HangError, refuse
from tilesim.machines.machine import AnyMachine, ModelResult, SecondModel, Span, Spans
from tilesim.machines.options import RunOptions, Say, silent
from tilesim.machines.program import Program
from tilesim.printable import shown, unknown
from tilesim.run import Run
from tilesim.sim.trace.recorder import Recording
from tilesim.sim.trace.trace import Trace

Array = NDArray[Any]
Units = Mapping[str, Mapping[str, int]]
Stretch = tuple[int, int, str]
"""First cycle, that after the last, and what kind of time it is."""

SCHEMA = "tilesim.verify/3"
"""The version of the document that ``tilesim verify --json`` prints."""

STEPPED = "stepped"
MODELS = ("simpy", "compiled", STEPPED)
"""What can be compared, two at a time."""
BOTH = ("simpy", STEPPED)
"""What is, if nobody says otherwise."""

ENDED, COLLIDED = "ended", "transfers met on the ring"
"""How a run may end, beside hanging."""


@dataclass(frozen=True)
class Difference:
    """A figure that two models don't share: of the unit ``track`` (empty: of the whole run), in words."""

    track: str
    what: str
    one: str
    other: str


@dataclass(frozen=True)
class Divergence:
    """The first cycle, counted from the start of a ``section`` (``load`` or ``run``), in which two traces say different
    things of the unit ``track``, and what each of them says.
    """

    section: str
    track: str
    cycle: int
    one: str
    other: str


@dataclass(frozen=True)
class Verdict:
    """What came of a comparison of two of :data:`MODELS`; the figures are those of the first. ``divergence``: where the
    traces part, if both have come to their end.
    """

    program: str
    topology: str
    models: tuple[str, str]
    end: str
    cycles: int
    load_cycles: int
    compared_units: int
    differences: tuple[Difference, ...]
    divergence: Divergence | None = None

    @property
    def agree(self) -> bool:
        return not self.differences

    @property
    def ended(self) -> bool:
        """Whether the first model has come to the end of the run."""
        return self.end == ENDED

    def document(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {"schema": SCHEMA, "agree": self.agree, **asdict(self)}


def verify(
    machine: SecondModel[Any, Any],
    program: Program,
    inputs: Sequence[Array],
    say: Say = silent,
    models: tuple[str, str] = BOTH,
) -> Verdict:
    """Run ``program`` on two models and compare outputs, cycles and the account of every unit.

    Args:
        machine: whose models they are.
        program: what to run; it brings its chip along.
        inputs: an array for each of the program's inputs; one sample.
        say: is told what goes on.
        models: two of :data:`MODELS`.

    Raises:
        ProgramError: an instruction that the chip could not run.
        InputError: other models, or one that does not cover the program.
        ArrayError: inputs that do not fit, or several samples.
    """
    refuse(faults(models))
    _must_be_one_sample(program, inputs)
    results: list[ModelResult] = []
    for model in models:
        cycles = f" through {results[0].load_cycles + results[0].cycles:,} cycles" if results else ""
        say(f"running {program.name} on {program.topology.name}{cycles}: {model}")
        results.append(result(machine, model, program, inputs))
    one, other = results
    different = tuple(differences(one, other))
    divergence = None
    if different and one.end == other.end == ENDED:
        say("looking for where the traces part")
        ours, theirs = (result(machine, model, program, inputs, trace=True).spans for model in models)
        divergence = find_divergence(ours, theirs, {op.label or f"run[{k}]" for k, op in enumerate(program.run)})
    return Verdict(
        program.name,
        program.topology.name,
        models,
        one.end,
        one.cycles,
        one.load_cycles,
        len(one.units or ()),
        different,
        divergence,
    )


def faults(models: Sequence[str]) -> Iterator[str]:
    """What is wrong with the names of two models."""
    yield from (f"engines {unknown(model, MODELS)}" for model in models if model not in MODELS)
    if len({*models}) != 2 or len(models) != 2:
        yield f"engines must be two of {', '.join(MODELS)}, not {', '.join(map(shown, models)) or 'none'}"


def result(
    machine: SecondModel[Any, Any], model: str, program: Program, inputs: Sequence[Array], trace: bool = False
) -> ModelResult:
    """What one of :data:`MODELS` says."""
    if model == STEPPED:
        return machine.step(program, inputs, trace)
    return event_result(machine, program, inputs, trace, model)


def event_result(
    machine: AnyMachine, program: Program, inputs: Sequence[Array], trace: bool = False, engine: str = "simpy"
) -> ModelResult:
    """What the discrete-event model says, run by that engine."""
    try:
        run = machine.simulate(program, inputs, RunOptions(recording=Recording() if trace else None, engine=engine))
    except HangError as error:
        return ModelResult(hung(error.section))
    except CollisionError:
        return ModelResult(COLLIDED)
    if run.engine != engine:
        return ModelResult(run.note)
    spans = _spans(run.trace) if run.trace is not None else ()
    return ModelResult(ENDED, run.outputs, run.cycles, run.statistics["load_cycles"], _units(run), spans)


def differences(one: ModelResult, other: ModelResult) -> list[Difference]:
    """All figures that two accounts don't share."""
    if one.end != other.end:
        return [Difference("", "end", one.end, other.end)]
    different = [
        Difference("", what, f"{getattr(one, what):,}", f"{getattr(other, what):,}")
        for what in ("load_cycles", "cycles")
        if getattr(one, what) != getattr(other, what)
    ]
    different += [
        Difference("", f"output {k}", *_first_element(ours, theirs))
        for k, (ours, theirs) in enumerate(zip(one.outputs, other.outputs, strict=True))
        if not _same(ours, theirs)
    ]
    return different + _unit_differences(one.units or {}, other.units or {})


def _unit_differences(one: Units, other: Units) -> list[Difference]:
    different = []
    for track in [*one, *(track for track in other if track not in one)]:
        if track not in one or track not in other:
            here, there = ("there" if track in units else "missing" for units in (one, other))
            different.append(Difference(track, "unit", here, there))
            continue
        ours, theirs = one[track], other[track]
        different += [
            Difference(track, kind, f"{ours.get(kind, 0):,}", f"{theirs.get(kind, 0):,}")
            for kind in sorted({*ours, *theirs})
            if ours.get(kind, 0) != theirs.get(kind, 0)
        ]
    return different


def _must_be_one_sample(program: Program, inputs: Sequence[Array]) -> None:
    for tensor, array in zip(program.inputs, inputs, strict=False):
        if array.ndim and tensor.shape[0] and len(array) > tensor.shape[0]:
            raise ArrayError(f"input {shown(tensor.name)} must hold one sample, not {len(array) // tensor.shape[0]}")


def hung(section: str) -> str:
    """How a run ends of which a section can't go on."""
    return f"the {section} program hangs"


def _units(run: Run) -> Units:
    """The accounts of all units and links, by kind."""
    return {
        unit["track"]: {
            "busy": unit["busy_cycles"],
            "idle": unit["idle_cycles"],
            **{f"stall:{reason}": cycles for reason, cycles in unit["stall_cycles"].items()},
        }
        for unit in (*run.statistics["units"], *run.statistics["links"])
    }


def _spans(trace: Trace) -> Spans:
    columns = zip(trace.track, trace.start_cycle, trace.cycles, trace.kind, trace.what, strict=True)
    return tuple(
        (trace.tracks[track], int(start), int(cycles), trace.kinds[kind], trace.whats[what])
        for track, start, cycles, kind, what in columns
    )


def _same(ours: Array, theirs: Array) -> bool:
    """To the last bit; what is no number equals itself."""
    return ours.dtype == theirs.dtype and ours.shape == theirs.shape and ours.tobytes() == theirs.tobytes()


def _first_element(ours: Array, theirs: Array) -> tuple[str, str]:
    """The first element that differs, and where."""
    if ours.dtype != theirs.dtype or ours.shape != theirs.shape:
        return f"{ours.dtype} {ours.shape}", f"{theirs.dtype} {theirs.shape}"
    at = tuple(int(index) for index in np.argwhere(ours != theirs)[0])
    return f"{ours[at]} at {at}", f"{theirs[at]} at {at}"


def find_divergence(one: Spans, other: Spans, run: Collection[str]) -> Divergence | None:
    """The earliest one; of several in one cycle, that of the first track by name. Traces that only call instructions
    otherwise don't part. ``run``: the labels of the run program, with whose first instruction its section begins.
    """
    for section, ours, theirs in zip(("load", "run"), _sections(one, run), _sections(other, run), strict=True):
        here, there = _by_track(ours), _by_track(theirs)
        divergences = [
            divergence
            for track in sorted({*here, *there})
            if (divergence := _divergence(section, track, here.get(track, []), there.get(track, []))) is not None
        ]
        if divergences:
            return min(divergences, key=lambda divergence: divergence.cycle)
    return None


def _sections(spans: Spans, run: Collection[str]) -> tuple[Spans, Spans]:
    """The spans of either section, those of the second counted from its own start."""
    start = min((span[1] for span in spans if span[4] in run), default=0)
    later = [(span[0], span[1] - start, *span[2:]) for span in spans if span[1] >= start]
    return [span for span in spans if span[1] < start], later


def _by_track(spans: Iterable[Span]) -> dict[str, list[Span]]:
    """The spans of each track, in order; idleness is none."""
    known = sorted(span for span in spans if span[3] != "idle" and span[2])
    return {track: list(group) for track, group in groupby(known, key=lambda span: span[0])}


def _divergence(section: str, track: str, ours: list[Span], theirs: list[Span]) -> Divergence | None:
    for one, other in zip_longest(_stretches(ours), _stretches(theirs)):
        if one != other:
            cycle = _parting(one, other)
            return Divergence(section, track, cycle, _said(ours, cycle), _said(theirs, cycle))
    return None


def _stretches(spans: list[Span]) -> list[Stretch]:
    """Adjoining spans of a kind are one stretch, whatever the instruction."""
    stretches: list[Stretch] = []
    for _, start, cycles, kind, _ in spans:
        first = stretches.pop()[0] if stretches and stretches[-1][1:] == (start, kind) else start
        stretches.append((first, start + cycles, kind))
    return stretches


def _parting(one: Stretch | None, other: Stretch | None) -> int:
    """The first cycle in which one of two stretches holds and the other one doesn't."""
    known = [stretch for stretch in (one, other) if stretch is not None]
    if len(known) == 2 and (known[0][0], known[0][2]) == (known[1][0], known[1][2]):
        return min(stretch[1] for stretch in known)
    return min(stretch[0] for stretch in known)


def _said(spans: list[Span], cycle: int) -> str:
    """What a trace says of a cycle."""
    for _, start, cycles, kind, what in spans:
        if start <= cycle < start + cycles:
            doing = kind.replace("stall:", "waits for ")
            return f"{doing} in {what}" if what else doing
    return "idle"
