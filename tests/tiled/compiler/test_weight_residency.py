"""What stays in the tiles, what streams, and that nothing lies where something else does."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilesim import api
from tilesim.errors import CapacityError
from tilesim.lowering.allocation import DoesNotFit
from tilesim.machines.policies import CACHE, CachePolicy
from tilesim.network.graph import Network
from tilesim.tiled.cache_plan import descriptors
from tilesim.tiled.caching import Home
from tilesim.tiled.compiler.compile import compile_networks
from tilesim.tiled.compiler.parameters import ParameterSets, SetKey
from tilesim.tiled.compiler.stream_region import Uses, least_bytes, region_bytes, stream_buffers
from tilesim.tiled.compiler.weight_residency import Needs, all_stay, some_stream
from tilesim.tiled.compiler.wide_layout import WideLayout
from tilesim.tiled.isa.model.instructions import Infeed, RingConsume
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.topology import Topology

ROW = 256
NOTHING = CachePolicy(cache=False)


@dataclass(frozen=True)
class Wanted:
    """A set of so many ``rows`` in ``tiles`` (a bitmap), the same, or a part of its own in each."""

    rows: int
    tiles: int = 1
    per_tile: bool = False
    rounds: int = 1


def chip(rows: int, reserve: int = 0, tiles: int = 2, **keys: str) -> Topology:
    """Tiles with so many rows of wide memory each."""
    sizes = {"wide_memory.size_bytes": str(rows * ROW), "wide_memory.reserve_bytes": str(reserve * ROW)}
    return api.load_topology(f"edge-1x{tiles}", {**sizes, **keys})


def needs(topology: Topology, wanted: Sequence[Wanted], staging: Sequence[int] = (), name: str = "net") -> Needs:
    """A network that uses one set after the other."""
    sets = ParameterSets(ROW)
    keys = [SetKey(layer, 0, f"layer {layer}") for layer in range(len(wanted))]
    for key, parameters in zip(keys, wanted, strict=True):
        data = np.full(parameters.rows * ROW, key.layer, np.uint8)
        for tiles in (1, 2) if parameters.per_tile else (parameters.tiles,):
            if tiles & parameters.tiles:
                sets.keep(key, tiles, "all", lambda data=data: data, ROW)  # type: ignore[misc]
    uses = {key: range(k, k + parameters.rounds) for k, (key, parameters) in enumerate(zip(keys, wanted, strict=True))}
    rows = {f"in{k}": (rows * ROW, 0b11) for k, rows in enumerate(staging)}
    return Needs(network=name, topology=topology, sets=sets, uses=uses, issue_cycles={}, staging=rows)


def homes(layout: WideLayout) -> list[Home]:
    return [decision.home for decision in layout.decisions.values()]


def residents(layouts: Sequence[WideLayout], tile: int) -> list[range]:
    """Where cached parameters of all networks lie in a tile."""
    return [
        range(layout.stay[key], layout.stay[key] + layout.sets.size_bytes(key))
        for layout in layouts
        for key, decision in layout.decisions.items()
        if tile in decision.holders
    ]


def passing(layout: WideLayout) -> list[range]:
    """What a network's run writes itself."""
    return [range(region.address, region.address + region.bytes) for region in layout.staging.values()] + [
        layout.stream
    ]


def apart(places: Sequence[range], size: int) -> bool:
    """Whether no two overlap and all lie in wide memory."""
    taken = sorted((place.start, place.stop) for place in places if place)
    return all(a[1] <= b[0] for a, b in pairwise([(0, 0), *taken, (size, size)]))


BOTH = 0b11


def test_what_fits_stays() -> None:
    small = needs(chip(9), [Wanted(3, BOTH), Wanted(2, BOTH, per_tile=True), Wanted(1)], staging=[2])
    layouts = all_stay([small], CACHE)
    assert layouts is not None
    assert homes(layouts[0]) == [Home.COPY, Home.PARTITION, Home.COPY]
    assert list(layouts[0].stay.values()) == [0, 3 * ROW, 5 * ROW]
    assert not layouts[0].buffers
    assert layouts[0].staging["in0"].address == 6 * ROW


@pytest.mark.parametrize(("rows", "stays"), [(13, True), (12, False)])
def test_what_stays_is_strictly_less_than_what_is_left(rows: int, stays: bool) -> None:
    """Oracle 21: 9 rows of parameters, one in reserve and two for staging."""
    one = needs(chip(rows, reserve=1), [Wanted(5, BOTH), Wanted(4, BOTH)], staging=[2])
    assert (all_stay([one], CACHE) is not None) == stays


