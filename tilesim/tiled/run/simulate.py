"""Run a program on the chip it was made for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from tilesim.errors import ArrayError, InputError, ProgramError, refuse
from tilesim.machines import frame
from tilesim.machines.collecting import without_collector
from tilesim.machines.options import RunOptions
from tilesim.printable import counted
from tilesim.run import Run
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.link.link import link_programs

Array = NDArray[Any]

PLAIN = RunOptions()


def simulate(program: Program, inputs: Sequence[Array], options: RunOptions = PLAIN) -> Run:
    """Load the parameters, then run the program, mostly one inference, carrying all samples of ``inputs`` at once;
    raises as :meth:`~tilesim.machines.machine.Machine.simulate`.
    """
    refuse(options.faults())
    lenient = options.rules == "observe" and len(program.requests) < 2
    _must_be_sound([program], lenient)
    is_racing = lenient and _is_racing(program)
    if is_racing and options.keep_tensors:
        raise InputError(f"{program.name}: tensors can only be kept of a program whose accesses have an order")
    return _run_by(options, program, inputs, is_racing)


def simulate_requests(
    programs: Sequence[Program], order: Sequence[int], inputs: Sequence[Sequence[Array]], options: RunOptions = PLAIN
) -> Run:
    """Load the parameters, then run the inferences of ``programs`` in ``order``, by their numbers, each with its own
    ``inputs``; the run's outputs are those of all requests, one after the other.

    Each program is checked alone: the fences between requests let none meet another. Accesses that nothing orders are
    refused whatever the rules.
    """
    refuse(options.faults())
    _must_be_sound(programs)
    program = link_programs(programs, order)
    _must_match(programs, order, inputs)
    return _run_by(options, program, [array for arrays in inputs for array in arrays])


def _must_match(programs: Sequence[Program], order: Sequence[int], inputs: Sequence[Sequence[Array]]) -> None:
    if len(inputs) != len(order):
        raise ArrayError(f"inputs must be those of {len(order)} requests, not of {len(inputs)}")
    counts = [(len(programs[number].inputs), len(arrays)) for number, arrays in zip(order, inputs, strict=True)]
    if wrong := [(k, *count) for k, count in enumerate(counts) if count[0] != count[1]]:
        raise ArrayError(
            f"inputs of request {k + 1} must be {counted(need, 'array')}, not {have}" for k, need, have in wrong
        )


def _must_be_sound(programs: Sequence[Program], lenient: bool = False) -> None:
    several, unknown = len(programs) > 1, [program for program in programs if not program.is_known_sound]
    if not unknown:
        return
    from tilesim.tiled.rules.soundness import unrunnable, unsound  # which a program that was proven doesn't need

    faults = unrunnable if lenient else unsound
    wrong = [f"{program.name}: {fault}" if several else fault for program in unknown for fault in faults(program)]
    if wrong:
        raise ProgramError(wrong)


def _is_racing(program: Program) -> bool:
    if program.is_known_sound:
        return False
    from tilesim.tiled.rules.soundness import racing

    return racing(program)


def _run_by(options: RunOptions, program: Program, inputs: Sequence[Array], racing: bool = False) -> Run:
    """By the engine that the options say; instructions without a label get one."""
    done: Run | str = ""
    with without_collector():  # for labels and imports, too
        program = frame.named(program)
        if options.engine != "simpy":
            from tilesim.tiled.run.engine import compiled_run  # which runs on SimPy don't need

            done = compiled_run(program, inputs, options, racing)
    if isinstance(done, Run):
        return done
    from tilesim.tiled.run.event_driven import run_on_simpy  # with all units, which the compiled engine doesn't need

    return replace(run_on_simpy(program, inputs, options, racing), note=done)
