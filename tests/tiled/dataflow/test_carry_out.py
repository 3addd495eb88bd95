"""The compiled engine against SimPy: outputs and run.json to the last byte, and what the order of effects changes."""

import dataclasses
from collections import Counter
from collections.abc import Callable
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from numpy.typing import NDArray

import tilesim
from tests.soak import counts, part_of
from tests.tiled.corpus.gates import with_gates
from tests.tiled.corpus.holds import random_holds
from tests.tiled.corpus.links import with_narrow_links
from tests.tiled.corpus.programs import inputs_of, program_of_many_groups, random_program
from tests.tiled.corpus.records import with_records
from tests.tiled.corpus.written import behind_a_full_outfeed
from tests.tiled.dataflow.agreement import COMPILED, NO_HOLDS, inputs_for, must_agree
from tests.tiled.hosted import CASES, hosted
from tests.tiled.programs import program as text_program
from tilesim.errors import ProgramError, RunError
from tilesim.machines.frame import named
from tilesim.tiled.core.timing import timed
from tilesim.tiled.dataflow.carry_out import carried_out
from tilesim.tiled.dataflow.order import Refused
from tilesim.tiled.flat.coverage import uncovered
from tilesim.tiled.flat.readout import Timing
from tilesim.tiled.flat.tables import Numbers
from tilesim.tiled.isa.model.fields import Engine
from tilesim.tiled.isa.model.instructions import (
    Instruction,
    NarrowToWide,
    RingConsume,
    RingProduce,
    TensorOp,
    WideToNarrow,
)
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.run.core import library, products
from tilesim.tiled.run.host_driver import HostSide
from tilesim.tiled.topology import Topology
from tilesim.tiled.units.tensor.decoder import Decoder
from tilesim.tiled.units.ttu import TraversalForm

pytestmark = COMPILED
NUMBERS = 5400
FRESH = 20_000
"""From here on, numbers of programs that no other test has."""
SLOW = {"host.step_bytes_per_second": 200_000_000, "host.latency_cycles": 7}
CHIPS = ("edge-1x1", "edge-2x2", "edge-4x4", "fig2-5x2")


def compiled(network: str | Path, chip: str, partition: str = "mixed") -> Program:
    program = tilesim.compile(tilesim.load_network(network), tilesim.load_topology(chip), partition)
    assert isinstance(program, Program)
    return program


@pytest.mark.parametrize("chip", ["pocket-2x1", *CHIPS])
def test_a_small_network_is_the_same_on_both_engines(chip: str) -> None:
    must_agree(compiled("pocket", chip))


def test_a_program_of_nothing_is_the_same_on_both_engines() -> None:
    topology = tilesim.load_topology("pocket-2x1")
    assert isinstance(topology, Topology)
    must_agree(Program("nothing", topology, load=(), run=()), [])


@pytest.mark.parametrize("network", ["digits", "example-conv", "example-residual"])
def test_networks_are_the_same_on_both_engines(network: str) -> None:
    must_agree(compiled(network, "edge-4x4"))


@pytest.mark.parametrize(
    "keys",
    [
        {"to_chip_bytes_per_second": 442_000_000, "from_chip_bytes_per_second": 55_000_000},
        {"request_ns": 1234},
        {"sends_instructions": True},
        {"sends_parameters": True},
        {"sends_padding": False},
        {
            "to_chip_bytes_per_second": 3_000_000_001,
            "from_chip_bytes_per_second": 7_000_000_000,
            "request_ns": 77,
            "sends_instructions": True,
            "sends_parameters": True,
            "sends_padding": False,
        },
    ],
    ids="-".join,
)
@pytest.mark.parametrize("network", ["pocket", "digits"])
def test_keys_of_the_host_s_link(network: str, keys: dict[str, object]) -> None:
    topology = tilesim.load_topology("edge-2x2", {f"host.{key}": value for key, value in keys.items()})
    program = tilesim.compile(tilesim.load_network(network), topology)
    assert isinstance(program, Program)
    must_agree(program)


@pytest.mark.parametrize("chip", ["coral-usb", "coral-pcie"])
@pytest.mark.parametrize("network", ["pocket", "example-conv"])
def test_chips_that_can_be_bought(network: str, chip: str) -> None:
    must_agree(compiled(network, chip))


