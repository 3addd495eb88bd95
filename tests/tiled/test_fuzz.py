"""Whatever a program says, it runs, hangs with a report, or is refused in sentences."""

import re
from contextlib import suppress
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tilesim
from tilesim.shipped import shipped
from tilesim.tiled.isa.assembly import ASSEMBLY

PROGRAM = tilesim.compile(tilesim.load_network("digits"), tilesim.load_topology("edge-1x1"))
TEXT = ASSEMBLY.write(PROGRAM)
NUMBERS = [match.span() for match in re.compile(r"-?\b(0x[0-9a-f]+|\d+)\b").finditer(TEXT, TEXT.index(".data"))]
IMAGE = np.load(shipped("workloads") / "digits.npz")["in0"][:1]
VALUES = st.one_of(st.integers(-4, 300), st.sampled_from([-(1 << 31), 1 << 31, 1 << 40, 4096, 65536]))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.sampled_from(NUMBERS), VALUES), min_size=1, max_size=2))
def test_any_number_anywhere(changes: list[tuple[tuple[int, int], int]]) -> None:
    text = TEXT
    for (start, end), value in sorted(dict(changes).items(), reverse=True):
        text = f"{text[:start]}{value}{text[end:]}"
    with suppress(tilesim.TilesimError):
        program = ASSEMBLY.read(text, Path("p.tasm"), {"parameters": PROGRAM.data[0].data})
        tilesim.simulate(program, [IMAGE], keep_tensors=True)
