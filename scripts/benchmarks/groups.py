"""What is measured: groups of subjects that take turns, and which of them are divided by which."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scripts.benchmarks.instructions import KINDS
from scripts.benchmarks.material import MaterialError, Say, resnet50, scalesim_python
from scripts.benchmarks.processes import ROOT, Subject

HERE = Path(__file__).resolve().parent
CHIP = "edge-4x4"
LITERT = ("ai_edge_litert",)
ONNX_RUNTIME = ("onnxruntime",)
TILES = {1: "1x1", 4: "2x2", 16: "4x4", 64: "8x8", 256: "16x16", 1024: "32x32"}
COUNTS = FEWER, MORE = 1000, 9000
PROOFS = {"": "20 us", ", with its proof": "40 us"}
"""Whether it is yet to be proven that a program may run, and what an instruction may then take."""
CONVOLUTION = {"pixels": 56, "channels": 64, "filters": 64, "kernel": 3}
SYSTOLIC = {"array": 16, "map_kibibytes": 256, "filter_kibibytes": 512}
"""As many MACs as a tile, and room for the maps and weights of the convolution; so has the tile."""
ROOMY = {"narrow_memory.size_bytes": "512 KiB"}


@dataclass(frozen=True)
class Settings:
    """Where other people's models are, and where what is made on the way goes."""

    models: Path
    folder: Path
    say: Say


@dataclass(frozen=True)
class Ratio:
    """One subject's time over another's; of ``per`` instructions more, if given, the difference instead."""

    over: str
    under: str
    goal: str = ""
    per: int = 0


@dataclass(frozen=True)
class Group:
    """Subjects that take turns. ``quick`` ones take seconds; of ``sizes``, compile time and memory are shown."""

    name: str
    subjects: Callable[[Settings], list[Subject]]
    ratios: tuple[Ratio, ...] = ()
    quick: bool = False
    sizes: bool = False


def _model(settings: Settings, name: str) -> str:
    path = settings.models / name / "model.tflite"
    if not path.is_file():
        raise MaterialError(f"there is no {name} in the folder that --models or TILESIM_MODELS names")
    return str(path)


def _simulate(label: str, model: str, topology: str = CHIP, **extra: Any) -> Subject:
    """A run whose outputs are those of the others; of the first layers alone there are no others."""
    given = {"model": model, "topology": topology, **extra}
    return Subject(label, "simulate", given, answer="" if "layers" in extra else "exact")


def _keywords(settings: Settings) -> list[Subject]:
    model = _model(settings, "mlperf_kws_dscnn")
    return [
        *_both_engines("keyword spotting on 16 tiles", model),
        _simulate("keyword spotting on 16 tiles, with a trace", model, trace=True),
        *_litert(model),
    ]


def _litert(model: str) -> list[Subject]:
    reference, default = ({"model": model, "kernels": kernels} for kernels in ("reference", "default"))
    return [
        Subject("LiteRT's reference kernels", "litert", reference, needs=LITERT, answer="exact"),
        Subject("LiteRT's default kernels", "litert", default, needs=LITERT),
    ]


def _digits(_settings: Settings) -> list[Subject]:
    model = str(ROOT / "workloads" / "digits.onnx")
    return [_simulate("digits on 1 tile", model, "edge-1x1"), _onnx_runtime(model)]


def _onnx_runtime(model: str) -> Subject:
    return Subject("ONNX Runtime", "onnxruntime", {"model": model}, needs=ONNX_RUNTIME, answer="exact")


def _instructions(_settings: Settings) -> list[Subject]:
    return [
        Subject(f"{count} {kind}{proof}", "instructions", {"kind": kind, "count": count, "proves": bool(proof)})
        for kind in KINDS for proof in PROOFS for count in COUNTS
    ]  # fmt: skip


def _mobilenet(settings: Settings) -> list[Subject]:
    model = _model(settings, "coral_tf2_mnv2_ptq")
    return [
        *_both_engines("MobileNetV2 on 16 tiles", model),
        _simulate("MobileNetV2 on 16 tiles, with a trace", model, trace=True),
        *_litert(model),
    ]


