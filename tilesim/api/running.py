"""The second verb: a program and arrays into a run; and what is told of a program without one, or by two."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

from tilesim.api.arguments import Inputs, checked, listed
from tilesim.errors import InputError, refuse
from tilesim.machines.host import random_inputs
from tilesim.machines.machine import AnyMachine, Check, Proves, RunsInTurn, SecondModel, Suggestion, meaningless
from tilesim.machines.options import RunOptions, Say, silent
from tilesim.machines.program import Program
from tilesim.machines.verify import BOTH, Verdict
from tilesim.machines.verify import verify as verified
from tilesim.registry import MACHINES, machine_named, machine_of, refusal
from tilesim.run import Look, Run, unwatched
from tilesim.sim.trace.packets import PacketSeen
from tilesim.sim.trace.recorder import Recording

ENGINE_VARIABLE = "TILESIM_ENGINE"
"""Says which engine runs programs, where the caller does not."""


@checked
def simulate(
    program: Program,
    inputs: Inputs | None = None,
    keep_tensors: bool = False,
    trace: bool | Recording = False,
    rules: str = "strict",
    holds: Mapping[str, int] | None = None,
    on_start: Callable[[Look], None] | None = None,
    masters: str = "meet",
    seed: int = 0,
    instant: str | Sequence[str] = (),
    signals: range | None = None,
    on_packet: Callable[[PacketSeen], None] | None = None,
    engine: str = "",
) -> Run:
    """Run one inference of a program on its chip, or as many as the program is for.

    Args:
        program: what to run; it brings its chip along.
        inputs: an array for each input, of the model's dtype and shape; a first axis k times as long holds k samples,
            which all go through the same run. A mapping holds them as ``in0``, ``in1``, ...; a program of one input
            also takes the array alone. If not given, they are random, over the whole range of each dtype.
        keep_tensors: also read every tensor of the model out of the tiles' memories, into ``run.tensors``.
        trace: also record what every unit does, into ``run.trace``; or as much of it as the recording says.
        rules: what becomes of transfers that meet on the ring, and of accesses that nothing orders. ``strict``: the
            first two transfers end the run, and such a program is refused; ``observe``: the chip does what it then
            does, and ``run.statistics["findings"]`` says what came of it.
        holds: cycles before which instructions must not begin, by label (``{"send": 100}``), or by label and tile
            (``{"send@2": 100}``), counted from the start of the load or run program.
        on_start: hears, when the chip begins, whom to ask how far it is: from another thread, as often as one likes. If
            the chip has to begin again, it hears so again.
        masters: what two masters of the ring must not do, for the ``rules``: ``meet``; be under way at once past a node
            in common (``disjoint``); or be under way at once at all (``single``).
        seed: what random inputs follow from; with 0 they are those of ``tilesim run``.
        instant: labels of transfers that take no time, or patterns of such (``*.send``), to see what the run would
            save: no cycle of their own, no port, no place on a link or in a register, but the same bytes, in the same
            order, when the flags that they wait for have risen. ``run.statistics["instant"]`` lists them.
        signals: cycles of the run for the state log, ``run.signals``: what flags, queues, buses and units hold in each.
            It ends with the run, or when it has 8,388,608 values, cycles x signals; ``run.signals.window`` says where.
        on_packet: hears of every packet at every stop of the ring, in the order in time: cycle, node, master, transfer,
            and whether it is the transfer's last. Such runs take longer.
        engine: who runs it: ``simpy``, whose units define what a run is; ``compiled``, which makes the same of tiled
            machines' programs sooner, and refuses what it does not cover; or ``auto``, the compiled one where it covers
            the run. If not given, what ``TILESIM_ENGINE`` says, or ``auto``. ``run.engine`` says who did.

    Raises:
        InputError: inputs that do not fit, an instruction that the chip could not run, or a label that there is not.
        RunError: the run can't go on: it hangs, or transfers met; its ``findings`` say what was noticed.
    """
    machine, arrays = machine_of(program.topology), listed(inputs, program.inputs, seed)
    options = RunOptions(
        keep_tensors=keep_tensors,
        recording=_recording(trace),
        rules=rules,
        masters=masters,
        holds={} if holds is None else holds,
        instant=_labels(instant),
        signals=signals,
        on_start=on_start or unwatched,
        on_packet=on_packet,
        engine=_engine(engine, machine),
    )
    refuse(meaningless(machine, program.topology, options))
    return machine.simulate(program, arrays, options)


@checked
def simulate_requests(
    programs: Sequence[Program],
    inputs: Sequence[Inputs] | None = None,
    order: Sequence[int] | None = None,
    trace: bool | Recording = False,
    rules: str = "strict",
    holds: Mapping[str, int] | None = None,
    on_start: Callable[[Look], None] | None = None,
    masters: str = "meet",
    seed: int = 0,
    instant: str | Sequence[str] = (),
    signals: range | None = None,
    on_packet: Callable[[PacketSeen], None] | None = None,
    engine: str = "",
) -> Run:
    """Run inferences of programs, one after the other, on the one chip that they share.

    Args:
        programs: what to run; those that :func:`compile_networks` made together keep each other's parameters.
        inputs: for each inference what :func:`simulate` takes; if not given, random arrays for each of the ``order``.
        order: for each inference the number of its program; if not given, they take turns.
        trace, rules, holds, on_start, masters, seed, instant, signals, on_packet, engine: as in :func:`simulate`;
            labels begin with ``request2.``, that of inference 2.

    The run's outputs are those of all inferences, one after the other; ``run.statistics["requests"]`` says whose are
    which.

    Raises:
        InputError, RunError: as in :func:`simulate`.
    """
    count = len(programs) if inputs is None else len(inputs)
    turns = [k % max(1, len(programs)) for k in range(count)] if order is None else order
    if not turns or not all(0 <= number < len(programs) for number in turns):
        raise InputError(f"order must name programs from 0 to {len(programs) - 1}, at least one, not be {list(turns)}")
    machine = _in_turn(programs)
    options = RunOptions(
        keep_tensors=False,
        recording=_recording(trace),
        rules=rules,
        masters=masters,
        holds={} if holds is None else holds,
        instant=_labels(instant),
        signals=signals,
        on_start=on_start or unwatched,
        on_packet=on_packet,
        engine=_engine(engine, machine),
    )
    refuse(meaningless(machine, programs[0].topology, options))
    tensors = [programs[number].inputs_of_inference for number in turns]
    if inputs is None:
        drawn = iter(random_inputs([*chain(*tensors)], seed))
        inputs = [[*islice(drawn, len(own))] for own in tensors]
    arrays = [listed(given, own) for given, own in zip(inputs, tensors, strict=False)]
    return machine.simulate_requests(programs, turns, arrays, options)


@checked
def link(programs: Sequence[Program], order: Sequence[int]) -> Program:
    """The one program that :func:`simulate_requests` runs, whose inputs and outputs are those of all inferences.

    Raises:
        InputError: programs that can't follow one another, or of a machine that runs no several inferences.
    """
    program: Program = _in_turn(programs).link(programs, order)
    return program


def _engine(given: str, machine: AnyMachine) -> str:
    """Who is to run a program: as the caller says, else the environment. Only some machines have a choice."""
    said = os.environ.get(ENGINE_VARIABLE, "")
    if not given and said:
        refuse(f"{ENGINE_VARIABLE}: {fault}" for fault in RunOptions(engine=said).faults())
    word = given or said or RunOptions.engine
    leaves_open = word in ("auto", "simpy") or not given
    return RunOptions.engine if leaves_open and not machine.has_compiled_engine else word


def _labels(instant: str | Sequence[str]) -> tuple[str, ...]:
    return (instant,) if isinstance(instant, str) else tuple(instant)


def _in_turn(programs: Sequence[Program]) -> RunsInTurn[Any, Any]:
    machine = machine_of(programs[0].topology)
    if not isinstance(machine, RunsInTurn):
        raise refusal(programs[0].topology, RunsInTurn)
    return machine


@checked
def check(programs: Program | Sequence[Program], masters: str = "meet", say: Say | None = None) -> Check:
    """Prove that programs that share a chip keep to its rules whatever the delays, or show how they can break them.

    Args:
        programs: one, or those that are to lie side by side.
        masters: what two masters of the ring must not do, as in :func:`simulate`.
        say: is told what goes on.

    Raises:
        InputError: programs of a machine that proves nothing, or another word for ``masters``.
    """
    together = [programs] if isinstance(programs, Program) else programs
    machines = [_proving(program) for program in together]
    return machines[0].check(together, masters, say or silent)


@checked
def suggest(program: Program, masters: str = "meet", say: Say | None = None) -> Suggestion[Any]:
    """Look for the smallest wait or fence with which a program is proven.

    Args:
        program: what :func:`check` refutes.
        masters: what two masters of the ring must not do, as in :func:`simulate`.
        say: is told what goes on.

    Raises:
        InputError: a program of a machine that proves nothing, or another word for ``masters``.
    """
    return _proving(program).suggest(program, masters, say or silent)


def judge(packets: Path, masters: str = "meet") -> dict[str, Any]:
    """What the packets on a ring that were recorded elsewhere, such as in an RTL simulation, did against its rules.

    Args:
        packets: a .csv file.
        masters: what two masters of the ring must not do, as in :func:`simulate`.

    Raises:
        InputError: with every fault of the file, or another word for ``masters``.
    """
    machine = next(machine for machine in map(machine_named, MACHINES) if isinstance(machine, Proves))
    return machine.judge(packets, masters)


def _proving(program: Program) -> Proves[Any, Any]:
    machine = machine_of(program.topology)
    if not isinstance(machine, Proves):
        raise refusal(program.topology, Proves)
    return machine


@checked
def verify(
    program: Program,
    inputs: Inputs | None = None,
    say: Say | None = None,
    seed: int = 0,
    engines: tuple[str, str] = BOTH,
) -> Verdict:
    """Run one inference on two models of the chip, written apart from each other, and compare them.

    Outputs, cycles, and the busy, stalled and idle cycles of every unit must be the same.

    Args:
        program: what to run; it brings its chip along.
        inputs: what :func:`simulate` takes, of one sample.
        say: is told what goes on.
        seed: what random inputs follow from, as in :func:`simulate`.
        engines: which two: of ``simpy``, which defines what a run is, ``stepped``, which steps through every cycle, and
            ``compiled``, a tiled machine's engine that :func:`simulate` mostly takes.

    Raises:
        InputError: inputs that do not fit, a program that the chip could not run, or of a machine with one model; other
            ``engines``, or a program that the compiled one does not cover.
    """
    machine = machine_of(program.topology)
    if not isinstance(machine, SecondModel):
        raise refusal(program.topology, SecondModel)
    return verified(machine, program, listed(inputs, program.inputs, seed), say or silent, engines)


def _recording(trace: bool | Recording) -> Recording | None:
    if isinstance(trace, Recording):
        return trace
    return Recording() if trace else None
