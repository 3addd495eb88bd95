"""The text and the bytes of the tiled chip's own: its lines, its values, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tilesim
from tests.assembly.machines import CASES, CONSUME, OP, data_of
from tests.tiled.programs import program
from tilesim.assembly.streams import WORD_BYTES, Writer
from tilesim.errors import ProgramError
from tilesim.tiled.isa.assembly import ASSEMBLY
from tilesim.tiled.isa.model import instructions
from tilesim.tiled.isa.model.fields import ORDINALS, Flag
from tilesim.tiled.isa.model.instructions import Instruction, TileFence
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.isa.model.sheet import FLAGS

TILED = CASES["tiled"]
PATH = Path("p.tasm")


def test_the_text_leaves_defaults_out_and_names_the_label_first() -> None:
    write = ASSEMBLY.write_instruction
    assert write(OP) == (
        "L3: tensorop tiles=0x1 operation=convolution nest=[y:8,z:4,lane:16 alternate y:3] reduce=z "
        "input=@0x40+y*64+z*-4 wait=avdata>=1,wide_to_narrow@y>=3+2"
    )
    assert write(CONSUME) == "  ring_consume tiles=0x3 write=[r:36 @0x0+r*256] produce=r"
    assert write(TileFence(tiles=1, idle=())) == "  tile_fence tiles=0x1 idle="


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("tensorop", "tensrop", "must be an instruction, not 'tensrop'; did you mean 'tensorop'?"),
        ("reduce=", "redce=", "must be a key of tensorop, not 'redce'; did you mean 'reduce'?"),
        ("avdata", "avdta", "wait must be a flag, not 'avdta'; did you mean 'avdata'?"),
        ("=convolution nest", "=convolutin nest", "operation must be an operation, not 'convolutin'; did you mean"),
        ("tile_fence", "tile_fence idle=tensr", "idle must be an engine, not 'tensr'; did you mean 'tensor'?"),
        ("input=@", "input=", "input must go on with '@', not with '0x40+y*64+z*-4'"),
        ("lane:16", "lane:x", "nest must be a whole number, not 'x alternate y:3]'"),
        ("[origin:0,0,0", "[orign:0,0,0", "must be a key of block, not 'orign'; did you mean 'origin'?"),
        ("[origin:0,0,0", "[origin=0,0,0", "must be key:value, not 'origin=0,0,0'"),
        ("rows:1]", "", "the [ opened here must be closed on this line"),
        (" rows:1", "", "block must also have rows"),
        ("extent:4,4,3 pix", "extent:4,4 pix", "extent must be 3 values, not 2"),
        ("count=2", "count=2 count=2", "count must stand only once"),
        ("count=2", "", "scalar_fence must also have count"),
        ("row_bytes=256", "row_bytes=384", "wide_memory.row_bytes must be a power of two, not 384"),
        ("lanes=64", "lanes=4096", "wide_memory.row_bytes must be at least 16384, for all of tile.lanes 4096"),
        ("machine=tiled", "grid=4", "grid must be a value or a section, not both"),
    ],
)
def test_a_fault_says_what_is_wrong(old: str, new: str, fault: str) -> None:
    assert old in TILED.text
    with pytest.raises(ProgramError) as caught:
        ASSEMBLY.read(TILED.text.replace(old, new, 1), PATH, data_of(TILED.sample))
    assert any(fault in sentence for sentence in caught.value.faults), caught.value.faults


def test_all_faults_come_at_once_with_their_places() -> None:
    text = TILED.text.replace("rows=36", "rows=x tp=1").replace("count=2", "cout=2").replace("rows=4", "rows=-1")
    with pytest.raises(ProgramError) as caught:
        ASSEMBLY.read(text, PATH, data_of(TILED.sample))
    places = [fault.split(": ")[0] for fault in caught.value.faults]
    line = 1 + text.splitlines().index("  scalar_fence cout=2")
    assert places[0].startswith("p.tasm:4:")
    assert places[-2:] == [f"p.tasm:{line}:3", f"p.tasm:{line}:16"]
    assert len(places) == 5


def test_compiled_programs_come_back_and_run_alike(models: Path) -> None:
    network = tilesim.load_network(models / "mlperf_kws_dscnn" / "model.tflite")
    program = tilesim.compile(network, tilesim.load_topology("edge-4x4"))
    again = ASSEMBLY.binary.decode(ASSEMBLY.binary.encode(program))
    assert TILED.same(again, program)
    text = ASSEMBLY.read(ASSEMBLY.write(again), PATH, data_of(again))
    assert ASSEMBLY.binary.encode(text) == ASSEMBLY.binary.encode(program)
    first = program.inputs[0]
    image = np.arange(np.prod(first.shape)).reshape(first.shape).astype(first.dtype)
    runs = [tilesim.simulate(one, image, trace=True) for one in (program, again)]
    assert runs[0].json() == runs[1].json()
    np.testing.assert_array_equal(runs[0].outputs[0], runs[1].outputs[0])


def test_an_instruction_fills_whole_words_and_the_bus_has_room_for_it(models: Path) -> None:
    """The bitmaps of a fence are lists here; the controller's own instructions are on no bus."""
    network = tilesim.load_network(models / "mlperf_kws_dscnn" / "model.tflite")
    program = tilesim.compile(network, tilesim.load_topology("edge-2x2"))
    out = Writer()
    ASSEMBLY.binary.codec(Program).write(out, program)
    out.fill_word()
    assert WORD_BYTES == instructions.WORD_BYTES
    for instruction in program.run:
        before = len(out.data)
        ASSEMBLY.binary.codec(Instruction).write(out, instruction)
        words, rest = divmod(len(out.data) - before, WORD_BYTES)
        assert rest == 0
        assert 1 <= words <= max(instruction.words, 2)


def test_flags_that_nothing_raised_are_left_out_of_what_an_older_fence_resets() -> None:
    """So is what an older file of bytes has of them, see :mod:`tests.test_saved_by_0_1`."""
    [fence] = program("tile_fence tiles=0x1 reset=avdata,parameters,wide_to_scaling,ring_write").run
    assert isinstance(fence, TileFence)
    assert fence.reset == (Flag.AVDATA, Flag.RING_WRITE)


def test_nobody_can_wait_for_a_flag_that_nothing_raises() -> None:
    with pytest.raises(ProgramError, match="wait must be a flag, not 'parameters'"):
        program("narrow_to_wide tiles=0x1 read=[w:4 @0x0] write=[r:1 @0x0] wait=parameters>=1")


def test_every_flag_is_raised_by_some_engine_or_by_what_passes_on_the_ring() -> None:
    assert {*FLAGS.values(), Flag.PARTIAL_SUMS, *ORDINALS.values()} == set(Flag)
