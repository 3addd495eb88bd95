"""The public calls, as a script would make them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilesim
from tilesim.errors import InputError
from tilesim.machines.host import random_inputs
from tilesim.shipped import shipped

TOO_SMALL = {
    ("systolic-4", "batching"): "weights must fit the weight memory of systolic-4",
    ("pocket-2x1", "batching"): "must fit the (narrow|wide) memory of pocket-2x1",
    ("pocket-2x1", "digits"): "its program must fit the instruction memory of pocket-2x1",
    ("pocket-2x1", "example-residual"): "must fit the (narrow|wide) memory of pocket-2x1",
    ("ring-8", "batching"): "must fit the narrow memory of ring-8",
    ("ring-8", "digits"): "must fit the narrow memory of ring-8",
    ("ring-8", "example-conv"): "must fit the narrow memory of ring-8",
    ("ring-8", "example-residual"): "must fit the narrow memory of ring-8",
    **{
        (chip, name): f"must fit the data RAM of {chip}: they take"
        for chip in ("rotating-8", "rotating-16")
        for name in ("digits", "example-conv", "example-residual")
    },
    ("rotating-16", "batching"): "must fit the data RAM of rotating-16: they take",
    ("rotating-8", "batching"): "a single column of what is made of them needs 9 words",
    ("nnu-512", "batching"): "must fit the data RAM of nnu-512: they take 130 rows, and there are 64",
}


def test_a_model_runs_bit_for_bit_with_every_tensor(models: Path) -> None:
    folder = models / "mlperf_kws_dscnn"
    samples, activations = np.load(folder / "io.npz"), np.load(folder / "acts_ref.npz")
    program = tilesim.compile(tilesim.load_network(folder / "model.tflite"), tilesim.load_topology("edge-1x1"))
    run = tilesim.simulate(program, [samples["s0_in0"]], keep_tensors=True)
    np.testing.assert_array_equal(run.outputs[0], samples["s0_out0_ref"])
    assert run.cycles == run.statistics["cycles"] > 0
    for name in activations.files:
        np.testing.assert_array_equal(run.tensors[int(name.removeprefix("t"))], activations[name])


@pytest.mark.parametrize("chip", tilesim.list_topologies())
@pytest.mark.parametrize("name", tilesim.list_workloads())
def test_every_shipped_workload_on_every_shipped_chip(name: str, chip: str) -> None:
    network, topology = tilesim.load_network(name), tilesim.load_topology(chip)
    if (chip, name) in TOO_SMALL:
        with pytest.raises(tilesim.CapacityError, match=TOO_SMALL[chip, name]):
            tilesim.compile(network, topology)
        return
    program = tilesim.compile(network, topology)
    arrays = random_inputs(program.inputs)
    values = network.evaluate([network.tensors[i].from_model(a) for i, a in zip(network.inputs, arrays, strict=True)])
    for index, output in zip(network.outputs, tilesim.simulate(program, arrays).outputs, strict=True):
        np.testing.assert_array_equal(output, network.tensors[index].to_model(values[index]))


def test_inputs_are_made_up_as_the_command_does() -> None:
    program = tilesim.compile(tilesim.load_network("pocket"), tilesim.load_topology("pocket-2x1"))
    asked = tilesim.simulate(program, random_inputs(program.inputs)).outputs
    assert all(map(np.array_equal, tilesim.simulate(program).outputs, asked))
    assert not all(map(np.array_equal, tilesim.simulate(program, seed=1).outputs, asked))
    twice = tilesim.simulate_requests([program], order=[0, 0])
    both = random_inputs([*program.inputs, *program.inputs])
    again = tilesim.simulate_requests([program], [both[:1], both[1:]])
    assert len(twice.statistics["requests"]) == 2
    assert all(map(np.array_equal, twice.outputs, again.outputs))
    assert tilesim.verify(program, seed=1) == tilesim.verify(program)


def test_samples_of_one_run_do_not_meet() -> None:
    program = tilesim.compile(tilesim.load_network("example-conv"), tilesim.load_topology("edge-1x1"))
    images = np.random.default_rng(1).integers(-128, 128, (3, 16, 16, 4), np.int8)
    together = tilesim.simulate(program, [images])
    alone = [tilesim.simulate(program, [images[k : k + 1]]) for k in range(3)]
    np.testing.assert_array_equal(together.outputs[0], np.concatenate([run.outputs[0] for run in alone]))
    assert {run.cycles for run in alone} == {together.cycles}
    assert together.tensors == {}
    assert together.trace is None


def test_topologies_by_name_by_path_and_with_overrides() -> None:
    by_name = tilesim.load_topology("edge-4x4", overrides={"grid.rows": 2})
    by_path = tilesim.load_topology(shipped("topologies") / "edge-4x4.yaml", {"grid": "2x4"})
    assert by_name == by_path
    assert (by_name.grid.rows, by_name.grid.columns) == (2, 4)
    assert by_name.tiles == 8


def test_a_bare_name_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text("machine: tiled\nname: mine\n")
    assert tilesim.load_topology("mine.yaml").name == "mine"
    with pytest.raises(tilesim.ConfigError, match=r"^mine: there is no such topology; there are coral-pcie, "):
        tilesim.load_topology("mine")
    with pytest.raises(
        tilesim.ConfigError, match=r"there are coral-pcie, .*; the override grid=RxC gives a chip another grid"
    ):
        tilesim.load_topology("edge-3x3")


def test_a_saved_program_comes_back(tmp_path: Path) -> None:
    program = tilesim.compile(tilesim.load_network("example-residual"), tilesim.load_topology("edge-1x1"))
    tilesim.save_program(program, tmp_path / "block.tasm")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["block.npz", "block.tasm"]
    again = tilesim.load_program(tmp_path / "block.tasm")
    assert again.topology == program.topology
    image = np.zeros((1, 16, 16, 16), np.int8)
    runs = [tilesim.simulate(each, [image], trace=True) for each in (program, again)]
    assert runs[0].statistics == runs[1].statistics
    np.testing.assert_array_equal(runs[0].outputs[0], runs[1].outputs[0])


def test_inputs_may_be_an_array_a_sequence_or_a_mapping() -> None:
    program = tilesim.compile(tilesim.load_network("pocket"), tilesim.load_topology("pocket-2x1"))
    image = np.ones((1, 4, 4, 4), np.int8)
    runs = [tilesim.simulate(program, each) for each in (image, (image,), {"in0": image, "labels": np.zeros(3)})]
    assert len({run.outputs[0].tobytes() for run in runs}) == 1
    assert runs[0].statistics["chip"] == program.topology.model_dump()
    with pytest.raises(tilesim.ArrayError, match="inputs must hold an array in0; they hold x, y"):
        tilesim.simulate(program, {"x": image, "y": image})


def test_things_of_the_wrong_kind_are_said() -> None:
    network, chip = tilesim.load_network("pocket"), tilesim.load_topology("pocket-2x1")
    program = tilesim.compile(network, chip)
    arrays = "a NumPy array, a sequence of NumPy arrays or a mapping of texts to NumPy arrays"
    calls: dict[str, Callable[[Any], object]] = {
        "the network must be a Network, which load_network makes, not 'pocket'": lambda api: api.compile(
            "pocket", chip
        ),
        "the topology must be a Topology, which load_topology makes, not a dict": lambda api: api.compile(network, {}),
        "the program must be a Program, which compile or load_program makes, not a Network": lambda api: api.simulate(
            network, []
        ),
        f"the inputs must be {arrays}, not an int": lambda api: api.simulate(program, 3),
        f"the inputs must be {arrays}, not a list of list": lambda api: api.simulate(program, [[1]]),
        "the programs must be at least one, not none": lambda api: api.check([]),
        "the networks must be at least one, not none": lambda api: api.compile_networks([], chip),
        "the overrides must be a mapping of texts to values, not a list of str": lambda api: api.load_topology(
            "pocket-2x1", ["a=b"]
        ),
        "the overrides must be a mapping of texts to values, not a dict of int": lambda api: api.load_topology(
            "pocket-2x1", {1: True}
        ),
        "the networks must be a mapping of texts to Networks, which load_network makes, not a list of Network": (
            lambda api: api.cache_plan([network], chip)
        ),
        "the say must be a function, not an int": lambda api: api.compile(network, chip, say=3),
        "the schedule must be a text, not an int": lambda api: api.plan_batches(network, chip, 2, 3),
        "seed must be a whole number from 0 on, not -1": lambda api: api.simulate(program, seed=-1),
        "p.txt: the file of a program must end in .tasm or .tbin, not in .txt": lambda api: api.save_program(
            program, "p.txt"
        ),
    }
    for sentence, call in calls.items():
        with pytest.raises(tilesim.InputError) as caught:
            call(tilesim)
        assert caught.value.faults == (sentence,)
    wrong: Any = 3
    with pytest.raises(tilesim.InputError) as caught:
        tilesim.compile(wrong, wrong, wrong, wrong, wrong)
    assert len(caught.value.faults) == 5


def test_help_shows_no_addresses() -> None:
    for name in tilesim.public.__all__:
        if inspect.isfunction(call := getattr(tilesim, name)):
            assert " at 0x" not in str(inspect.signature(call))


def test_nouns_are_short_in_an_interpreter() -> None:
    network = tilesim.load_network("pocket")
    program = tilesim.compile(network, tilesim.load_topology("pocket-2x1"))
    run = tilesim.simulate(program, np.zeros((1, 4, 4, 4), np.int8))
    assert max(len(repr(noun)) for noun in (network, program, run)) < 80
    beyond = tilesim.simulate(program, np.zeros((1, 4, 4, 4), np.int8), trace=tilesim.Recording(range(900, 901)))
    assert repr(beyond) == repr(run)[:-1] + ", with an empty trace>"


def test_wrong_inputs_are_refused() -> None:
    program = tilesim.compile(tilesim.load_network("digits"), tilesim.load_topology("edge-1x1"))
    with pytest.raises(tilesim.ArrayError, match="inputs must be 1 array, not 0"):
        tilesim.simulate(program, [])
    with pytest.raises(tilesim.ArrayError, match="input 'in0' must be of dtype float32, not int8"):
        tilesim.simulate(program, [np.zeros((1, 1, 8, 8), np.int8)])


@pytest.mark.parametrize("seed", [-1, 0.5, "seven", None, np.array([1, 2])])
def test_a_seed_is_a_natural_number(seed: Any) -> None:
    program = tilesim.compile(tilesim.load_network("pocket"), tilesim.load_topology("pocket-2x1"))
    with pytest.raises(tilesim.InputError) as caught:
        tilesim.simulate(program, seed=seed)
    assert str(caught.value) == f"seed must be a whole number from 0 on, not {seed!r}"


@pytest.mark.parametrize(("holds", "sentence"), [
    (["send"], "holds must be a mapping from labels to cycles, not a list"),
    (np.array([1, 2]), "holds must be a mapping from labels to cycles, not an ndarray"),
    ([], "holds must be a mapping from labels to cycles, not a list"),
    ({7: 100}, "holds must name instructions by their labels, not by an int"),
    ({"run[0]": "soon"}, "hold 'run[0]': must be up to a cycle, a whole number, not 'soon'"),
    ({"run[0]": 1.5}, "hold 'run[0]': must be up to a cycle, a whole number, not a float"),
])  # fmt: skip
@pytest.mark.parametrize("chip", ["pocket-2x1", "systolic-4"])
def test_holds_are_cycles_by_label(chip: str, holds: Any, sentence: str) -> None:
    program = tilesim.compile(tilesim.load_network("pocket"), tilesim.load_topology(chip))
    with pytest.raises(tilesim.InputError) as caught:
        tilesim.simulate(program, holds=holds)
    assert str(caught.value) == sentence


def test_an_operator_that_tiles_lack_is_the_hosts(tmp_path: Path) -> None:
    """Local response normalisation, of which tiles know nothing."""
    path = tmp_path / "net.yaml"
    path.write_text("input: {shape: [1, 4, 4, 4]}\nlayers: [{name: a, kind: normalise}, {name: b, kind: normalise}]\n")
    network, chip = tilesim.load_network(path), tilesim.load_topology("edge-1x1")
    program = tilesim.compile(network, chip)
    assert [*program.at_host] == [0, 1]
    x = np.arange(-32, 32, dtype=np.int8).reshape(1, 4, 4, 4)
    np.testing.assert_array_equal(tilesim.simulate(program, [x]).outputs[0], network.evaluate(x)[network.outputs[0]])
    note = "the host computes 2 layers for which edge-1x1 has no unit: 0 a (normalise), 1 b (normalise)"
    assert tilesim.support(path, chip).document("net")["notes"] == [note]


@dataclass(frozen=True)
class Foreign:
    """An operator that is none of a network's own."""

    def evaluate(self, inputs: list[Any]) -> Any:
        return inputs[0]


