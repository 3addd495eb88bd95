"""Readers of model files: one a format, picked by the file's suffix."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, cast

from tilesim.errors import InputError

if TYPE_CHECKING:
    from tilesim.network.graph import Network

_MODULES = {".tflite": "tflite", ".onnx": "onnx", ".yaml": "yaml_workload", ".yml": "yaml_workload"}


def read(path: Path | str) -> Network:
    """The network in a .tflite, .onnx or .yaml file.

    Raises:
        InputError: a suffix that no reader takes, or a file that cannot be read.
        ModelError: a faulty or unsupported model; every fault is named.
        ConfigError: a faulty YAML workload.
    """
    path = Path(path)
    module = _MODULES.get(path.suffix.lower())
    if module is None:
        raise InputError(f"{path}: must end in one of {', '.join(_MODULES)}, not {path.suffix or 'nothing'!r}")
    try:
        exists = path.exists()
    except OSError as error:  # its name is too long for any file
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    if not exists:
        raise InputError(f"{path}: there is no such file")
    reader = import_module(f"{__name__}.{module}")  # only the packages that this format needs are loaded
    return cast("Network", reader.read(path))
