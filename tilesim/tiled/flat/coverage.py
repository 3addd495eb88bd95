"""What the timing core does not cover, by name."""

from __future__ import annotations

from collections.abc import Iterator

from tilesim.tiled.isa.model.by_type import ByType
from tilesim.tiled.isa.model.instructions import Broadcast, RingConsume
from tilesim.tiled.isa.model.program import Program

MOST_REQUESTS = 64
"""Inferences of a run: what they have sent stays in memory to its end."""


def uncovered(program: Program) -> list[str]:
    """Why the core can't time a program, one sentence each; empty if it can."""
    return [*_of_chip(program), *_of_instructions(program)]


def _of_chip(program: Program) -> Iterator[str]:
    ring = program.topology.ring
    if ring.no_consumer != "stall":
        yield f"ring.no_consumer must be stall for the compiled engine, not {ring.no_consumer}"
    if ring.queue != "split":
        yield f"ring.queue must be split for the compiled engine, not {ring.queue}"
    if ring.consumer_queues != 1:
        yield f"ring.consumer_queues must be 1 for the compiled engine, not {ring.consumer_queues}"


def _of_instructions(program: Program) -> Iterator[str]:
    if len(program.requests) > MOST_REQUESTS:
        yield f"requests must be at most {MOST_REQUESTS} for the compiled engine, not {len(program.requests)}"
    ops = program.once(ByType)
    for _, broadcast in ops.of(Broadcast):
        yield f"{broadcast.label}: a tile's own broadcast is not covered by the compiled engine"
    for _, consume in ops.of(RingConsume):
        if consume.filter is not None:
            yield f"{consume.label}: a byte filter is not covered by the compiled engine"