def test_an_operator_that_nobody_knows_is_refused(tmp_path: Path) -> None:
    """Nor the host: a sentence for each node."""
    path = tmp_path / "net.yaml"
    path.write_text("input: {shape: [1, 4, 4, 4]}\nlayers: [{name: a, kind: normalise}, {name: b, kind: normalise}]\n")
    known, chip = tilesim.load_network(path), tilesim.load_topology("edge-1x1")
    network = replace(known, nodes=tuple(replace(node, operator=Foreign()) for node in known.nodes))
    sentence = "net: node {} (foreign) must be an operator that a tiled machine can run, which this one is not"
    for verb in (lambda: tilesim.compile(network, chip), lambda: tilesim.compile_networks([network], chip)):
        with pytest.raises(tilesim.InputError) as caught:
            verb()
        assert caught.value.faults == (sentence.format("a"), sentence.format("b"))


@pytest.mark.parametrize("inferences", ["x", None, 2.5, float("inf"), 0, 10**30])
def test_batches_are_for_a_whole_number_of_inferences(inferences: Any) -> None:
    network, chip = tilesim.load_network("digits"), tilesim.load_topology("systolic-32")
    with pytest.raises(InputError, match=f"^inferences must be a whole number from 1 to 4,096, not {inferences!r}$"):
        tilesim.plan_batches(network, chip, inferences)


@pytest.mark.parametrize("uses", ["x", [], float("inf"), float("nan"), 0])
def test_a_weight_is_reused_a_number_of_times(uses: Any) -> None:
    network, chip = tilesim.load_network("digits"), tilesim.load_topology("systolic-32")
    with pytest.raises(InputError) as caught:
        tilesim.plan_batches(network, chip, 4, weight_reuse=uses)
    assert caught.value.faults == (f"the weight reuse value must be a number above 0, not {uses!r}",)
