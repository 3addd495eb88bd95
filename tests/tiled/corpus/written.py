"""Programs written by hand, for what random ones do not come to."""

from __future__ import annotations

from tests.tiled.programs import program
from tilesim.tiled.isa.model.program import Program

OUTPUT = (
    ".output name=out{0} index={0} dtype=int8 shape=1,1,1,2048 axes=0,1,2,3 element=i8 extent=1,1,2048 "
    "blocks=[origin:0,0,0 extent:1,1,2048 pixel_bytes:2048 rows:8]"
)
FORWARDS = """
take: ring_consume tiles=1 write=[r:9 @0x8000+r*256]
more: ring_consume tiles=1 write=[r:5 @0x9000+r*256]
send: ring_produce tiles=2 read=[r:21 @0x0+r*256] to=8
last: ring_consume tiles=1 write=[r:1 @0xa000]
one: outfeed output=0 rows=8
two: outfeed output=1 rows=8
busy: infeed source=data rows=9 to=1
again: infeed source=ring rows=5 to=1
then: infeed source=data rows=1 to=1
"""


def behind_a_full_outfeed() -> Program:
    """An infeed that sends round again what the outfeed takes off the ring. First the outfeed's buffer is full, then
    the infeed is busy, with more rows than may wait for it.
    """
    head = "\n".join(map(OUTPUT.format, range(2)))
    return program(FORWARDS, "edge-1x1", head=head, grid__columns=2, instruction_bus__buffer_depth=1)