def test_what_streams_has_its_area_and_what_stays_is_less_than_the_rest() -> None:
    """Beside a region of 4 rows for what streams 8 are left, of which 7 may be taken."""
    [layout] = some_stream([needs(chip(12, tiles=1), [Wanted(4), Wanted(4), Wanted(3), Wanted(4)])], CACHE)
    assert homes(layout) == [Home.COPY, Home.STREAMED, Home.COPY, Home.STREAMED]
    assert layout.stream == range(7 * ROW, 12 * ROW)


def test_home_tiles_have_a_place_of_their_own_and_a_slot_for_the_others() -> None:
    [layout] = some_stream([needs(chip(10), [Wanted(4, BOTH), Wanted(4, BOTH), Wanted(3, BOTH)])], CACHE)
    assert homes(layout) == [Home.HOME_TILE, Home.HOME_TILE, Home.STREAMED]
    first, second, third = layout.decisions
    assert [layout.streams_to(key) for key in layout.decisions] == [0b10, 0b01, 0b11]
    assert (layout.base(first, 0), layout.base(second, 1)) == (0, 0)
    assert layout.base(first, 1) == layout.buffers[first].address
    assert third not in layout.stay


def test_who_comes_first_gets_the_room() -> None:
    topology = chip(12, tiles=1)
    networks = [needs(topology, [Wanted(5)], name=name) for name in "ab"]
    copy, streamed = [Home.COPY], [Home.STREAMED]
    assert [homes(own) for own in some_stream(networks, CACHE)] == [copy, streamed]
    second_first = CachePolicy(network_priority=(1,))
    assert [homes(own) for own in some_stream(networks, second_first)] == [streamed, copy]
    [layout] = some_stream([needs(topology, [Wanted(5), Wanted(5)])], CachePolicy(layer_priority=((0, 1),)))
    assert homes(layout) == streamed + copy


def test_without_a_cache_everything_streams() -> None:
    one = needs(chip(99), [Wanted(3), Wanted(2, BOTH, per_tile=True)])
    assert all_stay([one], NOTHING) is None
    [layout] = some_stream([one], NOTHING)
    assert (homes(layout), layout.stay, layout.load()) == ([Home.STREAMED] * 2, {}, ())


@pytest.mark.parametrize(
    ("topology", "sentence"),
    [
        (
            chip(5),
            (
                "b: parameters of layer layer 1 must fit the wide memory of edge-1x2: 1 KiB are needed at once, "
                "768 B of 1.25 KiB are free"
            ),
        ),
        (
            chip(3, reserve=2),
            (
                "b: rows for the tensors that cross the ring must fit the wide memory of edge-1x2: "
                "1 KiB are needed with the reserve, of 768 B"
            ),
        ),
        (
            chip(20, **{"data_memory.size_bytes": "2 KiB"}),
            "a, b: their parameters must fit the data memory of edge-1x2: 2.25 KiB are needed, of 2 KiB",
        ),
    ],
)
def test_what_does_not_fit_is_said(topology: Topology, sentence: str) -> None:
    both = [needs(topology, [Wanted(1)], name="a"), needs(topology, [Wanted(2), Wanted(4), Wanted(2)], [2], name="b")]
    with pytest.raises(CapacityError, match=f"^{re.escape(sentence)}$"):
        some_stream(both, CACHE)


def test_tensors_alone_may_be_too_large() -> None:
    with pytest.raises(CapacityError, match="net: rows for the tensors that cross the ring must fit the wide memory"):
        some_stream([needs(chip(2), [], staging=[3])], CACHE)


def test_data_memory_holds_what_stays_and_then_what_streams() -> None:
    """Oracle 20: cached parameters that are contiguous at both ends need one descriptor."""
    [layout] = some_stream([needs(chip(13, tiles=1), [Wanted(rows) for rows in (2, 6, 1, 6, 2)])], CACHE)
    assert (descriptors(layout.decisions, layout.stay), descriptors(layout.sources, layout.stay)) == (5, 2)
    assert [key.layer for key in layout.sources] == [0, 2, 4, 1, 3]
    infeed = layout.load()[1]
    assert isinstance(infeed, Infeed)
    assert (len(layout.load()), infeed.rows, infeed.address) == (2, 5, 0)


