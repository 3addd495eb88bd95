"""Several inferences, of one or several networks, one after the other: their programs linked into one.

From the second request on, all tiles are fenced and the controller waits until all are through, before it goes on. So
requests never meet in the tiles, while the host's links, with queues of their own, work ahead and behind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from tilesim.errors import ProgramError
from tilesim.tiled.caching import tokens
from tilesim.tiled.isa.model.fields import Engine, Flag
from tilesim.tiled.isa.model.instructions import Classify, Infeed, Instruction, Outfeed, ScalarFence, TileFence
from tilesim.tiled.isa.model.program import Program, Request
from tilesim.tiled.link import segments
from tilesim.tiled.link.start_fence import with_start_fence
from tilesim.tiled.link.turns import TURN, TurnRewriter, near_sink


@dataclass(frozen=True)
class _LinkedSection:
    """The ``load`` or ``run`` program of the network ``number``, for request ``request``."""

    number: int
    request: int
    section: str

    @property
    def title(self) -> str:
        """What its labels begin with."""
        return f"{'load' if self.section == 'load' else 'request'}{self.request + 1}"


@dataclass(frozen=True)
class _Relocation:
    """How far the data, the layers and the outputs of a part are moved in the whole program."""

    address: int
    layer: int
    output: int


def link_programs(programs: Sequence[Program], order: Sequence[int]) -> Program:
    """The program that runs ``programs`` in ``order``, by their numbers.

    A load program runs before a request whose parameters are not in the tiles: in front of everything, if nothing
    clears them before, else between the requests. Labels begin with ``request2.`` and ``load2.``, names of inputs and
    outputs with ``request2.``, where 2 is the request's number, counted from 1. Fences stand between:
    ``fence.request2``, if the program does not itself begin with one, and ``begin.request2``; ``replies.request2``
    where the classifier's replies to those before must have left. Tensors can't be read out of the tiles.

    Raises:
        ProgramError: programs for several chips, or too much for the controller's memories, all at once.
    """
    if faults := list(segments.faults(programs)):
        raise ProgramError(faults)
    load, run = _parts(programs, order)
    loaded = {part.request for part in (*load, *run) if part.section == "load"}
    begins = {part.request: _scalar(part) for part in reversed(run[1:])}
    return Program(
        name=" + ".join(program.name for program in programs),
        topology=programs[0].topology,
        load=tuple(_linked(load, programs, order)),
        run=with_start_fence(tuple(_linked(run, programs, order)), programs[0].topology),
        data=tuple(segments.segments(programs)),
        inputs=tuple(segments.tensors(order, [program.inputs for program in programs])),
        outputs=tuple(segments.tensors(order, [program.outputs for program in programs])),
        layers=tuple(segments.layers(programs, Counter(order))),
        regions=segments.regions(programs),
        requests=tuple(
            Request(program.name, len(program.outputs), int(k in loaded), begins.get(k, "") if k else "")
            for k, program in enumerate(programs[number] for number in order)
        ),
        partition=programs[0].partition,
        candidates=tuple(candidate for program in programs for candidate in program.candidates),
    )


def _parts(programs: Sequence[Program], order: Sequence[int]) -> tuple[list[_LinkedSection], list[_LinkedSection]]:
    """What is issued in front of everything, and then."""
    packages = [
        tokens.CacheRequest(str(number), programs[number].token, bool(programs[number].load)) for number in order
    ]
    loaded, first = tokens.loads(packages), packages[0].token
    ahead = len(list(takewhile(lambda package: package.token == first, packages))) if first else 1
    load = [_LinkedSection(number, k, "load") for k, number in enumerate(order) if loaded[k] and k < ahead]
    run: list[_LinkedSection] = []
    for k, number in enumerate(order):
        run += [_LinkedSection(number, k, "load")] * (loaded[k] and k >= ahead)
        run.append(_LinkedSection(number, k, "run"))
    return load, run


def _linked(
    parts: Sequence[_LinkedSection], programs: Sequence[Program], order: Sequence[int]
) -> Iterator[Instruction]:
    chip = programs[0].topology
    tails, replies = TurnRewriter(chip), False
    starts, layers = segments.data_starts(programs), segments.steps([len(program.layers) for program in programs])
    outputs = segments.steps([len(programs[number].outputs) for number in order])
    for place, part in enumerate(parts):
        ops: tuple[Instruction, ...] = getattr(programs[part.number], part.section)
        shift = _Relocation(starts[part.number], layers[part.number], outputs[part.request])
        shifted = [_relocated(op, k, part, shift) for k, op in enumerate(ops)]
        if place:
            shifted = [*_fenced(shifted, part, chip.tiles)]
        if replies and (near := near_sink(shifted, chip)) is not None:
            shifted.insert(near, ScalarFence(count=0, idle=("outfeed",), label=f"replies.{part.title}"))
            replies = False
        replies = replies or any(isinstance(op, Classify) for op in ops)
        tails.begin()
        for op in shifted:
            yield from tails.rewrite(op)


def _relocated(op: Instruction, place: int, part: _LinkedSection, shift: _Relocation) -> Instruction:
    op = replace(op, label=f"{part.title}.{op.label or f'{part.section}[{place}]'}")
    if op.layer >= 0:
        op = replace(op, layer=op.layer + shift.layer)
    if isinstance(op, Outfeed):
        return replace(op, output=op.output + shift.output)
    if isinstance(op, Infeed) and op.source == "data":
        return replace(op, address=op.address + shift.address)
    return op


def _fenced(ops: Sequence[Instruction], part: _LinkedSection, tiles: int) -> Iterator[Instruction]:
    """``ops``, when all tiles are through with everything before, and count anew: a fence of all tiles that they begin
    with will do for that.
    """
    everywhere, anew = (1 << tiles) - 1, tuple(flag for flag in Flag if flag != TURN)
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
    yield ScalarFence(count=tiles, label=_scalar(part))
    yield from ops


def _scalar(part: _LinkedSection) -> str:
    return f"begin.{part.title}"
