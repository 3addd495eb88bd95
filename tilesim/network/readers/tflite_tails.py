"""Tails of TensorFlow Lite models: custom operators, and what else comes after them, that only outputs depend on.

Nothing here computes them, but all that comes before is worth running: the network ends where they begin.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tilesim.network.graph import titled
from tilesim.network.readers.tflite_file import FileGraph, FileOperator

CUSTOM = "custom operator "
"""How the kinds of operators begin that are none of the schema's."""
PASSING = frozenset({"CAST", "DEQUANTIZE", "EXPAND_DIMS", "QUANTIZE", "RESHAPE", "SLICE", "SQUEEZE", "TRANSPOSE"})
"""Operators that may come after them."""


def without_tail(graph: FileGraph) -> tuple[FileGraph, tuple[str, ...]]:
    """The graph without the custom operators at its end, and a sentence for each that is cut off: what goes into them
    are outputs then. One that is all there is stays, and so does one in the middle.
    """
    tail = _tail(graph.operators)
    gone = {index for op in tail for index in op.outputs}
    kept = tuple(op for op in graph.operators if op not in tail)
    made = {index for op in kept for index in op.outputs}
    fed = [index for index in dict.fromkeys(index for op in tail for index in op.inputs) if index in made]
    if not fed:
        return graph, ()
    before = dict.fromkeys(index for index in graph.outputs if index not in gone)
    outputs = (*before, *(index for index in fed if index not in before))
    notes = tuple(_note(graph, op, fed) for op in tail if op.kind.startswith(CUSTOM))
    lost = {index for op in tail for index in (*op.inputs, *op.outputs)}.difference(
        outputs, graph.inputs, *(op.inputs for op in kept), made
    )
    faults = tuple(fault for fault in graph.faults if not any(fault.startswith(f"tensor {index} (") for index in lost))
    return replace(graph, operators=kept, outputs=outputs, faults=faults), notes


def _tail(operators: Iterable[FileOperator]) -> list[FileOperator]:
    """What is cut off: custom operators whose results only outputs depend on, and what these go through."""
    ending: list[FileOperator] = []
    read_elsewhere: set[int] = set()
    for op in reversed([*operators]):
        ends = op.kind.startswith(CUSTOM) or op.kind in PASSING
        if ends and read_elsewhere.isdisjoint(op.outputs):
            ending.insert(0, op)
        else:
            read_elsewhere.update(op.inputs)
    tail: list[FileOperator] = []
    for op in ending:
        behind = any(not set(other.outputs).isdisjoint(op.inputs) for other in tail)
        if op.kind.startswith(CUSTOM) or behind:
            tail.append(op)
    return tail


def _note(graph: FileGraph, op: FileOperator, fed: Sequence[int]) -> str:
    mine = [index for index in op.inputs if index in fed]
    more = f": outputs are what goes into it, {_titles(graph, mine)}, and not {_titles(graph, op.outputs)}"
    return f"node {op.index} ({titled(op.kind)}) is cut off, as nothing here computes it{more if mine else ''}"


def _titles(graph: FileGraph, indices: Sequence[int]) -> str:
    known = (graph.tensors[index] for index in indices if 0 <= index < len(graph.tensors))
    return ", ".join(tensor.title for tensor in known if tensor is not None)
