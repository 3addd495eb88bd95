"""What ``scripts/bench`` divides by one another, as benchmarks of one process: ``--benchmark-enable`` measures them.

Without it each runs once, to see that what is timed is right; ResNet-50 only runs to be measured.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

import tilesim
from scripts.benchmarks.groups import CHIP, COUNTS, HERE, ROOMY
from scripts.benchmarks.instructions import KINDS, repeated
from scripts.benchmarks.material import MaterialError, resnet50
from scripts.benchmarks.subject import inputs, litert_interpreter, onnx_runtime
from tests.test_digits import MODEL as DIGITS
from tilesim.tiled.isa.model.program import Program

pytestmark = pytest.mark.benchmark(timer=time.process_time)  # as scripts/bench does
SMALL = ("mlperf_kws_dscnn", "mlperf_resnet8")
BIG = "coral_tf2_mnv2_ptq"
KERNELS = {"reference": "ref", "default": "xnn"}
"""LiteRT's kernels, and whose recorded outputs are theirs."""
NEAR = 2
"""Steps of the last bit by which the default kernels may differ from one processor to another."""

FEWER_UNMEASURED = 10
"""By what instructions are divided where nobody measures them."""


def measured(benchmark: BenchmarkFixture, group: str, call: Callable[[], Any]) -> Any:
    """What ``call`` returns. Those of a ``group`` are compared."""
    benchmark.group = group
    return benchmark.pedantic(call, rounds=5)


def compiled(path: Path | str, chip: str = CHIP) -> Program:
    return tilesim.compile(tilesim.load_network(path), tilesim.load_topology(chip))


@pytest.mark.parametrize(("name", "trace"), [*((name, False) for name in (*SMALL, BIG)), (SMALL[0], True), (BIG, True)])
def test_simulate(benchmark: BenchmarkFixture, models: Path, name: str, trace: bool) -> None:
    if benchmark.disabled and name == BIG and not trace:
        pytest.skip("it takes long, and is right in other tests; --benchmark-enable measures it")
    program, io = compiled(models / name / "model.tflite"), np.load(models / name / "io.npz")
    run = measured(benchmark, name, lambda: tilesim.simulate(program, [io["s0_in0"]], trace=trace))
    np.testing.assert_array_equal(run.outputs[0], io["s0_out0_ref"])
    assert (run.trace is not None) == trace


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
@pytest.mark.parametrize("name", [SMALL[0], BIG])
def test_both_engines(benchmark: BenchmarkFixture, models: Path, name: str, engine: str) -> None:
    if benchmark.disabled and name == BIG:
        pytest.skip("it takes long, and is right in other tests; --benchmark-enable measures it")
    program, io = compiled(models / name / "model.tflite"), np.load(models / name / "io.npz")
    run = measured(benchmark, f"{name} by engine", lambda: tilesim.simulate(program, [io["s0_in0"]], engine=engine))
    np.testing.assert_array_equal(run.outputs[0], io["s0_out0_ref"])
    assert run.engine == engine or run.note


def test_the_command_line(benchmark: BenchmarkFixture, models: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "tilesim",
        "run",
        str(models / SMALL[0] / "model.tflite"),
        "--topology",
        "edge-1x1",
    ]
    run = measured(benchmark, "command line", lambda: subprocess.run(command, check=True, capture_output=True))
    assert b"latency" in run.stdout


@pytest.mark.parametrize("kernels", KERNELS)
@pytest.mark.parametrize("name", [*SMALL, BIG])
def test_litert(benchmark: BenchmarkFixture, models: Path, name: str, kernels: str) -> None:
    pytest.importorskip("ai_edge_litert", reason="the extra bench is not installed")
    io = np.load(models / name / "io.npz")
    interpreter = litert_interpreter(str(models / name / "model.tflite"), kernels, [io["s0_in0"]])
    measured(benchmark, name, interpreter.invoke)
    output = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    difference = np.abs(output.astype(int) - io[f"s0_out0_{KERNELS[kernels]}"].astype(int))
    assert difference.max() <= (0 if kernels == "reference" else NEAR)


@pytest.mark.parametrize("runtime", ["tilesim", "ONNX Runtime"])
def test_digits(benchmark: BenchmarkFixture, runtime: str) -> None:
    held_out = np.load(DIGITS.with_suffix(".npz"))
    outputs = measured(benchmark, "digits", outputs_of(runtime, DIGITS, held_out["in0"][:1], "edge-1x1"))
    np.testing.assert_array_equal(outputs, held_out["out0"][:1])


@pytest.mark.parametrize("runtime", ["tilesim", "ONNX Runtime"])
def test_resnet50(benchmark: BenchmarkFixture, runtime: str, tmp_path: Path) -> None:
    if benchmark.disabled:
        pytest.skip("it takes long, and is right in other tests; --benchmark-enable measures it")
    try:
        model = resnet50(tmp_path, lambda _: None)
    except MaterialError as error:
        pytest.skip(str(error))
    network = tilesim.load_network(model)
    [image] = inputs(network)
    outputs = measured(benchmark, "ResNet-50", outputs_of(runtime, model, image, CHIP))
    feed, output = network.tensors[network.inputs[0]], network.tensors[network.outputs[0]]
    golden = network.evaluate([feed.from_model(image)])[output.index]
    np.testing.assert_array_equal(outputs, output.to_model(golden))


def outputs_of(runtime: str, model: Path, data: Any, chip: str) -> Callable[[], Any]:
    """What computes the model's one output."""
    if runtime == "tilesim":
        program = compiled(model, chip)
        return lambda: tilesim.simulate(program, [data]).outputs[0]
    infer = onnx_runtime(str(model), [data])
    return lambda: infer()[0]


def test_a_convolution(benchmark: BenchmarkFixture) -> None:
    """SCALE-Sim, which it is compared with, has an environment of its own: ``scripts/bench --only convolution``."""
    network = tilesim.load_network(HERE / "convolution.yaml")
    program = tilesim.compile(network, tilesim.load_topology("edge-1x1", ROOMY))
    arrays = inputs(network)
    run = measured(benchmark, "convolution", lambda: tilesim.simulate(program, arrays))
    np.testing.assert_array_equal(run.outputs[0], network.evaluate(arrays)[network.outputs[0]])


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("kind", KINDS)
def test_instructions(benchmark: BenchmarkFixture, kind: str, count: int) -> None:
    if benchmark.disabled:
        count //= FEWER_UNMEASURED
    program = repeated(kind, count)
    run = measured(benchmark, f"instructions: {kind}", lambda: tilesim.simulate(program, []))
    assert len(program.run) == count
    assert run.cycles >= count
