"""The programs of the systolic machine as text and as bytes: its directives, and how it spells values.

A program that several inferences share has a ``.batching`` line, and a ``.step`` line a step.
"""

from __future__ import annotations

import re

from tilesim.assembly.files import Assembly
from tilesim.assembly.records import Grammar
from tilesim.systolic.isa.model.instructions import CLASSES, Combine, MatrixMultiply, Window
from tilesim.systolic.isa.model.program import Program

ASSEMBLY = Assembly(
    Program,
    CLASSES,
    {
        ".data": "data",
        ".input": "inputs",
        ".output": "outputs",
        ".layer": "layers",
        ".tensor": "tensors",
        ".batching": "batching",
        ".step": "batching.steps",
    },
    Grammar(
        hexadecimal=frozenset({"address", "parameters", "table"}),
        bare=re.compile(r"(?!(?:true|false|inf|nan)$)[A-Za-z_][A-Za-z0-9_.-]*"),
        implied={
            Window: {
                "images": lambda _: 1,
                "pixel_bytes": lambda window: window["channels"],
                "row_bytes": lambda window: window["width"] * window["pixel_bytes"],
                "image_bytes": lambda window: window["height"] * window["row_bytes"],
                "output_height": lambda window: window["height"],
                "output_width": lambda window: window["width"],
            }
        },
    ),
    {
        MatrixMultiply: {"matrix_multiply": {}, "convolve": {}},
        Combine: {"add": {"function": "add"}, "multiply": {"function": "multiply"}},
    },
)
