"""What the readers of all formats do alike."""

from __future__ import annotations

from pathlib import Path

import pytest

import tilesim
from tilesim.network.readers import name_of


@pytest.mark.parametrize(
    ("path", "name"),
    [("net.tflite", "net"), ("zoo/kws/model.tflite", "kws"), ("kws/model.onnx", "kws"), ("/model.tflite", "model")],
)
def test_a_network_is_called_as_its_file_or_as_the_folder_of_a_file_called_model(path: str, name: str) -> None:
    assert name_of(Path(path)) == name


def test_a_model_beside_you_is_called_after_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "tiny"
    folder.mkdir()
    (folder / "model.yaml").write_text(
        "input: {shape: [1, 2, 2, 4]}\nlayers: [{name: a, kind: max_pool, window: [2, 2]}]\n"
    )
    monkeypatch.chdir(folder)
    assert tilesim.load_network(Path("model.yaml")).name == "tiny"


def test_real_models_have_the_names_of_their_folders(models: Path) -> None:
    assert tilesim.load_network(models / "mlperf_kws_dscnn" / "model.tflite").name == "mlperf_kws_dscnn"
