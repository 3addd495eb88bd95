from math import prod
from pathlib import Path

import pytest

import tilesim
from tilesim.config import load as parsed
from tilesim.errors import ConfigError, InputError
from tilesim.network.graph import macs
from tilesim.network.readers.yaml_layers import ConvolutionSection, FullyConnectedSection, PoolSection, Workload
from tilesim.shipped import LARGE, located, names, shipped


def test_a_checkout_has_its_workloads() -> None:
    assert (shipped("workloads") / "digits.onnx").is_file()


def test_the_working_folder_does_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = shipped("topologies")
    monkeypatch.chdir(tmp_path)
    assert shipped("topologies") == here
    assert here.is_absolute()


def sizes(workload: Workload) -> tuple[int, int]:
    """Parameters and multiplications of convolutions that keep a map's size, pools that divide it, and what follows."""
    (_, *pixels, channels), parameters, macs = workload.input.shape, 0, 0
    for layer in workload.layers:
        if isinstance(layer, PoolSection):
            pixels = [size // stride for size, stride in zip(pixels, layer.strides, strict=True)]
        elif isinstance(layer, ConvolutionSection):
            weights = layer.filters * channels * prod(layer.kernel)
            parameters, macs, channels = (
                parameters + weights + layer.filters,
                macs + weights * prod(pixels),
                layer.filters,
            )
        elif isinstance(layer, FullyConnectedSection):
            weights = layer.units * channels * prod(pixels)
            parameters, macs, channels = parameters + weights + layer.units, macs + weights, layer.units
            pixels = [1]
    return parameters, macs


@pytest.mark.parametrize(
    ("name", "parameters", "macs"),
    [("vgg16", 138_357_544, 15_470_264_320), ("vgg19", 143_667_240, 19_632_062_464)],
)
def test_large_workloads_have_the_published_sizes_and_a_name_and_are_not_listed(
    name: str, parameters: int, macs: int
) -> None:
    path = shipped("workloads") / LARGE / f"{name}.yaml"
    assert located(name, "workloads") == path
    assert name not in names("workloads")
    assert sizes(parsed(path, Workload)) == (parameters, macs)


def test_mobilenet_has_the_published_multiplications() -> None:
    """568,740,352 with 1,000 classes; the released models have one more."""
    network = tilesim.load_network("mobilenet_v1")
    assert sum(macs(network, node) for node in network.nodes) == 568_740_352 + 1024
    assert network.tensors[network.outputs[0]].shape == (1, 1001)
    assert "mobilenet_v1" not in names("workloads")


def load(path: object) -> None:
    tilesim.load_network(path)  # type: ignore[arg-type]


@pytest.mark.parametrize("odd", [None, 3, b"digits", ["digits"]])
def test_a_network_is_named_by_text_or_a_path(odd: object) -> None:
    with pytest.raises(ConfigError, match=rf"^the workload must be a name or a path, not a {type(odd).__name__}$"):
        load(odd)


@pytest.mark.parametrize("name", ["", ".", "a\0b", "x" * 5000])
def test_nothing_is_shipped_under_an_odd_name(name: str) -> None:
    with pytest.raises(ConfigError, match=r"there is no such workload|must be given by its name or file, not by "):
        load(name)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("/", "must be a file, not a folder"),
        ("a\0b.onnx", "there is no such file"),
        ("\ud800.tflite", "there is no such file"),
        (f"{'x' * 5000}.yaml", "cannot be read: File name too long"),
    ],
)
def test_odd_paths_are_refused_in_a_sentence(name: str, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        load(name)
    assert caught.value.faults[0].endswith(f": {sentence}")


@pytest.mark.parametrize("suffix", [".tflite", ".onnx", ".yaml"])
def test_folders_empty_files_and_beginnings_of_files_are_no_models(tmp_path: Path, suffix: str) -> None:
    folder, empty, cut = (tmp_path / f"{name}{suffix}" for name in ("folder", "empty", "cut"))
    folder.mkdir()
    empty.touch()
    cut.write_bytes(b"\x08\x07TFL3\x00")
    with pytest.raises(InputError, match="must be a file, not a folder"):
        load(folder)
    for path in (empty, cut):
        with pytest.raises(InputError, match=f"^{path}"):
            load(path)
