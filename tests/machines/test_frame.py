"""The labels that a run gives to instructions that have none."""

from __future__ import annotations

import gc
import weakref
from dataclasses import replace

import tilesim
from tilesim.machines.frame import named


def test_a_program_gets_its_labels_once_and_is_itself_if_it_has_them() -> None:
    program = tilesim.compile(tilesim.load_network("digits"), tilesim.load_topology("edge-2x2"))
    assert named(program) is program
    bare = replace(program, run=tuple(replace(op, label="") for op in program.run))
    assert [op.label for op in named(bare).run[:2]] == ["run[0]", "run[1]"]
    assert named(bare) is named(bare)
    slower = tilesim.load_topology("edge-2x2", {"ring.hop_cycles": 7})
    assert named(bare.retargeted(slower)).topology is slower
    assert named(bare).topology is program.topology


def test_a_program_with_labels_goes_as_soon_as_nobody_has_it() -> None:
    gc.disable()
    try:
        program = tilesim.compile(tilesim.load_network("digits"), tilesim.load_topology("edge-2x2"))
        seen = weakref.ref(named(program))
        program = replace(program, name="another")
        assert seen() is None
    finally:
        gc.enable()
