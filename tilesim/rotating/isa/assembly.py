"""The programs of the rotating machine as text and as bytes: its directives, and how it spells values."""

from __future__ import annotations

import re

from tilesim.assembly.files import Assembly
from tilesim.assembly.records import Grammar
from tilesim.rotating.isa.model.instructions import CLASSES
from tilesim.rotating.isa.model.program import Program

ASSEMBLY = Assembly(
    Program,
    CLASSES,
    {".data": "data", ".input": "inputs", ".output": "outputs", ".layer": "layers", ".tensor": "tensors"},
    Grammar(bare=re.compile(r"(?!(?:true|false|inf|nan)$)[A-Za-z_][A-Za-z0-9_.-]*")),
)