@pytest.mark.parametrize("keys", [{}, SLOW], ids=["in no time", "slow"])
@pytest.mark.parametrize("chip", ["edge-1x1", "edge-2x2"])
@pytest.mark.parametrize("name", CASES)
def test_steps_of_the_host(name: str, chip: str, keys: dict[str, Any]) -> None:
    network, inputs = hosted(name)
    program = tilesim.compile(network, tilesim.load_topology(chip, keys))
    assert isinstance(program, Program)
    must_agree(program, inputs)
    must_agree(program, inputs, random_holds(program, len(name)))


@pytest.mark.parametrize("partition", ["spatial", "channel"])
def test_however_layers_are_spread(partition: str) -> None:
    must_agree(compiled("digits", "edge-2x2", partition))


def test_samples_travel_together() -> None:
    program = compiled("digits", "edge-2x2")
    run = must_agree(program, inputs_for(program, samples=3))
    assert len(run.outputs[0]) == 3 * program.outputs[0].shape[0]


def test_a_mesh_between_wide_memories() -> None:
    topology = tilesim.load_topology("edge-2x2", {"mesh.destination": "wide"})
    program = tilesim.compile(tilesim.load_network("digits"), topology)
    assert isinstance(program, Program)
    must_agree(program)


@pytest.mark.parametrize("chip", ["edge-2x2", pytest.param("edge-4x4", marks=pytest.mark.slow)])
def test_a_model_is_the_same_on_both_engines(models: Path, chip: str) -> None:
    must_agree(compiled(models / "mlperf_kws_dscnn" / "model.tflite", chip))


@pytest.mark.slow
@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("model", ["mlperf_resnet8", "mlperf_vww_mnv1", "mlperf_ad_ae", "mit_mcunet_detection"])
def test_models_are_the_same_on_both_engines(models: Path, model: str, chip: str) -> None:
    must_agree(compiled(models / model / "model.tflite", chip))


@pytest.mark.slow
@pytest.mark.parametrize("chip", part_of(["edge-2x2", *(chip for chip in CHIPS if chip != "edge-2x2")], 1))
def test_mobilenet_is_the_same_on_both_engines(models: Path, chip: str) -> None:
    must_agree(compiled(models / "coral_tf2_mnv2_ptq" / "model.tflite", chip))


def test_an_infeed_waits_for_two_buffers() -> None:
    must_agree(behind_a_full_outfeed())


BEFOREHAND = """
take: ring_consume tiles=2 write=[r:1 @0x0+r*256]
send: ring_produce tiles=1 read=[r:1 @0x4000] to=2
"""


def test_who_has_sent_while_parameters_were_loaded_may_do_nothing_later() -> None:
    run = "put: ring_consume tiles=1 write=[r:1 @0x0+r*256]\nfeed: infeed source=data rows=1 to=1"
    must_agree(text_program(run, "edge-1x1", load=BEFOREHAND, grid__columns=2), [])


def test_weights_are_those_of_the_run_also_where_a_decoder_has_served_before() -> None:
    program = named(compiled("pocket", "edge-2x2"))
    other = dataclasses.replace(
        program, data=tuple(dataclasses.replace(segment, data=segment.data[::-1].copy()) for segment in program.data)
    )

    def outputs(program: Program, decoder: Decoder) -> bytes:
        host = HostSide(program, inputs_for(program))
        received = carried_out(program, timed(program), host, decoder, products(library()))
        return b"".join(map(bytes, host.outputs(received)))

    used = Decoder(TraversalForm(program.topology.tile))
    first = outputs(program, used)
    again = outputs(other, used)
    assert again == outputs(other, Decoder(TraversalForm(program.topology.tile))) != first


def tally(numbers: range, make: Callable[[int], Program] = random_program) -> Counter[str]:
    """How many programs of the corpus are the same, each as it is and changed, one of these with holds."""
    found: Counter[str] = Counter()
    for number in numbers:
        bare = make(number)
        variants = [bare, with_gates(bare, number), with_narrow_links(bare, number), with_records(bare, number)]
        held = variants[number % len(variants)]
        for program, holds in (*zip(variants, repeat(NO_HOLDS)), (held, random_holds(held, number))):
            if uncovered(program):
                continue
            try:
                must_agree(program, inputs_of(program), holds)
            except (ProgramError, RunError):  # no program, or one that can't come to its end
                found["none"] += 1
            else:
                found["same"] += 1
    return found


