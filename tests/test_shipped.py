from pathlib import Path

import pytest

from tilesim.shipped import shipped


def test_a_checkout_has_its_workloads() -> None:
    assert (shipped("workloads") / "digits.onnx").is_file()


def test_the_working_folder_does_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = shipped("topologies")
    monkeypatch.chdir(tmp_path)
    assert shipped("topologies") == here
    assert here.is_absolute()