def test_sets_that_the_same_tiles_load_share_the_rows_of_a_transfer() -> None:
    """Rows of 1,024 bytes: 300 and 700 bytes, of which each may begin at a multiple of 256, take two rows, not three;
    what each tile has bytes of its own of begins with a row.
    """
    topology = chip(99, **{"wide_memory.row_bytes": "1024", "wide_memory.size_bytes": "64 KiB"})
    sets, keys = ParameterSets(1024), [SetKey(layer, 0, f"layer {layer}") for layer in range(5)]
    for key, size in zip(keys, (300, 700, 500, 100, 100), strict=True):
        for tiles in (1, 2) if key.layer > 2 else (BOTH,):
            value = 16 * tiles + key.layer
            sets.keep(key, tiles, "all", lambda size=size, value=value: np.full(size, value, np.uint8), 256)  # type: ignore[misc]
    one = Needs("net", topology, sets, one_by_one(keys), {}, {"in0": (1024, BOTH)})
    layouts = all_stay([one], CACHE)
    assert layouts is not None
    [layout] = layouts
    assert list(layout.stay.values()) == [0, 512, 1280, 2048, 2304]
    assert layout.staging["in0"].address == 3 * 1024
    loads = [(op.tiles, op.write.reference.base) for op in layout.load() if isinstance(op, RingConsume)]
    assert loads == [(BOTH, 0), (1, 2048), (2, 2048)]
    [segment] = layout.data()
    starts = {0: 0x30, 512: 0x31, 1280: 0x32, 2048: 0x13, 2304: 0x14, 3072: 0x23, 3328: 0x24}
    assert {start: segment.data[start] for start in starts} == starts
    assert segment.data.size == 4 * 1024


SETS = st.lists(
    st.builds(Wanted, st.integers(1, 6), st.integers(1, 3), st.booleans(), st.integers(1, 3)),
    max_size=7,
)


@given(
    st.integers(1, 40),
    st.integers(0, 2),
    st.lists(st.tuples(SETS, st.lists(st.integers(1, 3), max_size=2)), min_size=1, max_size=3),
    st.booleans(),
)
def test_nothing_lies_where_something_else_does(
    rows: int, reserve: int, networks: list[tuple[list[Wanted], list[int]]], cache: bool
) -> None:
    topology = chip(rows, min(reserve, rows - 1))
    all_needs = [needs(topology, sets, staging) for sets, staging in networks]
    left = [need.free_bytes - least_bytes(need.sets, need.uses) for need in all_needs]
    policy = CachePolicy(cache=cache)
    if min(left) < 0:
        if all_stay(all_needs, policy) is None:
            with pytest.raises(CapacityError):
                some_stream(all_needs, policy)
        return
    layouts = all_stay(all_needs, policy) or some_stream(all_needs, policy)
    streams = any(layout.buffers for layout in layouts)
    for tile in range(2):
        kept = residents(layouts, tile)
        assert all(place.start >= topology.wide_memory.reserve_bytes for place in kept)
        assert not kept or sum(map(len, kept)) < (min(left) if streams else min(need.free_bytes for need in all_needs))
        for layout in layouts:
            assert apart([*kept, *passing(layout)], topology.wide_memory.size_bytes)
    for layout in layouts:
        check_streams(layout)


def check_streams(layout: WideLayout) -> None:
    """All that some tile computes from elsewhere has a buffer inside the region, and a source in data memory."""
    elsewhere = {Home.HOME_TILE, Home.HOME_TILES, Home.STREAMED}
    for key in layout.decisions:
        assert (key in layout.buffers) == (layout.decisions[key].home in elsewhere)
    for key, buffer in layout.buffers.items():
        assert layout.stream.start <= buffer.address <= layout.stream.stop - layout.sets.size_bytes(key)
    assert set(layout.sources) == set(layout.decisions)
    sources = [source for ranges in layout.sources.values() for source in ranges]
    assert all(a.address + a.data.size == b.address for a, b in pairwise(sources))


@pytest.fixture(scope="module")
def networks() -> list[Network]:
    return [api.load_network(name) for name in ("digits", "example-residual")]


SMALL = {"wide_memory.size_bytes": "20 KiB"}


@pytest.fixture(scope="module")
def programs(networks: list[Network]) -> list[Program]:
    return compile_networks(networks, api.load_topology("edge-1x2", SMALL), CACHE)


def cached(program: Program) -> Iterator[tuple[int, range]]:
    """Tiles and places that a load program writes."""
    for op in program.load:
        if isinstance(op, RingConsume):
            reference, [loop] = op.write.reference, op.write.nest.loops
            yield op.tiles, range(reference.base, reference.base + loop.bound * ROW)


def test_programs_compiled_together_leave_each_others_parameters_alone(programs: list[Program]) -> None:
    for program, other in (programs, programs[::-1]):
        for tiles, place in cached(other):
            for region in program.regions:
                if region.memory == "wide" and region.tiles & tiles:
                    assert not range(max(place.start, region.address), min(place.stop, region.address + region.bytes))


