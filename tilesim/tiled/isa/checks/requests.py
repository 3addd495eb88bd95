"""Static checks of the inferences that a program says that it runs."""

from __future__ import annotations

from collections.abc import Iterator

from tilesim.printable import shown
from tilesim.tiled.isa.model.instructions import ScalarFence
from tilesim.tiled.isa.model.program import Program


def request_faults(program: Program) -> Iterator[str]:
    """Requests that begin nowhere, or not one after the other, and outputs that are nobody's."""
    if not program.requests:
        return
    fences = [op.label for op in program.run if isinstance(op, ScalarFence) and op.label]
    begins = [request.begins for request in program.requests]
    known = [label for label in begins[1:] if label in fences]
    for k, label in enumerate(begins):
        if (label not in fences) if k else label:
            what = "name a scalar fence of the run" if k else "be left out: the first one begins with the run"
            yield f"request {k + 1}: begins must {what}, not {shown(label)}"
    if known != sorted(set(known), key=fences.index):
        yield "requests must begin one after the other, each behind a fence of its own"
    if any(request.loads not in (0, 1) for request in program.requests):
        yield "requests must have loads 0 or 1"
    claimed = [request.outputs for request in program.requests]
    if min(claimed) < 0 or sum(claimed) != len(program.outputs):
        yield f"requests must have all {len(program.outputs)} outputs among them, not {' + '.join(map(str, claimed))}"