def test_random_programs_are_the_same_on_both_engines() -> None:
    assert tally(range(NUMBERS, NUMBERS + 100))["same"] > 20


@pytest.mark.parametrize("count", counts(80, 2000))
def test_groups_that_are_passed_over_take_the_same_cycles(count: int) -> None:
    assert tally(range(count), program_of_many_groups)["same"] > count // 2


def test_a_copy_that_waits_for_a_flag_and_a_port_is_not_forgotten() -> None:
    """It has a row left to write, whose port another engine has, while a flag holds the next one."""
    assert tally(range(4901, 4902))["same"] >= 1


@pytest.mark.slow
@pytest.mark.parametrize(("chunk", "chunks"), part_of([(23, 40), *((chunk, 8) for chunk in range(8))], 1))
def test_many_random_programs_are_the_same_on_both_engines(chunk: int, chunks: int) -> None:
    assert tally(range(chunk, NUMBERS, chunks))["same"] > 1200 // chunks


@pytest.mark.soak
@pytest.mark.parametrize("chunk", range(16))
def test_20_000_fresh_programs_are_the_same_on_both_engines(chunk: int) -> None:
    first = FRESH + 2000 * chunk
    assert tally(range(first, first + 2000))["same"] >= 1250


class Tampered:
    """A program's effects when one of its instructions retires at another time than the core says."""

    def __init__(self, program: Program) -> None:
        self.program = named(program)
        self.ops: tuple[Instruction, ...] = (*self.program.load, *self.program.run)
        self.timing: Timing = timed(self.program)
        self._host = HostSide(self.program, inputs_for(program))
        self._decoder = Decoder(TraversalForm(program.topology.tile))
        self.right = self._outputs(self.timing)

    def places(self, *kinds: type) -> list[int]:
        """Where instructions of some kinds stand that have begun in the run."""
        assert self.timing.run is not None
        events = self.timing.run.events
        begun = set(events[events[:, 3] < len(Engine)][:, 2].tolist())
        return [k for k, op in enumerate(self.ops) if k in begun and isinstance(op, kinds)]

    def early(self, place: int) -> bool:
        """Whether it matters that an instruction begins and retires before all others."""
        return self._matters(place, whats=(0, 1, 2), cycle=-1)

    def late(self, place: int) -> bool:
        """Whether it matters that it retires after all others."""
        return self._matters(place, whats=(1,), cycle=1 << 40)

    def _matters(self, place: int, whats: tuple[int, ...], cycle: int) -> bool:
        assert self.timing.run is not None
        events: Numbers = self.timing.run.events.copy()
        own = (events[:, 2] == place) & (events[:, 3] < len(Engine)) & np.isin(events[:, 4], whats)
        events[own, 0] = cycle
        try:
            outputs = self._outputs(replace(self.timing, run=replace(self.timing.run, events=events)))
        except Refused:
            return True
        return any((one != other).any() for one, other in zip(outputs, self.right, strict=True))

    def _outputs(self, timing: Timing) -> list[NDArray[Any]]:
        return self._host.outputs(carried_out(self.program, timing, self._host, self._decoder, products(library())))


@pytest.fixture(scope="module")
def tampered() -> Tampered:
    return Tampered(compiled("pocket", "edge-2x2"))


@pytest.mark.parametrize("kind", [TensorOp, NarrowToWide, WideToNarrow, RingProduce])
def test_a_retirement_that_comes_too_early_is_seen(tampered: Tampered, kind: type) -> None:
    places = tampered.places(kind)
    assert places
    assert all(tampered.early(place) for place in places)


@pytest.mark.parametrize("kind", [TensorOp, NarrowToWide, WideToNarrow, RingConsume])
def test_a_retirement_that_comes_too_late_is_seen(tampered: Tampered, kind: type) -> None:
    places = tampered.places(kind)
    assert places
    assert all(tampered.late(place) for place in places)
