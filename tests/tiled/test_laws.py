"""Laws that hold for any program on any chip, on random ones and on random networks."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path

import numpy as np
import pytest

from tests.tiled.corpus.chips import DATA_BYTES
from tests.tiled.corpus.programs import inputs_of, random_program
from tests.tiled.test_determinism import disorder
from tilesim import simulate
from tilesim.arithmetic.classify import bytes_made
from tilesim.errors import ProgramError, RunError
from tilesim.run import Run
from tilesim.tiled.isa.model.accesses import mesh_words
from tilesim.tiled.isa.model.instructions import (
    WORD_BYTES,
    Classify,
    Infeed,
    Instruction,
    MeshOut,
    RingProduce,
    program_bytes,
)
from tilesim.tiled.isa.model.loops import iterations
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.topology import Topology

pytestmark = pytest.mark.usefixtures("on_simpy")

ROOT = Path(__file__).parents[2]
FIRST = 7000
HASHES = """
from tests.tiled.test_laws import hashes
print(hashes())
"""


def runs(count: int, serial: bool = False, trace: bool = False) -> Iterator[tuple[Program, Run]]:
    """Those of so many random programs that come to their end."""
    for number in range(FIRST, FIRST + count):
        program = random_program(number, serial)
        try:
            yield program, simulate(program, inputs_of(program), trace=trace)
        except (ProgramError, RunError):
            continue


# ---- every cycle and every byte is somewhere ---------------------------------------------------------------------


def test_busy_stalls_and_idle_are_the_run() -> None:
    for program, run in runs(50):
        for unit in (*run.statistics["units"], *run.statistics["links"]):
            total = unit["busy_cycles"] + sum(unit["stall_cycles"].values()) + unit["idle_cycles"]
            assert total == run.cycles, (program.name, unit)


@dataclass(frozen=True)
class Sent:
    """Rows that a program puts on the ring, and how many links each passes."""

    rows: int
    links: int


def sent(op: Instruction, tiles: int, row_bytes: int) -> Iterator[Sent]:
    """What an instruction of the run puts on the ring, if rows stop where their consumers wait."""
    if isinstance(op, Infeed):
        yield from (Sent(op.rows, links(0, op.to << k, tiles)) for k in range(op.transfers))
    elif isinstance(op, RingProduce):
        yield Sent(iterations(op.read.nest), links(op.tiles.bit_length(), op.to, tiles))
    elif isinstance(op, Classify):
        yield Sent(-(-bytes_made(op.function, op.elements, op.scaling) // row_bytes), 1)


def links(master: int, to: int, tiles: int) -> int:
    """From a node to the last stop in a bitmap."""
    nodes = tiles + 3
    return max((bit + 1 - master) % nodes for bit in range(tiles + 2) if to >> bit & 1)


def mesh_bytes(program: Program, kind: type = MeshOut) -> int:
    words = sum(
        mesh_words(op, program.topology) * op.tiles.bit_count()
        for op in program.run
        if isinstance(op, kind) and getattr(op, "fill", None) is None
    )
    return words * program.topology.narrow_memory.word_bytes


def bytes_are_conserved(program: Program, run: Run) -> bool:
    """What the instructions say enters a bus, enters it, is carried over as many links as its way has, and arrives;
    whether rows have gone round the ring on top of that.
    """
    moved, row_bytes = run.statistics["bytes"], program.topology.wide_memory.row_bytes
    rows = [each for op in program.run for each in sent(op, program.topology.tiles, row_bytes)]
    carried = sum(each.rows * each.links for each in rows) * row_bytes
    assert moved["ring"]["entered"] == sum(each.rows for each in rows) * row_bytes
    floats = moved["ring"]["carried"] > carried and program.topology.ring.no_consumer == "circulate"
    assert moved["ring"]["carried"] == carried or floats
    assert moved["ring"]["carried"] == sum(
        unit["bytes"] for unit in run.statistics["links"] if ".ring." in unit["track"]
    )
    assert moved["mesh"]["entered"] == moved["mesh"]["carried"] == mesh_bytes(program)
    issued = sum(getattr(op, "words", 0) for op in program.run) * WORD_BYTES
    assert moved["instruction_bus"]["entered"] == issued
    assert moved["host"]["entered"] == moved["host"]["carried"] == _tensor_bytes(program) + _sent_besides(program)
    return floats


def _tensor_bytes(program: Program) -> int:
    """Bytes of all tensors, those of host steps included, on the host's link: whole rows, or, where the chip adds what
    pads them, their elements.
    """
    tensors = (*program.sent, *program.leaving)
    if program.topology.host.sends_padding:
        return sum(tensor.rows for tensor in tensors) * program.topology.wide_memory.row_bytes
    return sum(prod(block.extent) * tensor.carried.itemsize for tensor in tensors for block in tensor.blocks)


def _sent_besides(program: Program) -> int:
    """Bytes of instructions and parameters that the host sends for an inference, where the chip's keys say so."""
    host, row_bytes = program.topology.host, program.topology.wide_memory.row_bytes
    stored = sum(op.total_rows for op in program.run if isinstance(op, Infeed) and op.source == "data")
    parameters = stored * row_bytes if host.sends_parameters else 0
    return parameters + (program_bytes(program.run) if host.sends_instructions else 0)


def test_bytes_in_are_bytes_out_on_every_bus() -> None:
    floating = [bytes_are_conserved(program, run) for program, run in runs(70)]
    assert len(floating) > 50
    assert any(floating), "some rows must go round the ring"


