"""Several inferences, of one or several networks, one after the other: their programs linked into one.

From the second request on, all tiles are fenced and the controller waits until all are through, before it goes on. So
requests never meet in the tiles, while the host's links, with queues of their own, work ahead and behind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, takewhile

from msgspec import Struct

from tilesim.errors import ProgramError
from tilesim.tiled.isa.model import instructions as isa
from tilesim.tiled.isa.model.fields import Engine, flags_of
from tilesim.tiled.isa.model.instructions import Infeed, Instruction, ScalarFence, TileFence
from tilesim.tiled.isa.model.program import DataSegment, Layer, Program, Region, Request
from tilesim.tiled.link.host_side import LinkedHost
from tilesim.tiled.link.turns import TURNS, TurnRewriter, near_sink, with_start_fence
from tilesim.tiled.topology import Topology

NO_TOKEN = 0
"""The token of a program that was not compiled together with others: nothing outlives its request."""


class CacheRequest(Struct, frozen=True):
    """One inference of a package. Packages compiled together share a ``token``, because their parameters lie side by
    side; ``caches`` says whether the package has a load program at all.
    """

    package: str
    token: int
    caches: bool = True


class _LinkedSection(Struct, frozen=True):
    """The ``load`` or ``run`` program of the network ``number``, for request ``request``."""

    number: int
    request: int
    section: str

    @property
    def title(self) -> str:
        """What its labels begin with."""
        return f"{'load' if self.section == 'load' else 'request'}{self.request + 1}"

    @property
    def fence(self) -> str:
        """The scalar fence behind which it begins."""
        return f"begin.{self.title}"


def link_programs(programs: Sequence[Program], order: Sequence[int]) -> Program:
    """The program that runs ``programs`` in ``order``, by their numbers.

    A load program runs before a request whose parameters are not in the tiles: in front of everything, if nothing
    clears them before, else between the requests. Labels begin with ``request2.`` and ``load2.``, names of inputs and
    outputs with ``request2.``, where 2 is the request's number, counted from 1. Fences stand between:
    ``fence.request2``, if the program does not itself begin with one, and ``begin.request2``; ``replies.request2``
    where the classifier's replies to those before must have left. Tensors can't be read out of the tiles. What the host
    computes itself, it does for one request after the other.
    """
    if faults := list(_faults(programs)):
        raise ProgramError(faults)
    host = LinkedHost(programs, order)
    load, run = _parts(programs, order)
    loaded = {part.request for part in (*load, *run) if part.section == "load"}
    begins = {part.request: part.fence for part in reversed(run[1:])}
    return Program(
        name=" + ".join(program.name for program in programs),
        topology=programs[0].topology,
        load=tuple(_linked(load, programs, order)),
        run=with_start_fence(tuple(_linked(run, programs, order)), programs[0].topology),
        data=tuple(_data(programs)),
        inputs=tuple(host.inputs()),
        outputs=tuple(host.outputs()),
        layers=tuple(_layers(programs, Counter(order))),
        regions=_regions(programs),
        requests=tuple(
            Request(program.name, len(program.outputs), int(k in loaded), begins.get(k, "") if k else "")
            for k, program in enumerate(programs[number] for number in order)
        ),
        partition=programs[0].partition,
        candidates=tuple(candidate for program in programs for candidate in program.candidates),
        steps=tuple(host.steps()),
        constants=tuple(host.constants()),
        taken=tuple(host.taken()),
        given=tuple(host.given()),
    )


def _parts(programs: Sequence[Program], order: Sequence[int]) -> tuple[list[_LinkedSection], list[_LinkedSection]]:
    """What is issued in front of everything, and then."""
    packages = [CacheRequest(str(number), programs[number].token, bool(programs[number].load)) for number in order]
    loaded, first = loads(packages), packages[0].token
    ahead = len(list(takewhile(lambda package: package.token == first, packages))) if first else 1
    load = [_LinkedSection(number, k, "load") for k, number in enumerate(order) if loaded[k] and k < ahead]
    run: list[_LinkedSection] = []
    for k, number in enumerate(order):
        run += [_LinkedSection(number, k, "load")] * (loaded[k] and k >= ahead)
        run.append(_LinkedSection(number, k, "run"))
    return load, run


def loads(requests: Iterable[CacheRequest]) -> tuple[bool, ...]:
    """For each of ``requests``, on a chip that holds nothing at first, whether its load program runs.

    **Source**: the run-time library of the Edge TPU, ``driver.cc``: tokens, and what another one clears.
    """
    token, resident, must_load = NO_TOKEN, set[str](), []
    for request in requests:
        if request.token != token or token == NO_TOKEN:
            token, resident = request.token, set()  # its parameters overwrite what lies there
        must_load.append(request.caches and request.package not in resident)
        resident |= {request.package} if request.caches else set()
    return tuple(must_load)


def _linked(
    parts: Sequence[_LinkedSection], programs: Sequence[Program], order: Sequence[int]
) -> Iterator[Instruction]:
    chip = programs[0].topology
    turns, replies = TurnRewriter(chip), False
    starts, layers = _data_starts(programs), _firsts([len(program.layers) for program in programs])
    host = LinkedHost(programs, order)
    for place, part in enumerate(parts):
        ops: tuple[Instruction, ...] = getattr(programs[part.number], part.section)
        at = starts[part.number], layers[part.number], host.numbers(part.request)
        labels = [f"{part.title}.{op.label or f'{part.section}[{k}]'}" for k, op in enumerate(ops)]
        shifted = [_relocated(replace(op, label=label), *at) for op, label in zip(ops, labels, strict=True)]
        if place:
            shifted = [*_fenced(shifted, part, chip)]
        if replies and (near := near_sink(shifted, chip)) is not None:
            shifted.insert(near, ScalarFence(count=0, idle=("outfeed",), label=f"replies.{part.title}"))
            replies = False
        replies = replies or any(isinstance(op, isa.Classify) for op in ops)
        turns.begin()
        yield from turns.rewrite_all(shifted)


def _relocated(op: Instruction, address: int, layer: int, outputs: Sequence[int]) -> Instruction:
    """The instruction with its data and its layer moved so far in the whole program, and the number of its output."""
    if op.layer >= 0:
        op = replace(op, layer=op.layer + layer)
    if isinstance(op, isa.Outfeed):
        return replace(op, output=outputs[op.output])
    if isinstance(op, Infeed) and op.source == "data":
        return replace(op, address=op.address + address)
    return op


def _fenced(ops: Sequence[Instruction], part: _LinkedSection, chip: Topology) -> Iterator[Instruction]:
    """``ops``, when all tiles are through with everything before, and count anew: a fence of all tiles that they begin
    with will do for that.
    """
    everywhere, anew = (1 << chip.tiles) - 1, tuple(flag for flag in flags_of(chip) if flag not in TURNS)
    first = ops[0] if ops else None
    if (
        isinstance(first, TileFence)
        and (first.tiles, first.increment) == (everywhere, 0)
        and set(anew) <= {*first.reset}
    ):
        yield replace(first, idle=tuple(Engine), increment=1)
        ops = ops[1:]
    else:
        yield TileFence(tiles=everywhere, reset=anew, increment=1, label=f"fence.{part.title}")
    yield ScalarFence(count=chip.tiles, label=part.fence)
    yield from ops


def _faults(programs: Sequence[Program]) -> Iterator[str]:
    """Why programs can't run on one chip, each of them kept in the controller's memories once."""
    chip = programs[0].topology
    yield from (
        f"{program.name}: must be compiled for the chip of {programs[0].name}, {chip.name}, not for another one"
        for program in programs[1:]
        if program.topology != chip
    )
    size_bytes = sum(isa.program_bytes((*program.load, *program.run)) for program in programs)
    needs = (
        ("programs", size_bytes, "instruction memory", chip.instruction_memory.size_bytes),
        ("parameters", _data_starts(programs)[-1], "data memory", chip.data_memory.size_bytes),
    )
    yield from (
        f"the {what} of {len(programs)} networks must fit the {memory} of {have} bytes, not take {need}"
        for what, need, memory, have in needs
        if need > have
    )


def _layers(programs: Sequence[Program], times: Counter[int]) -> Iterator[Layer]:
    """What all requests together compute."""
    for number, program in enumerate(programs):
        yield from (replace(layer, macs=layer.macs * times[number], network=program.name) for layer in program.layers)


def _data(programs: Sequence[Program]) -> Iterator[DataSegment]:
    """Data memory holds the parameters of one network after those of the other."""
    for number, (start, program) in enumerate(zip(_data_starts(programs), programs, strict=False)):
        for segment in program.data:
            name = segment.name if len(programs) == 1 else f"network{number + 1}.{segment.name}"
            yield replace(segment, name=name, address=segment.address + start)


def _data_starts(programs: Sequence[Program]) -> list[int]:
    """Where the data of each program begins, in whole rows, and where the last one's end."""
    row_bytes = programs[0].topology.wide_memory.row_bytes
    ends = (max((segment.address + segment.data.size for segment in program.data), default=0) for program in programs)
    return [0, *accumulate(-(-end // row_bytes) * row_bytes for end in ends)]


def _regions(programs: Sequence[Program]) -> tuple[Region, ...]:
    """All, but none of a memory of which a program has none: it may go where it likes."""
    memories = [{region.memory for region in program.regions} for program in programs]
    known = set.intersection(*memories)
    regions = (region for program in programs for region in program.regions if region.memory in known)
    return tuple(dict.fromkeys(regions))


def _firsts(counts: Sequence[int]) -> list[int]:
    """The first number of each of consecutive runs of so many."""
    return [0, *accumulate(counts)][:-1]
