"""Sound inputs of every kind, small, made by tilesim itself; other people's models too, where they are there."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import tilesim
from scripts.fuzzing import models
from scripts.fuzzing.case import Corpus, Files
from tilesim.api.masters import masters_suite
from tilesim.shipped import shipped

MOST_MODEL_BYTES = 120_000
PROGRAMS = (
    *(("pocket", "pocket-2x1"), ("digits", "edge-1x2"), ("example-residual", "edge-2x2"), ("pocket", "systolic-4")),
    *(("example-conv", "systolic-32"), ("pocket", "rotating-16"), ("digits", "nnu-1024-jump")),
)
RUNS = (("pocket", "pocket-2x1", True), ("digits", "edge-1x2", True), ("pocket", "pocket-2x1", False),
        ("pocket", "systolic-4", True), ("digits", "edge-1x2", False), ("pocket", "rotating-16", True))  # fmt: skip
BATCH = 4
"""Inferences of a run with batches."""


def corpus(folder: Path, others: Path | None) -> Corpus:
    """Files by kind; ``folder`` is one to work in, ``others`` one of models. Inputs have their network's name."""
    lite, open_ = [models.lite_layers(), models.lite_functions()], [models.open_layers(), models.open_pairs()]
    lite += _small_models(others) if others else []
    open_ += [(shipped("workloads") / "digits.onnx").read_bytes()]
    programs = [_program(folder / str(k), *names) for k, names in enumerate(PROGRAMS)]
    return {
        "tflite": tuple({"m.tflite": data} for data in lite),
        "onnx": tuple({"m.onnx": data} for data in open_),
        "workload": _shipped("workloads", "m.yaml"),
        "topology": _shipped("topologies", "t.yaml"),
        "energy": ({"e.yaml": (Path(tilesim.__file__).parent / "energy.json").read_bytes()}, {"e.yaml": ENERGY}),
        "masters": tuple({"m.yaml": text} for text in _transfers()),
        "tasm": (*_dual_masters(), *({n: c for n, c in files.items() if n != "p.tbin"} for files in programs)),
        "tbin": tuple({"p.tbin": files["p.tbin"]} for files in programs),
        "npz": ({name: _inputs(name) for name in ("pocket", "digits", "example-conv")},),
        "run": (*(_run(folder / f"run{k}", *setup) for k, setup in enumerate(RUNS)), _batches(folder / "batches")),
        "store": ({"s.sqlite": _store(folder / "rows.sqlite")},),
    }


def _store(path: Path) -> bytes:
    """The rows of a small sweep, one of them refused."""
    tilesim.sweep("pocket", "pocket-2x1", {"grid": ["1x1", "2x1"], "tile.lanes": [3, 4]}, store=path, workers=1)
    return path.read_bytes()


ENERGY = b"wide_read: {pj: 0.4, per: byte, technology: 16 nm, source: our own memory compiler}\n"


TRANSFERS = b"""chip: ring-8
keys: {ring.hop_cycles: 2, ring.no_consumer: circulate}
transfers:
  - {name: a, master: source, to: [1, 2, sink], rows: 3, start: 4}
  - {name: b, master: 1, to: 3, after: {a: received}}
  - {name: c, master: 3, to: 5, after: [a, b]}
"""


def models_folder() -> Path | None:
    """Where other people's models are, if anywhere."""
    folder = Path(os.environ.get("TILESIM_MODELS") or Path(__file__).resolve().parents[3] / "shared" / "models")
    return folder if folder.is_dir() else None


def _small_models(folder: Path) -> list[bytes]:
    """Other people's that tilesim can read."""
    paths = [path for path in sorted(folder.glob("*/model.tflite")) if path.stat().st_size <= MOST_MODEL_BYTES]
    return [path.read_bytes() for path in paths if _is_read(path)]


def _is_read(path: Path) -> bool:
    try:
        tilesim.load_network(path)
    except tilesim.TilesimError:
        return False
    return True


def _shipped(what: str, name: str) -> tuple[Files, ...]:
    folder = shipped("topologies") if what == "topologies" else shipped("workloads")
    return tuple({name: path.read_bytes()} for path in sorted(folder.glob("*.yaml")))


def _transfers() -> Iterator[bytes]:
    """Some of the suite's cases, of different families, and one with every key."""
    cases = {case.family: case for case in masters_suite().cases}
    yield from (case.files()[f"{case.name}.yaml"].encode() for case in cases.values())
    yield TRANSFERS


def _dual_masters() -> list[Files]:
    return [{"p.tasm": path.read_bytes()} for path in sorted((shipped("workloads") / "dual-master").glob("*.tasm"))]


def _program(folder: Path, network: str, chip: str) -> dict[str, bytes]:
    """A program's files, in both forms."""
    program = tilesim.compile(tilesim.load_network(network), tilesim.load_topology(chip))
    for name in ("p.tasm", "p.tbin"):
        tilesim.save_program(program, folder / name)
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def _inputs(network: str) -> bytes:
    """Two samples."""
    read = tilesim.load_network(network)
    tensor = read.tensors[read.inputs[0]]
    shape = (2, *tensor.model_shape[1:])
    values = np.random.default_rng(1).integers(-100, 100, shape).astype(tensor.dtype)
    out = io.BytesIO()
    np.savez(out, in0=values)
    return out.getvalue()


def _run(folder: Path, network: str, chip: str, trace: bool) -> Files:
    """What a run saves."""
    read = tilesim.load_network(network)
    program = tilesim.compile(read, tilesim.load_topology(chip))
    shape = [read.tensors[index] for index in read.inputs]
    inputs = [np.zeros(tensor.model_shape, tensor.dtype) for tensor in shape]
    run = tilesim.simulate(program, inputs, trace=trace, signals=range(10, 60) if trace else None)
    run.save(folder)
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def _batches(folder: Path) -> Files:
    """What a run of several inferences in batches saves."""
    network, chip = tilesim.load_network("pocket"), tilesim.load_topology("systolic-4")
    program = tilesim.compile(network, chip, batches=tilesim.plan_batches(network, chip, BATCH, fit=True))
    arrays = [np.zeros(tensor.shape, tensor.dtype) for tensor in program.inputs]
    run = tilesim.simulate_requests([program], [arrays[k::BATCH] for k in range(BATCH)], [0] * BATCH, trace=True)
    run.save(folder)
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