def test_samples_that_run_together_are_what_each_is_alone() -> None:
    """Their outputs too that come from parameters, and are the same for all."""
    found = [(program, run) for program, run in runs(100) if program.inputs]
    for program, run in found:
        ones = [np.ones_like(array) for array in inputs_of(program)]
        others = simulate(program, ones).outputs
        both = simulate(program, [np.concatenate(pair) for pair in zip(inputs_of(program), ones, strict=True)])
        assert both.cycles == run.cycles
        for together, first, second in zip(both.outputs, run.outputs, others, strict=True):
            assert np.array_equal(together, np.concatenate([first, second]))
    assert len(found) > 25


# ---- a better chip is not slower ---------------------------------------------------------------------------------

BETTER: dict[str, tuple[int, ...]] = {
    "host.bytes_per_cycle": (1, 2, 4, 8, 64),
    "host.latency_cycles": (9, 3, 1, 0),
    "data_memory.bytes_per_cycle": (1, 4, 8, 64),
    "instruction_bus.width_bytes": (1, 8, 16, 64),
    "instruction_bus.hop_cycles": (4, 2, 1),
    "instruction_bus.buffer_depth": (1, 2, 3, 8),
    "ring.hop_cycles": (4, 2, 1),
    "mesh.hop_cycles": (4, 2, 1),
    "mesh.credits": (1, 2, 3, 8),
    "wide_memory.ports": (1, 2),
    "tile.output_fifo_groups": (1, 2, 3, 8),
    "tile.multiplier_cycles": (4, 2, 0),
    "classifier.cycles_per_element": (3, 2, 1),
}
"""Values of a key, each better than the one before: more bandwidth, ports, depth or credits, or less latency."""


def changed(topology: Topology, key: str, value: int | str) -> Topology:
    tree, (section, name) = topology.model_dump(), key.split(".")
    tree[section][name] = value
    return Topology.model_validate(tree)


def cycles(program: Program, key: str) -> list[int]:
    """Those of a program with all values of a key; none if it does not end with some."""
    found = []
    for value in BETTER[key]:
        subject = replace(program, topology=changed(program.topology, key, value))
        try:
            found.append(simulate(subject, inputs_of(subject)).cycles)
        except RunError:
            return []
    return found


def roomy(program: Program) -> Program:
    """With data memory for all rows of the host, of which a lower latency lets fewer be on their way."""
    return replace(program, topology=changed(program.topology, "data_memory.size_bytes", 2 * DATA_BYTES))


def not_slower(found: list[int]) -> bool:
    return found == sorted(found, reverse=True)


def tried(count: int, serial: bool) -> Iterator[tuple[str, str, list[int]]]:
    """Random programs, each with all values of a key of its own: its name, the key and the cycles."""
    for number in range(FIRST, FIRST + count):
        program, key = random_program(number, serial), sorted(BETTER)[number % len(BETTER)]
        try:
            found = cycles(roomy(program) if key == "host.latency_cycles" else program, key)
        except ProgramError:
            continue
        if found:
            yield program.name, key, found


def test_a_better_chip_is_never_slower_where_one_thing_happens_at_a_time() -> None:
    """In these programs a fence stands behind each step: an instruction, both ends of a transfer, or a few that share
    the ring. So nobody finds a port or a link taken that was free on a worse chip; and each row
    of the host has a place.
    """
    found = list(tried(65, serial=True))
    assert len(found) > 50
    assert all(not_slower(each) for _, _, each in found), [each for each in found if not not_slower(each[2])]
    assert sum(each[0] > each[-1] for _, _, each in found) > len(found) / 3, "most keys must matter to some"


PRIORITY = "a copy with a higher priority begins sooner, and takes a tensorop's accesses that it used to come behind"

PLACES = "with a lower latency the host may have fewer rows on their way, so fewer are there when the first is taken"

ANOMALIES = {
    "instruction_bus.width_bytes": (random_program(7134), [1788, 248, 173, 183], PRIORITY),
    "host.latency_cycles": (random_program(7049, serial=True), [149, 151, 149, 148], PLACES),
}
"""Programs that a better chip makes slower, and why. With nothing else at work, and a place for each row, this
can't be: the law above.
"""


@pytest.mark.parametrize("key", ANOMALIES)
def test_what_comes_sooner_may_be_in_the_way(key: str) -> None:
    program, expected, _ = ANOMALIES[key]
    assert cycles(program, key) == expected


def test_it_is_hardly_ever_much_slower() -> None:
    for name, key, found in tried(40, serial=False):
        assert all(later <= 1.05 * found[0] + 2 for later in found), (name, key, found)


# ---- the same program takes the same cycles ----------------------------------------------------------------------


def hashes(numbers: Iterable[int] = range(FIRST, FIRST + 16)) -> str:
    """One for the traces of all those of the programs that end."""
    digest = hashlib.sha256()
    for number in numbers:
        program = random_program(number)
        try:
            run = simulate(program, inputs_of(program), trace=True)
        except (ProgramError, RunError) as error:
            digest.update(str(error).encode())
        else:
            digest.update(run.statistics["trace_sha256"].encode())
    return digest.hexdigest()


def test_traces_are_the_same_again_and_in_another_process() -> None:
    """What refuses a program, or ends it, says so in the same words."""
    here = hashes()
    assert hashes() == here
    environment = {**os.environ, "PYTHONHASHSEED": "4321"}
    code = [sys.executable, "-c", HASHES]
    done = subprocess.run(code, capture_output=True, text=True, check=True, env=environment, cwd=ROOT)
    assert done.stdout.strip() == here


@pytest.mark.parametrize("seed", range(2))
def test_the_order_of_events_changes_no_random_program(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    numbers = range(FIRST + 20 * seed, FIRST + 20 * seed + 20)
    plain = hashes(numbers)
    disorder(monkeypatch, seed)
    assert hashes(numbers) == plain
