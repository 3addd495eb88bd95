"""What notebooks show: tables in which foreign text is text."""

from __future__ import annotations

from dataclasses import replace

import pytest

import tilesim
from tilesim.notebook import MOST_ROWS, html_table

EVIL = "<script>alert('x')</script>\x1b[2J"
SHOWN = "&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt;\\x1b[2J"


@pytest.fixture(scope="module")
def run() -> tuple[tilesim.Program, tilesim.Run]:
    program = tilesim.compile(tilesim.load_network("pocket"), tilesim.load_topology("pocket-2x1"))
    return program, tilesim.simulate(program)


def test_text_shows_as_text_and_numbers_stand_on_the_right() -> None:
    shown = html_table(EVIL, (EVIL, "n"), [(EVIL, 12345)])
    assert shown.count(SHOWN) == 3
    assert "<script" not in shown
    assert '<td style="text-align: right">12,345</td>' in shown


def test_a_long_table_is_cut() -> None:
    assert html_table("", ("",), [(k,) for k in range(MOST_ROWS + 3)]).count("<tr>") == MOST_ROWS + 1
    assert "3 more" in html_table("", ("",), [(k,) for k in range(MOST_ROWS + 3)])
    assert "more" not in html_table("", ("",), [(k,) for k in range(MOST_ROWS)])
    assert html_table("", (), []) == "<table><caption></caption><tbody></tbody></table>"


def test_a_network_shows_its_layers() -> None:
    network = tilesim.load_network("pocket")
    assert repr(network) == "<Network pocket: 5 layers, 2,368 MACs, 240 B of parameters>"
    shown = replace(network, name=EVIL, nodes=tuple(replace(node, name=EVIL) for node in network.nodes))
    assert shown._repr_html_().count(SHOWN) == 1 + len(network.nodes)
    assert "\x1b" not in repr(shown)


def test_a_topology_shows_its_keys() -> None:
    chip = tilesim.load_topology("pocket-2x1").model_copy(update={"name": EVIL})
    assert repr(tilesim.load_topology("pocket-2x1")) == "<Topology pocket-2x1: a tiled machine at 1 MHz>"
    assert '<td style="text-align: left">grid.rows</td>' in chip._repr_html_()
    assert SHOWN in chip._repr_html_()
    assert "<script" not in chip._repr_html_()
    assert "\x1b" not in repr(chip)


def test_a_program_shows_its_ends_and_instructions(run: tuple[tilesim.Program, tilesim.Run]) -> None:
    program, _ = run
    instructions = f"{len(program.load):,} + {len(program.run):,} instructions"
    assert repr(program) == f"<Program pocket on pocket-2x1: {len(program.layers)} layers, {instructions}>"
    shown = replace(program, name=EVIL)._repr_html_()
    assert SHOWN in shown
    assert all(f">{operation.mnemonic}<" in shown for operation in program.run)
    assert "<script" not in shown


def test_a_run_shows_its_layers(run: tuple[tilesim.Program, tilesim.Run]) -> None:
    _, ran = run
    assert repr(ran).startswith(f"<Run of pocket on pocket-2x1: {ran.cycles:,} cycles = ")
    layers = [{**layer, "name": EVIL} for layer in ran.statistics["layers"]]
    shown = replace(ran, statistics={**ran.statistics, "layers": layers})._repr_html_()
    assert shown.count(SHOWN) == len(layers)
    assert "<script" not in shown
