"""What machines have in common, and what each refuses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tilesim
from tilesim.registry import machine_of
from tilesim.systolic.isa.model.instructions import Sync


def test_a_topology_picks_its_machine() -> None:
    for name in tilesim.list_topologies():
        chip = tilesim.load_topology(name)
        assert isinstance(chip, machine_of(chip).schema)


@pytest.mark.parametrize("chip", ["pocket-2x1", "systolic-4"])
def test_a_saved_program_finds_its_machine_again(chip: str, tmp_path: Path) -> None:
    program = tilesim.compile(tilesim.load_network("pocket"), tilesim.load_topology(chip))
    tilesim.save_program(program, tmp_path / "pocket.tasm")
    again = tilesim.load_program(tmp_path / "pocket.tasm")
    assert type(again) is type(program)
    assert again.topology == program.topology
    image = np.ones((1, 4, 4, 4), np.int8)
    runs = [tilesim.simulate(each, [image], trace=True) for each in (program, again)]
    assert runs[0].statistics == runs[1].statistics
    np.testing.assert_array_equal(runs[0].outputs[0], runs[1].outputs[0])


def test_both_machines_give_the_same_outputs() -> None:
    network, image = tilesim.load_network("pocket"), np.ones((1, 4, 4, 4), np.int8)
    outputs = [
        tilesim.simulate(tilesim.compile(network, tilesim.load_topology(chip)), [image]).outputs[0]
        for chip in ("pocket-2x1", "systolic-4", "tpu-v1")
    ]
    assert len({output.tobytes() for output in outputs}) == 1


def test_a_systolic_machine_refuses_what_is_about_tiles() -> None:
    network, chip = tilesim.load_network("pocket"), tilesim.load_topology("systolic-4")
    with pytest.raises(tilesim.InputError) as caught:
        tilesim.compile_networks([network, network], chip, tilesim.CachePolicy(cache=False), "channel")
    assert caught.value.faults == (
        "systolic-4: networks must be one at a time, not 2: a systolic machine's program is of one",
        "systolic-4: partition must be left out: a systolic machine has one array, and no tiles",
        "systolic-4: cache must be left out: a systolic machine keeps parameters in weight memory",
    )


def test_a_systolic_program_whose_syncs_order_too_little_is_refused() -> None:
    program = tilesim.compile(tilesim.load_network("pocket"), tilesim.load_topology("systolic-4"))
    syncs = [k for k, op in enumerate(program.run) if isinstance(op, Sync) and op.count > 1]
    image = np.zeros((1, 4, 4, 4), np.int8)
    for k in syncs:
        run = (*program.run[:k], replace(program.run[k], count=1), *program.run[k + 1 :])  # type: ignore[call-arg]
        with pytest.raises(tilesim.ProgramError, match="nothing orders"):
            tilesim.simulate(replace(program, run=run), image)  # type: ignore[arg-type]
    assert len(syncs) > 5


def test_tiles_refuse_batches() -> None:
    network = tilesim.load_network("pocket")
    plan = tilesim.plan_batches(network, tilesim.load_topology("systolic-4"), 2)
    chip = tilesim.load_topology("pocket-2x1")
    with pytest.raises(tilesim.InputError, match=r"^pocket-2x1: batches must be left out: tiles run one"):
        tilesim.compile(network, chip, batches=plan)
    with pytest.raises(
        tilesim.InputError,
        match=r"^pocket-2x1: must be a chip whose machine can run batches, such as tpu-v1,",
    ):
        tilesim.plan_batches(network, chip, 2)


def test_batches_of_another_network_are_refused() -> None:
    chip = tilesim.load_topology("systolic-32")
    plan = tilesim.plan_batches(tilesim.load_network("digits"), chip, 3)
    with pytest.raises(tilesim.InputError) as caught:
        tilesim.compile(tilesim.load_network("pocket"), chip, batches=plan)
    assert caught.value.faults == ("systolic-32: batches must be a plan for pocket, not for another network",)


def test_requests_are_those_that_a_program_is_for() -> None:
    network, chip = tilesim.load_network("pocket"), tilesim.load_topology("systolic-4")
    images = [np.full((1, 4, 4, 4), k, np.int8) for k in range(3)]
    program = tilesim.compile(network, chip, batches=tilesim.plan_batches(network, chip, 3))
    together = tilesim.simulate(program, images)
    alone = [tilesim.simulate(tilesim.compile(network, chip), image).outputs[0] for image in images]
    np.testing.assert_array_equal(np.concatenate(together.outputs), np.concatenate(alone))
