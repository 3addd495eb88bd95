"""What of foreign text may reach a terminal."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from tilesim.errors import HangError, InputError
from tilesim.printable import counted, kind_of, printable, printable_lines, unknown


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
    assert [kind_of(value) for value in (1, [], "a", None)] == ["an int", "a list", "'a'", "a NoneType"]
