"""Numbers, names and texts that programs choke on."""

from __future__ import annotations

from random import Random

NUMBERS = (
    *(0, 1, -1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 63, 64, 100, 127, 128, -128, -129, 255, 256, 257, 1000, 4095),
    *(4096, 32767, 32768, -32768, 65535, 65536, 100_000, 1 << 20, 1 << 24, (1 << 31) - 1, 1 << 31, -(1 << 31)),
    *((1 << 32) - 1, 1 << 32, 1 << 40, 1 << 53, (1 << 63) - 1, -(1 << 63), 1 << 63, (1 << 64) - 1, 1 << 64, 10**18),
)
LARGE = (10**30, 10**100, -(10**400))
FLOATS = (0.0, -0.0, 0.5, 1e-45, 1e-38, 1e-7, 1.0, 1e7, 3.4e38, 1e300, -1.0, float("inf"), float("-inf"), float("nan"))
CHARACTERS = (
    *("\x1b[2J", "\x1b]0;title\x07", "\x9b31m", "\x85", "\r", "\n", "\n\n", "\t", "\x00", "\x7f", "\x08\x08", "\u202e"),
    *("\u2066", "\u200f", "\u061c", "\u2028", "\u2029", "\ufeff", "\u200b", "\U000e0041", "é", "名", "🦊", "\ue000"),
)
WORDS = (
    *(
        "",
        " ",
        "x",
        "in0",
        "input",
        "out0",
        "none",
        "null",
        "true",
        "nan",
        "inf",
        "-inf",
        "0x10",
        "1e9",
        "64 KiB",
        "-1",
    ),
    *(
        "500 MHz",
        "1:30:00",
        "2026-11-22",
        "../x",
        "/dev/null",
        ".",
        "..",
        "%s",
        "{0}",
        "[bold]x[/bold]",
        "[/]",
        "'",
        '"',
    ),
    *(
        "\\",
        "`id`",
        "$HOME",
        "a.b",
        "a=b",
        "a,b",
        "a:b",
        "a;b",
        "a#b",
        "*",
        "__class__",
        "array",
        "scale",
        "same",
        "relu",
    ),
)


def number(rng: Random) -> int:
    """Any integer, mostly one at an edge."""
    return rng.choice((rng.choice(NUMBERS), rng.choice(NUMBERS) + rng.randint(-2, 2), rng.randint(-300, 300)))


def near(rng: Random, number: int) -> int:
    """A little more or less, or twice as much: what may well be sound."""
    return rng.choice((number + 1, number - 1, number * 2, number // 2, number ^ 1, 1, number + 4))


def text(rng: Random) -> str:
    """A word, one with characters that steer terminals, or a very long one."""
    choice = rng.random()
    if choice < 0.4:
        return rng.choice(WORDS)
    if choice < 0.9:
        return f"{rng.choice(WORDS)}{rng.choice(CHARACTERS)}{rng.choice(WORDS)}"
    return rng.choice(("x", "名", "9", "\u202e", "[", "a.")) * rng.choice((100, 5000, 100_000))


def value(rng: Random) -> object:
    """Anything that a document can hold."""
    choice = rng.random()
    if choice < 0.4:
        return number(rng)
    if choice < 0.5:
        return rng.choice(FLOATS)
    if choice < 0.75:
        return text(rng)
    if choice < 0.95:
        return rng.choice((None, True, False, [], {}, [[]], [1], {"a": 1}, [None], {"": {}}, ["x", 1]))
    return rng.choice((nested(rng.choice((10, 60, 200))), [0] * 5000, rng.choice(LARGE)))


def nested(depth: int) -> object:
    """Lists in lists."""
    inner: object = 1
    for _ in range(depth):
        inner = [inner]
    return inner
