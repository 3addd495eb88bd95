"""What of foreign text may reach a terminal, and a notebook."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest

import tilesim
from tilesim.errors import HangError, InputError
from tilesim.printable import (
    MOST_ROWS,
    counted,
    html_table,
    kind_of,
    numbered,
    printable,
    printable_lines,
    short,
    shown,
    unknown,
)


@pytest.mark.parametrize(
    ("names", "told_apart"),
    [("ab", "a b"), ("aba", "a b a (2)"), (["a", "a", "a (2)", "a"], "a a (2) a (2) (2) a (3)"), ("", "")],
)
def test_names_that_come_again_are_numbered(names: Iterable[str], told_apart: str) -> None:
    found = list(numbered(names))
    assert " ".join(found) == told_apart
    assert len({*found}) == len(found)


@pytest.mark.parametrize("text", ["", "conv_1/Relu;add", "Größe", "漢字", "Ω→é", "a b", "[red]x[/red]", "\\n"])
def test_what_people_can_read_stays(text: str) -> None:
    assert printable(text) == printable_lines(text) == text


@pytest.mark.parametrize(
    ("character", "shown"),
    [
        *(("\x1b", "\\x1b"), ("\0", "\\x00"), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t"), ("\x7f", "\\x7f")),
        *((chr(code), f"\\x{code:x}") for code in range(0x80, 0xA0)),
        *((chr(code), f"\\u{code:x}") for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F)),
        *(("\u061c", "\\u061c"), ("\u200b", "\\u200b"), ("\u2028", "\\u2028"), ("\ufeff", "\\ufeff")),
        *(("\udc80", "\\udc80"), ("\ue000", "\\ue000"), ("\U000e0041", "\\U000e0041")),
    ],
)
def test_what_steers_a_terminal_is_written_out(character: str, shown: str) -> None:
    assert printable(f"ä{character}b") == f"ä{shown}b"
    assert printable(printable(character)) == shown


def test_what_is_long_is_cut() -> None:
    assert short(40 * "x") == 40 * "x"
    assert short(41 * "x") == f"{37 * 'x'}..."
    assert short(61 * "x", 60) == f"{57 * 'x'}..."
    assert shown(41 * "x") == f"'{37 * 'x'}...'"
    assert shown("") == "nothing"


def test_lines_stay_lines() -> None:
    assert printable_lines("a\x1b\n\nb\r\n") == "a\\x1b\n\nb\\r\n"


def test_what_is_raised_is_printable() -> None:
    assert InputError(["a\nb", "\u202e"]).faults == ("a\\nb", "\\u202e")
    assert str(HangError(["it hangs:", "unit a\nb waits"])) == "it hangs:\nunit a\\nb waits"


@pytest.mark.parametrize(
    ("word", "known", "sentence"),
    [
        ("rws", {"rows", "columns"}, "must be a key, not 'rws'; did you mean 'rows'?"),
        ("x", ["rows", "columns"], "must be a key, not 'x' (one of columns, rows)"),
        ("x", map(str, range(100, 117)), "must be a key, not 'x'"),
        ("", ["rows"], "must be a key, not nothing (one of rows)"),
        ("\x1b" * 50, map(str, range(100, 117)), "must be a key, not '" + "\\x1b" * 37 + "...'"),
    ],
)
def test_a_fault_says_what_may_have_been_meant(word: str, known: Iterable[str], sentence: str) -> None:
    assert unknown(word, known, "a key") == sentence


def test_counts_and_kinds_are_good_english() -> None:
    assert [counted(count, "array") for count in (0, 1, 2, 1000)] == ["0 arrays", "1 array", "2 arrays", "1,000 arrays"]
    values = (1, [], "a", None, np.zeros(1))
    assert [kind_of(value) for value in values] == ["an int", "a list", "'a'", "None", "an ndarray"]


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