def test_programs_compiled_together_are_right_each(networks: list[Network], programs: list[Program]) -> None:
    assert programs[0].token == programs[1].token
    for network, program in zip(networks, programs, strict=True):
        assert any(op.label.startswith("stream") for op in program.run)
        tensor, output = network.tensors[network.inputs[0]], network.outputs[0]
        values = np.random.default_rng(7).integers(-128, 128, tensor.model_shape)
        array = values.astype(tensor.dtype) if tensor.quantisation else (values / 128).astype(np.float32)
        [result] = api.simulate(program, [array]).outputs
        wanted = network.evaluate([tensor.from_model(array)])[output]
        np.testing.assert_array_equal(result, network.tensors[output].to_model(wanted))


def sets_of(*rows: int) -> tuple[ParameterSets, list[SetKey]]:
    """A set for each number of rows."""
    sets = ParameterSets(ROW)
    keys = [SetKey(k, 0, f"layer {k}") for k in range(len(rows))]
    for key, count in zip(keys, rows, strict=True):
        sets.keep(key, 1, "weights", lambda count=count: np.zeros(count * ROW, np.uint8), ROW)  # type: ignore[misc]
    return sets, keys


def one_by_one(keys: list[SetKey]) -> Uses:
    return {key: range(k, k + 1) for k, key in enumerate(keys)}


def test_an_area_has_room_for_two_sets_that_follow_each_other_if_half_of_the_memory_is_left() -> None:
    sets, keys = sets_of(3, 4, 2)
    uses = one_by_one(keys)
    assert least_bytes(sets, uses) == 4 * ROW
    assert region_bytes(sets, uses, 14 * ROW) == 7 * ROW
    assert region_bytes(sets, uses, 13 * ROW) == 4 * ROW


def test_sets_of_one_round_are_there_together() -> None:
    sets, keys = sets_of(3, 4, 2)
    assert least_bytes(sets, dict(zip(keys, (range(2), range(1, 3), range(3)), strict=True))) == 9 * ROW


def test_sets_go_round_and_come_as_far_ahead_as_there_is_room() -> None:
    sets, keys = sets_of(2, 2, 2, 2)
    buffers = stream_buffers(sets, one_by_one(keys), keys, range(4 * ROW, 10 * ROW), ROW, 9)
    assert [buffer.address for buffer in buffers.values()] == [4 * ROW, 6 * ROW, 8 * ROW, 4 * ROW]
    assert [buffer.ready for buffer in buffers.values()] == [0, 0, 0, 1]
    assert buffers[keys[3]].replaces == (keys[0],)


def test_a_set_that_stays_in_use_is_gone_round() -> None:
    sets, keys = sets_of(2, 2, 2)
    uses = dict(zip(keys, (range(3), range(1, 2), range(2, 3)), strict=True))
    buffers = stream_buffers(sets, uses, keys, range(4 * ROW), ROW, 9)
    assert [buffer.address for buffer in buffers.values()] == [0, 2 * ROW, 2 * ROW]
    assert buffers[keys[2]].ready == 2


def test_what_finds_no_place_is_named() -> None:
    sets, keys = sets_of(2, 3)
    with pytest.raises(DoesNotFit) as caught:
        stream_buffers(sets, dict.fromkeys(keys, range(1)), keys, range(4 * ROW), ROW, 9)
    assert caught.value.item.name == "layer 0"


def test_no_more_sets_come_ahead_than_there_may_be_on_their_way() -> None:
    sets, keys = sets_of(1, 1, 1, 1, 1)
    buffers = stream_buffers(sets, one_by_one(keys), keys, range(9 * ROW), ROW, 2)
    assert [buffer.ready for buffer in buffers.values()] == [0, 0, 1, 2, 3]


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 2)), min_size=1, max_size=12), st.integers(1, 4))
def test_no_set_comes_before_the_last_use_of_what_it_replaces(shape: list[tuple[int, int]], ahead: int) -> None:
    sets, keys = sets_of(*(rows for rows, _ in shape))
    starts = accumulate(step for _, step in shape)
    uses = {key: range(start, start + 1 + k % 2) for k, (key, start) in enumerate(zip(keys, starts, strict=True))}
    buffers = stream_buffers(sets, uses, keys, range(2 * least_bytes(sets, uses)), ROW, ahead)
    assert [buffer.ready for buffer in buffers.values()] == sorted(buffer.ready for buffer in buffers.values())
    held: dict[int, SetKey] = {}
    for key, buffer in buffers.items():
        assert buffer.ready <= uses[key].start
        place = range(buffer.address, buffer.address + sets.size_bytes(key), ROW)
        before = {held[row] for row in place if row in held}
        assert before <= set(buffer.replaces)
        assert all(uses[other].stop <= buffer.ready for other in buffer.replaces)
        held.update(dict.fromkeys(place, key))
