"""One thing that is timed, in a process of its own: ``python -m scripts.benchmarks.subject KIND ARGUMENTS``.

ARGUMENTS and what is printed are JSON. ``seconds`` is processor time, which other processes disturb least; all subjects
compute in one thread, so that on an idle machine the clock shows the same: ``wall_seconds``. ``answer`` is a hash of
the outputs.
"""

from __future__ import annotations

import gc
import hashlib
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

import tilesim
from scripts.benchmarks.instructions import repeated
from tilesim.errors import TilesimError
from tilesim.network.graph import Network

Array = NDArray[Any]
Record = dict[str, Any]
T = TypeVar("T")

INVOCATIONS = 5
"""How often a runtime computes, once it has warmed up."""


def simulate(
    model: str,
    topology: str,
    changes: Mapping[str, str] = {},
    layers: int = 0,
    trace: bool = False,
    engine: str = "auto",
) -> Record:
    """Run a model, or its first ``layers``, once on a chip, from a program that another process has compiled."""
    with TemporaryDirectory() as folder:
        path = str(Path(folder) / "program.tbin")
        given = {"model": model, "topology": topology, "changes": changes, "layers": layers, "path": path}
        compiling = _elsewhere("compiled", given)
        if "error" in compiling:
            return compiling
        program, loading = timed(lambda: tilesim.load_program(path))
    network = tilesim.load_network(model)
    arrays = inputs(first_layers(network, layers) if layers else network)
    gc.collect()
    run, simulating = timed(lambda: tilesim.simulate(program, arrays, trace=trace, engine=engine))
    return {
        **simulating, "load_seconds": loading["seconds"], "compile_seconds": compiling["seconds"],
        "peak_bytes": max(peak_bytes(), compiling["peak_bytes"]), "cycles": run.cycles, "engine": run.engine,
        "instructions": len(program.run), "macs": network.macs, "answer": hashed(run.outputs),
    }  # fmt: skip


def compiled(model: str, topology: str, changes: Mapping[str, str], layers: int, path: str) -> Record:
    """Compile a model, or its first ``layers``, for a chip, and save the program."""
    network = tilesim.load_network(model)
    network = first_layers(network, layers) if layers else network
    chip = tilesim.load_topology(topology, changes)
    program, compiling = timed(lambda: tilesim.compile(network, chip))
    tilesim.save_program(program, path)
    return {**compiling, "peak_bytes": peak_bytes()}


def _elsewhere(kind: str, arguments: Record) -> Record:
    """The record of a subject in a process of its own."""
    command = [sys.executable, "-m", "scripts.benchmarks.subject", kind, json.dumps(arguments)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603  (our own)
    record: Record = json.loads(done.stdout.splitlines()[-1])
    return record


def instructions(kind: str, count: int, proves: bool = True) -> Record:
    """Run a program of nothing but ``count`` instructions of a kind, which is to be proven first, or has been."""
    program = repeated(kind, count) if proves else _proven_elsewhere(kind, count)
    gc.collect()
    run, simulating = timed(lambda: tilesim.simulate(program, []))
    return {**simulating, "cycles": run.cycles, "instructions": count}


def _proven_elsewhere(kind: str, count: int) -> tilesim.Program:
    with TemporaryDirectory() as folder:
        path = str(Path(folder) / "program.tbin")
        _elsewhere("proven", {"kind": kind, "count": count, "path": path})
        return tilesim.load_program(path)


def proven(kind: str, count: int, path: str) -> Record:
    """Run such a program, which proves it, and save it."""
    program = repeated(kind, count)
    tilesim.simulate(program, [])
    tilesim.save_program(program, path)
    return {}


def litert(model: str, kernels: str) -> Record:
    """LiteRT in one thread, with the ``reference`` kernels or those that it takes by ``default``."""
    interpreter = litert_interpreter(model, kernels, inputs(tilesim.load_network(model)))
    times = warm(interpreter.invoke)
    outputs = [interpreter.get_tensor(details["index"]) for details in interpreter.get_output_details()]
    return {**times, "answer": hashed(outputs)}


def litert_interpreter(model: str, kernels: str, arrays: Sequence[Array]) -> Any:
    """One that needs only be invoked."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    resolver = {"reference": OpResolverType.BUILTIN_REF, "default": OpResolverType.AUTO}[kernels]
    interpreter = Interpreter(model, num_threads=1, experimental_op_resolver_type=resolver)
    interpreter.allocate_tensors()
    for details, array in zip(interpreter.get_input_details(), arrays, strict=True):
        interpreter.set_tensor(details["index"], array)
    return interpreter


def onnxruntime(model: str) -> Record:
    """ONNX Runtime in one thread, in its integer form."""
    infer = onnx_runtime(model, inputs(tilesim.load_network(model)))
    return {**warm(infer), "answer": hashed(infer())}


def onnx_runtime(model: str, arrays: Sequence[Array]) -> Callable[[], list[Array]]:
    """What computes the outputs of these inputs."""
    import onnxruntime as runtime

    options = runtime.SessionOptions()
    options.add_session_config_entry("session.qdqisint8allowed", "1")
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    feed = dict(zip([source.name for source in session.get_inputs()], arrays, strict=True))
    return lambda: list(session.run(None, feed))


def timed(call: Callable[[], T]) -> tuple[T, Record]:
    """What a call returns, and how long it took."""
    wall, processor = time.perf_counter(), time.process_time()
    result = call()
    return result, {"seconds": time.process_time() - processor, "wall_seconds": time.perf_counter() - wall}


def warm(call: Callable[[], object]) -> Record:
    """The median times of calls after a first one."""
    call()
    taken = [timed(call)[1] for _ in range(INVOCATIONS)]
    return {key: statistics.median(sample[key] for sample in taken) for key in taken[0]}


def inputs(network: Network) -> list[Array]:
    """Pseudo-random inputs of a network, the same in every process: all values of an integer, or a normal float."""
    rng = np.random.default_rng(0)
    return [_random(rng, network.tensors[index].model_shape, network.tensors[index].dtype) for index in network.inputs]


def _random(rng: np.random.Generator, shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
    if dtype.kind == "f":
        return rng.standard_normal(shape).astype(dtype)
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)


def first_layers(network: Network, count: int) -> Network:
    """The network cut off behind its first ``count`` nodes; the last one's output is what comes out."""
    nodes = network.nodes[:count]
    return replace(network, nodes=nodes, outputs=(nodes[-1].output,))


def hashed(arrays: Iterable[Array]) -> str:
    """SHA-256 of the bytes of arrays."""
    return hashlib.sha256(b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)).hexdigest()


def peak_bytes() -> int:
    """The most memory that this process has held so far."""
    status = Path("/proc/self/status")
    if status.is_file():  # getrusage would count the parent's too, from before it became this program
        [line] = [line for line in status.read_text(encoding="ascii").splitlines() if line.startswith("VmHWM:")]
        return int(line.split()[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


SUBJECTS: Mapping[str, Callable[..., Record]] = {
    "simulate": simulate,
    "compiled": compiled,
    "instructions": instructions,
    "proven": proven,
    "litert": litert,
    "onnxruntime": onnxruntime,
}
"""What can be timed, by its name; :mod:`~scripts.benchmarks.scalesim_subject` stands alone."""


def main(kind: str, arguments: str) -> None:
    """Print the record of one subject; of one that can't be, the ``error``."""
    try:
        record = SUBJECTS[kind](**json.loads(arguments))
    except TilesimError as error:
        record = {"error": str(error).splitlines()[0]}
    print(json.dumps(record))


if __name__ == "__main__":
    main(*sys.argv[1:])
