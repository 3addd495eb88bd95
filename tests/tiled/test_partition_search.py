"""Networks spread by channel and by trying: exact, no byte more than must move, and the faster way found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilesim
from tests.soak import part_of
from tests.tiled.test_nothing_is_faked import Subject
from tilesim.machines.policies import AUTO, CHANNEL, MIXED, SPATIAL, PartitionPolicy
from tilesim.network.graph import Network
from tilesim.tiled.cache_plan import plan_cache
from tilesim.tiled.caching import Home
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.partition_search import MOST_RUNS

ROW = 256
CHAIN = [f"name: {name}, kind: convolution, filters: 512, kernel: [1, 1]" for name in "abcd"]


def net(tmp_path: Path, shape: str, *layers: str, name: str = "net") -> Network:
    path = tmp_path / f"{name}.yaml"
    listed = ", ".join(f"{{{layer}}}" for layer in layers)
    path.write_text(f"seed: 1\ninput: {{shape: {shape}, zero_point: 5}}\nlayers: [{listed}]\n")
    return tilesim.load_network(path)


def exact(network: Network, program: Program) -> tilesim.Run:
    """A run each of whose tensors is the golden one."""
    shape = program.inputs[0].shape
    x = np.random.default_rng(0).integers(-128, 128, shape).astype(np.int8)
    run, golden = tilesim.simulate(program, [x], keep_tensors=True), network.evaluate([x])
    assert run.tensors
    for index, tensor in run.tensors.items():
        np.testing.assert_array_equal(tensor, golden[index])
    return run


def by_channel(program: Program) -> list[int]:
    return [k for k, layer in enumerate(program.layers) if layer.spread == CHANNEL]


@pytest.mark.parametrize(("height", "width", "channels"), [(2, 2, 512), (3, 3, 64), (1, 4, 64)])
def test_what_the_ring_carries_is_what_has_to_move(tmp_path: Path, height: int, width: int, channels: int) -> None:
    """The input to all tiles at once, each tile's channels to all others for a layer that reads them all, and out; what
    comes behind on the same tiles moves nothing; and nothing goes over the mesh.
    """
    convolution = f"kind: convolution, filters: {channels}, kernel: [1, 1]"
    layers = (
        f"name: a, {convolution}",
        "name: d, kind: depthwise_convolution, kernel: [3, 3]",
        f"name: b, {convolution}",
        "name: s, kind: add, other: b",
    )
    network = net(tmp_path, f"[1, {height}, {width}, {channels}]", *layers)
    program = tilesim.compile(network, tilesim.load_topology("edge-2x2"), CHANNEL)
    assert by_channel(program) == [0, 1, 2, 3]
    run = exact(network, program)
    pixels, figures = height * width, run.statistics["layers"]
    first, last = (sum(piece.index == node.output for piece in program.pieces) for node in network.nodes[::3])
    rows_in = -(-pixels * channels // ROW)
    gathered, leaving = (tiles * -(-pixels * channels // tiles // ROW) for tiles in (first, last))
    moved = [layer["bytes"]["ring"]["entered"] for layer in figures]
    assert moved == [ROW * rows_in, 0, ROW * gathered, 0]
    assert run.statistics["bytes"]["ring"]["entered"] == ROW * (rows_in + gathered + leaving)
    assert run.statistics["bytes"]["mesh"]["entered"] == 0


def test_copies_take_turns_in_two_places_of_wide_memory(tmp_path: Path) -> None:
    """Five layers one after the other: rows for two copies, the largest ones."""
    channels = (16, 24, 16, 32, 24)
    layers = [
        f"name: c{k}, kind: convolution, filters: {filters}, kernel: [3, 3]" for k, filters in enumerate(channels)
    ]
    network = net(tmp_path, "[1, 5, 6, 8]", *layers)
    program = tilesim.compile(network, tilesim.load_topology("edge-2x2"), CHANNEL)
    assert by_channel(program) == [0, 1, 2, 3, 4]
    run = exact(network, program)
    places = [region.bytes for region in program.regions if region.name == "staging"]
    lines = 5 * (6 + 2) * 4  # bytes of a word of each pixel, borders between lines included
    rows = [run.statistics["layers"][k]["bytes"]["ring"]["entered"] for k in range(1, 5)]
    assert all(size >= lines * filters // 4 for size, filters in zip(rows, channels, strict=False))
    assert sorted(places)[-2:] == sorted([max(rows[0], rows[2]), max(rows[1], rows[3])])


def test_who_sends_to_one_place_and_reads_from_it_later_waits(tmp_path: Path) -> None:
    """The first copy is only sent by tile 2, the third one only read: nothing else would order them there."""
    layers = [
        "name: a, partition: spatial",
        "name: b, input: input, partition: channel",
        "name: c, input: a, partition: channel",
        "name: d, input: b, partition: spatial",
    ]
    kind = "kind: convolution, kernel: [1, 1], filters: 8"
    network = net(tmp_path, "[1, 2, 1, 1]", *(f"{layer}, {kind}" for layer in layers))
    exact(network, tilesim.compile(network, tilesim.load_topology("edge-2x2")))


def test_borders_between_the_lines_of_a_copy_make_room_for_what_is_sent_with_them(tmp_path: Path) -> None:
    """A kernel of 3 x 3 reads a copy with a border of one: lines of 5 + 2 pixels are sent, 4 of them."""
    layers = [f"name: {name}, kind: convolution, filters: 64, kernel: [3, 3]" for name in "ab"]
    network = net(tmp_path, "[1, 4, 5, 8]", *layers)
    program = tilesim.compile(network, tilesim.load_topology("edge-1x2"), CHANNEL)
    run = exact(network, program)
    assert run.statistics["layers"][1]["bytes"]["ring"]["entered"] == 2 * ROW * -(-4 * 7 * 32 // ROW)


def test_many_channels_of_few_pixels_are_faster_by_channel_and_auto_finds_out(tmp_path: Path) -> None:
    network, chip = net(tmp_path, "[1, 2, 2, 512]", *CHAIN), tilesim.load_topology("edge-4x4")
    ways = (MIXED, SPATIAL, CHANNEL, AUTO)
    mixed, spatial, channel, auto = (exact(network, tilesim.compile(network, chip, how)) for how in ways)
    assert auto.cycles == channel.cycles < 0.6 * spatial.cycles
    document = auto.statistics["partition"]
    assert document["asked"] == AUTO
    assert [layer["choice"] for layer in document["layers"]] == [CHANNEL] * 4
    assert document["layers"][0]["reason"] == "64 channels a tile: the fastest that was tried"
    assert [(candidate["name"], candidate["cycles"]) for candidate in document["candidates"]] == [
        (MIXED, mixed.cycles),
        (SPATIAL, spatial.cycles),
        (CHANNEL, channel.cycles),
    ]


def test_few_channels_of_many_pixels_are_faster_over_the_grid(tmp_path: Path) -> None:
    network = net(tmp_path, "[1, 16, 16, 16]", "name: a, kind: convolution, filters: 16, kernel: [3, 3]")
    chip = tilesim.load_topology("edge-2x2")
    mixed, auto = (exact(network, tilesim.compile(network, chip, how)) for how in (MIXED, AUTO))
    _, spatial, channel = auto.statistics["partition"]["candidates"]
    assert auto.cycles == mixed.cycles < spatial["cycles"] < channel["cycles"]
    [layer] = auto.statistics["partition"]["layers"]
    assert (layer["layer"], layer["choice"], layer["reason"]) == (0, SPATIAL, "not faster by channel")


def test_a_mixture_is_found_where_neither_is_best(tmp_path: Path) -> None:
    """Large maps with few channels first, then small ones with many."""
    layers = (
        "name: a, kind: convolution, filters: 16, kernel: [3, 3]",
        "name: b, kind: convolution, filters: 512, kernel: [8, 8], strides: [8, 8]",
        *(layer.replace("name: ", "name: x") for layer in CHAIN),
    )
    network, chip = net(tmp_path, "[1, 16, 16, 4]", *layers), tilesim.load_topology("edge-4x4")
    program = tilesim.compile(network, chip, AUTO)
    run = exact(network, program)
    cycles = {candidate.name: candidate.cycles for candidate in program.candidates}
    assert 3 <= len(cycles) <= MOST_RUNS
    assert run.cycles == min(cycles.values()) < min(cycles[SPATIAL], cycles[CHANNEL])
    assert 0 not in by_channel(program)
    assert {3, 4, 5} <= set(by_channel(program))


def test_what_the_user_says_of_a_layer_holds_whatever_is_faster(tmp_path: Path) -> None:
    network = net(tmp_path, "[1, 2, 2, 512]", f"{CHAIN[0]}, partition: spatial", *CHAIN[1:])
    chip = tilesim.load_topology("edge-4x4")
    assert by_channel(tilesim.compile(network, chip, AUTO)) == [1, 2, 3]
    policy = PartitionPolicy(SPATIAL, ((0, 0, CHANNEL), (0, 2, AUTO)))
    program = tilesim.compile(network, chip, policy)
    assert program.partition == AUTO
    assert by_channel(program) == [0, 2], "the policy counts more than the file"


def test_a_candidate_that_does_not_fit_is_none(tmp_path: Path) -> None:
    """Over the grid every tile needs all weights, which must be streamed then: that takes more instructions."""
    network = net(tmp_path, "[1, 2, 2, 512]", *CHAIN)
    chip = tilesim.load_topology("edge-4x4", {"instruction_memory.size_bytes": 16384})
    program = tilesim.compile(network, chip, AUTO)
    assert [candidate.cycles > 0 for candidate in program.candidates] == [False, False, True]
    assert all("instruction memory" in candidate.reason for candidate in program.candidates[:2])
    assert by_channel(program) == [0, 1, 2, 3]


def test_if_no_candidate_fits_the_first_one_s_reason_is_said(tmp_path: Path) -> None:
    network, tiny = net(tmp_path, "[1, 2, 2, 512]", *CHAIN), {"narrow_memory.size_bytes": 256}
    chip = tilesim.load_topology("edge-2x2", tiny)
    with pytest.raises(tilesim.CapacityError, match="must fit the narrow memory"):
        tilesim.compile(network, chip, AUTO)


def test_programs_keep_what_was_chosen_and_why(tmp_path: Path) -> None:
    network = net(tmp_path, "[1, 2, 2, 512]", *CHAIN)
    program = tilesim.compile(network, tilesim.load_topology("edge-4x4"), AUTO)
    for name in ("program.tasm", "program.tbin"):
        tilesim.save_program(program, tmp_path / name)
        again = tilesim.load_program(tmp_path / name)
        assert (again.partition, again.candidates, again.layers) == (AUTO, program.candidates, program.layers)


def test_networks_that_share_a_chip_are_tried_one_by_one(tmp_path: Path) -> None:
    small = net(tmp_path, "[1, 2, 2, 512]", *CHAIN[:1], name="small")
    large = net(tmp_path, "[1, 16, 16, 16]", "name: a, kind: convolution, filters: 16, kernel: [3, 3]", name="large")
    chip, said = tilesim.load_topology("edge-4x4"), list[str]()
    policy = PartitionPolicy(AUTO, ((0, 0, CHANNEL),))
    first, second = tilesim.compile_networks([small, large], chip, partition=policy, say=said.append)
    assert (by_channel(first), by_channel(second)) == ([0], [])
    assert (len(first.candidates), [candidate.network for candidate in second.candidates]) == (0, ["large"] * 3)
    assert said == [
        f"trying {how}, {k} of at most 8 ways to spread large" for k, how in enumerate((MIXED, SPATIAL, CHANNEL), 1)
    ]
    x = [np.zeros((1, 2, 2, 512), np.int8), np.zeros((1, 16, 16, 16), np.int8)]
    known = tilesim.simulate_requests([first, second], x).statistics["partition"]
    assert [layer["choice"] for layer in known["layers"]] == [CHANNEL, SPATIAL]
    assert len(known["candidates"]) == 3


def test_the_cache_plan_knows_what_the_network_says_of_its_layers(tmp_path: Path) -> None:
    chip = tilesim.load_topology("edge-4x4")
    plain, said = (net(tmp_path, "[1, 2, 2, 512]", f"{CHAIN[0]}{more}") for more in ("", ", partition: channel"))
    homes = [plan_cache({"net": network}, chip).layouts[0].decisions.values() for network in (plain, said)]
    assert [{decision.home for decision in homes_there} for homes_there in homes] == [{Home.COPY}, {Home.PARTITION}]


def test_a_partition_that_there_is_not(tmp_path: Path) -> None:
    network = net(tmp_path, "[1, 2, 2, 512]", *CHAIN)
    with pytest.raises(
        tilesim.InputError,
        match="partition must be spatial, channel, auto or mixed, not 'chanel'; did you mean 'channel'",
    ):
        tilesim.compile(network, tilesim.load_topology("edge-2x2"), "chanel")


@pytest.mark.parametrize("how", [CHANNEL, AUTO])
@pytest.mark.parametrize("name", ["mlperf_kws_dscnn", "mlperf_resnet8"])
def test_real_models_equal_the_reference(models: Path, name: str, how: str) -> None:
    network, chip = tilesim.load_network(models / name / "model.tflite"), tilesim.load_topology("edge-2x2")
    program = tilesim.compile(network, chip, how)
    io, expected = np.load(models / name / "io.npz"), np.load(models / name / "acts_ref.npz")
    run = tilesim.simulate(program, [io["s0_in0"]], keep_tensors=True)
    np.testing.assert_array_equal(run.outputs[0], io["s0_out0_ref"])
    assert set(run.tensors) >= {int(key[1:]) for key in expected.files}
    for key in expected.files:
        np.testing.assert_array_equal(run.tensors[int(key[1:])], expected[key])
    assert len(by_channel(program)) >= 8 or how == AUTO
    if how == AUTO:
        assert run.cycles == min(candidate.cycles for candidate in program.candidates)


@pytest.fixture(scope="module")
def subject(tmp_path_factory: pytest.TempPathFactory) -> Subject:
    """A network with everything that may come behind a layer that is spread by channel."""
    layers = (
        "name: a, kind: convolution, filters: 16, kernel: [3, 3], activation: relu",
        "name: d, kind: depthwise_convolution, kernel: [3, 3], activation: relu",
        "name: s, kind: add, other: a, activation: relu",
        "name: b, kind: convolution, filters: 24, kernel: [3, 3], strides: [2, 2], activation: relu",
        "name: c, kind: convolution, filters: 8, kernel: [3, 3], partition: spatial",
    )
    network = net(tmp_path_factory.mktemp("partitioned"), "[1, 4, 4, 8]", *layers)
    program = tilesim.compile(network, tilesim.load_topology("edge-2x2"), CHANNEL)
    assert by_channel(program) == [0, 1, 2, 3]
    x: Any = np.random.default_rng(2).integers(-128, 128, (4, 4, 4, 8)).astype(np.int8)
    return Subject(replace(program, tensors=(), pieces=()), x)


@pytest.mark.parametrize("share", part_of(range(2), 1))
def test_no_instruction_can_be_left_out(subject: Subject, share: int) -> None:
    assert subject.outcome(subject.program) == "benign"
    assert set(subject.without(slice(share, None, 2)).values()) <= {"exit 2", "exit 3", "changed"}


@pytest.mark.parametrize("share", part_of(range(2), 1))
def test_hardly_any_number_can_be_changed_by_one(subject: Subject, share: int) -> None:
    """A quarter of all numbers, in two parts."""
    tried, benign = subject.benign(share, 8)
    assert tried >= 100
    assert len(benign) <= 0.05 * tried, benign
