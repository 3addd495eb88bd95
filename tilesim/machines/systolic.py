"""The systolic machine, as the house sees it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from tilesim.assembly.files import machine_of
from tilesim.batching import graph_of, is_of
from tilesim.errors import InputError, ProgramError
from tilesim.machines.machine import Machine, Options, Say
from tilesim.network.graph import Network
from tilesim.run import Look, Run
from tilesim.sim.trace.recorder import Recording
from tilesim.systolic.compiler.compile import compile_network
from tilesim.systolic.isa.assembly import ASSEMBLY
from tilesim.systolic.isa.checks.hazards import races
from tilesim.systolic.isa.checks.program import faults
from tilesim.systolic.isa.model.program import Program as SystolicProgram
from tilesim.systolic.run.simulate import simulate
from tilesim.systolic.topology import Topology as SystolicTopology
from tilesim.tiled.rules.ring.readings import Reading


def _compile(
    networks: Sequence[Network], topology: SystolicTopology, options: Options, say: Say
) -> list[SystolicProgram]:
    if found := list(_meaningless(networks, options)):
        raise InputError(f"{topology.name}: {fault}" for fault in found)
    return [compile_network(network, topology, say, options.batches) for network in networks]


def _meaningless(networks: Sequence[Network], options: Options) -> Iterator[str]:
    """What a machine of one array can't be asked for."""
    default = Options()
    if len(networks) > 1:
        yield f"a systolic machine runs one network at a time, not {len(networks)}"
    if options.partition != default.partition:
        yield "--partition is about tiles; a systolic machine has one array"
    if options.cache != default.cache:
        yield "--no-cache and priorities are about tiles; a systolic machine keeps parameters in weight memory"
    for network in networks[:1]:
        if options.batches and not is_of(options.batches, graph_of(network)):
            yield f"batches must be a plan for {network.name}, not for another network"


def _simulate(
    program: SystolicProgram,
    inputs: Sequence[NDArray[Any]],
    keep_tensors: bool,
    trace: bool | Recording,
    rules: str,
    not_before: Mapping[str, int] | None,
    on_start: Callable[[Look], None],
    masters: str,
) -> Run:
    """A run of a program in which syncs order whatever meets in a memory."""
    if masters != Reading.MEET:
        raise InputError(f"masters must be left out: those are of a ring, and {program.topology.name} has none")
    if found := program.once(_faults):
        raise ProgramError(found)
    return simulate(program, inputs, keep_tensors, trace, rules, not_before, on_start)


def _simulate_requests(
    programs: Sequence[SystolicProgram],
    order: Sequence[int],
    inputs: Sequence[Sequence[NDArray[Any]]],
    trace: bool | Recording,
    rules: str,
    not_before: Mapping[str, int] | None,
    on_start: Callable[[Look], None],
    masters: str,
) -> Run:
    """All inferences that the one program is for."""
    [program] = programs[:1]
    if len(programs) > 1 or len(order) != program.inferences:
        raise InputError(
            f"{program.name}: the program is for {program.inferences} inferences of one network, not for {len(order)}"
        )
    arrays = [array for each in inputs for array in each]
    return _simulate(program, arrays, False, trace, rules, not_before, on_start, masters)


def _is_own(path: Path) -> bool:
    return machine_of(path) == "systolic"


def _faults(program: SystolicProgram) -> list[str]:
    return program.once(faults) or races(program)


SYSTOLIC = Machine(
    SystolicTopology,
    SystolicProgram,
    _compile,
    _simulate,
    _simulate_requests,
    ASSEMBLY.save,
    ASSEMBLY.load,
    _faults,
    _is_own,
)
