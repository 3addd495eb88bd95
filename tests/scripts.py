"""Scripts as modules, for tests."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def script(name: str) -> Any:
    """The module ``scripts/NAME.py``."""
    spec = spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[name] = module  # where dataclasses look for their module
    spec.loader.exec_module(module)
    return module
