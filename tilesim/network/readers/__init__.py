"""Readers of model files: one a format, picked by the file's suffix."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, cast

from tilesim.errors import InputError
from tilesim.files import must_be_file, odd_kind
from tilesim.printable import shown

if TYPE_CHECKING:
    from tilesim.network.graph import Network

_MODULES = {".tflite": "tflite", ".onnx": "onnx", ".yaml": "yaml_workload", ".yml": "yaml_workload"}


NAMELESS = "model"
"""What many models' files are called."""


def name_of(path: Path) -> str:
    """What results call the network in a file: as the file is called, or as its folder where that tells more."""
    return path.stem if path.stem != NAMELESS else path.absolute().parent.name or NAMELESS


def read(path: Path | str) -> Network:
    """The network in a .tflite, .onnx or .yaml file.

    Raises:
        InputError: a suffix that no reader takes, or a file that cannot be read.
        ModelError: a faulty or unsupported model; every fault is named.
        ConfigError: a faulty YAML workload.
    """
    path = Path(path)
    module = _MODULES.get(path.suffix.lower())
    if module is None and not odd_kind(path):
        raise InputError(f"{path}: must end in one of {', '.join(_MODULES)}, not {shown(path.suffix)}")
    must_be_file(path, InputError)
    reader = import_module(f"{__name__}.{module}")  # only the packages that this format needs are loaded
    return cast("Network", reader.read(path))