def _both_engines(label: str, model: str) -> list[Subject]:
    """By the compiled one, and by SimPy."""
    return [_simulate(label, model), _simulate(f"{label}, by SimPy", model, engine="simpy")]


def _resnet(settings: Settings) -> list[Subject]:
    model = str(resnet50(settings.folder, settings.say))
    return [*_both_engines("ResNet-50 on 16 tiles", model), _onnx_runtime(model)]


def _convolution(settings: Settings) -> list[Subject]:
    command = (str(scalesim_python(settings.folder, settings.say)), str(HERE / "scalesim_subject.py"))
    return [
        _simulate("a convolution on 1 tile", str(HERE / "convolution.yaml"), "edge-1x1", changes=ROOMY),
        Subject("SCALE-Sim", arguments={**CONVOLUTION, **SYSTOLIC}, python=command),
    ]


def _mobilenet_sizes(settings: Settings) -> list[Subject]:
    return _sizes("MobileNetV2", _model(settings, "coral_tf2_mnv2_ptq"), (16, 32, 48))


def _resnet_sizes(settings: Settings) -> list[Subject]:
    return _sizes("ResNet-50", str(resnet50(settings.folder, settings.say)), (18, 36, 54))


def _sizes(name: str, model: str, depths: tuple[int, ...]) -> list[Subject]:
    """One network on 1 to 256 tiles, and its first layers on 16."""
    whole = [_simulate(_on(name, tiles), model, changes={"grid": grid}) for tiles, grid in TILES.items()]
    return whole + [_simulate(_on(f"first {depth} layers of {name}", 16), model, layers=depth) for depth in depths]


def _on(name: str, tiles: int) -> str:
    return f"{name} on {tiles} tile{'s' * (tiles > 1)}"


GROUPS: Mapping[str, Group] = {
    group.name: group
    for group in (
        Group(
            "keywords", _keywords, quick=True,
            ratios=(
                Ratio("keyword spotting on 16 tiles", "LiteRT's reference kernels", "30"),
                Ratio("keyword spotting on 16 tiles, by SimPy", "LiteRT's reference kernels"),
                Ratio("keyword spotting on 16 tiles", "LiteRT's default kernels"),
                Ratio("keyword spotting on 16 tiles, with a trace", "keyword spotting on 16 tiles", "1.5"),
            ),
        ),
        Group("digits", _digits, quick=True, ratios=(Ratio("digits on 1 tile", "ONNX Runtime"),)),
        Group(
            "instructions", _instructions, quick=True,
            ratios=tuple(
                Ratio(f"{MORE} {kind}{proof}", f"{FEWER} {kind}{proof}", goal, per=MORE - FEWER)
                for kind in KINDS for proof, goal in PROOFS.items()
            ),
        ),
        Group(
            "mobilenet", _mobilenet,
            ratios=(
                Ratio("MobileNetV2 on 16 tiles", "LiteRT's reference kernels", "3"),
                Ratio("MobileNetV2 on 16 tiles, by SimPy", "LiteRT's reference kernels"),
                Ratio("MobileNetV2 on 16 tiles", "LiteRT's default kernels"),
                Ratio("MobileNetV2 on 16 tiles, with a trace", "MobileNetV2 on 16 tiles", "1.5"),
            ),
        ),
        Group(
            "resnet50", _resnet,
            ratios=(
                Ratio("ResNet-50 on 16 tiles", "ONNX Runtime", "5"),
                Ratio("ResNet-50 on 16 tiles, by SimPy", "ONNX Runtime"),
            ),
        ),
        Group("convolution", _convolution, ratios=(Ratio("a convolution on 1 tile", "SCALE-Sim"),)),
        Group(
            "mobilenet-sizes", _mobilenet_sizes, sizes=True,
            ratios=(Ratio("MobileNetV2 on 256 tiles", "MobileNetV2 on 4 tiles", "6"),),
        ),
        Group(
            "resnet50-sizes", _resnet_sizes, sizes=True,
            ratios=(Ratio("ResNet-50 on 256 tiles", "ResNet-50 on 16 tiles"),),
        ),
    )
}  # fmt: skip
"""All groups by name, in the order in which they are measured."""
