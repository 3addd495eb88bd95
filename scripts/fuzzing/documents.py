"""Damage to documents of keys and values: YAML, JSON, and the words after ``--set``."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from random import Random
from typing import Any

import yaml

from scripts.fuzzing import nasty
from scripts.fuzzing.bytewise import damaged as bytewise

VALUE = re.compile(r"(?<=: )[^\n{\[]+?(?=[,}\]\n]|$)")
KEY = re.compile(r"[\w-]+(?=:)")
SCALARS = (
    *("1:2:3", "1:" * 3000 + "1", "0x" + "f" * 5000, "0b" + "1" * 20000, "9" * 5000, "1_000", "0o17", ".inf", ".nan"),
    *(
        "1e400",
        "-0",
        "+1",
        "~",
        "",
        "yes",
        "2026-11-22",
        "2026-11-22 10:00:00 +99:99",
        "!!int x",
        "!!python/object:x {}",
    ),
    *(
        '"\\x1b[31m"',
        '"\\u202e"',
        '"\\0"',
        '"\\ud800"',
        '"\\n"',
        '"\\x9b"',
        "'a\tb'",
        "*nowhere",
        "&a [*a]",
        "|\n  x",
        ">",
    ),
    *(
        "[" * 60 + "]" * 60,
        "[" * 100_000,
        "{a: " * 2000,
        "{? : }",
        "? x",
        "<<: *x",
        "!!binary aGk=",
        "!!set {1}",
        "=",
        "@x",
    ),
    *("64 KiB", "1e30 MiB", "-1 GiB", "0.3 KiB", "500 MHz", "1 YiB", "64KiB ", "٣", "１", "0x", "1__0", "x" * 100_000),
)
WHOLE = (
    *(
        "",
        "\n",
        "---\n",
        "null",
        "[]",
        "{}",
        "1",
        "text",
        "\ufeff",
        "a: 1\n---\nb: 2",
        "\t",
        "%YAML 9.9\n---\na: 1",
        "&a *a",
    ),
    *(
        "{" * 1000,
        "- " * 5000,
        "? " * 3000,
        "a: &a [x]\nb: *a",
        "\x00",
        "a:\n" * 5000,
        "x: 1\n" * 20000,
        "'" + "a" * 1000,
    ),
)


def yaml_damaged(rng: Random, data: bytes, others: list[bytes]) -> bytes:
    """A YAML file changed: in its tree, in its text, or byte by byte."""
    choice = rng.random()
    if choice < 0.65:
        return _yaml_tree(rng, data)
    if choice < 0.9:
        return encoded(rng, yaml_text(rng, data.decode()))
    return bytewise(rng, data, others) if choice < 0.97 else encoded(rng, rng.choice((*WHOLE, _laughs(rng))))


def _yaml_tree(rng: Random, data: bytes) -> bytes:
    tree = yaml.safe_load(data)
    for _ in range(rng.choice((1, 1, 2, 3))):
        tree = changed(rng, tree)
    return yaml.safe_dump(tree, sort_keys=False, allow_unicode=rng.random() < 0.5).encode("utf-8", "surrogatepass")


def changed(rng: Random, tree: Any, deeper: float = 0.97) -> Any:
    """``tree`` with one place in it changed: another value, one left out, one more, or one from elsewhere."""
    if isinstance(tree, dict) and tree and rng.random() < deeper:
        return _changed_section(rng, dict(tree))
    if isinstance(tree, list) and tree and rng.random() < deeper:
        return _changed_list(rng, list(tree))
    if isinstance(tree, int) and rng.random() < 0.85:
        return nasty.near(rng, tree) if rng.random() < 0.5 else rng.choice((-tree, f"{tree}", 0.5, nasty.number(rng)))
    return nasty.value(rng)


def _changed_section(rng: Random, tree: dict[Any, Any]) -> dict[Any, Any]:
    key, choice = rng.choice(list(tree)), rng.random()
    if choice < 0.08:
        del tree[key]
    elif choice < 0.16:
        tree[nasty.text(rng)] = rng.choice((tree[key], nasty.value(rng)))
    elif choice < 0.22:
        tree[key] = tree[rng.choice(list(tree))]
    else:
        tree[key] = changed(rng, tree[key])
    return tree


def _changed_list(rng: Random, tree: list[Any]) -> list[Any]:
    place, choice = rng.randrange(len(tree)), rng.random()
    if choice < 0.08:
        del tree[place]
    elif choice < 0.16:
        tree.insert(place, rng.choice(tree))
    elif choice < 0.2:
        tree = tree * rng.choice((2, 50))
    elif choice < 0.24:
        rng.shuffle(tree)
    else:
        tree[place] = changed(rng, tree[place])
    return tree


def yaml_text(rng: Random, text: str) -> str:
    """Values, keys and lines of a text replaced."""
    for _ in range(rng.choice((1, 1, 2))):
        text = rng.choice(TEXT_DAMAGES)(rng, text)
    return text


def _value(rng: Random, text: str) -> str:
    return _replaced(rng, VALUE, text, scalar(rng))


def _key(rng: Random, text: str) -> str:
    return _replaced(rng, KEY, text, rng.choice((scalar(rng), json.dumps(nasty.text(rng)), "? [a]", "<<", "name")))


def _line(rng: Random, text: str) -> str:
    """A line twice, elsewhere, further in, or missing."""
    lines = text.split("\n")
    place = rng.randrange(len(lines))
    line = lines.pop(place)
    lines[place:place] = rng.choice(([], [line, line], [f"  {line}"], [f"\t{line}"], [line.strip()], [line] * 2000))
    return "\n".join(lines)


def _inserted(rng: Random, text: str) -> str:
    place = rng.randrange(len(text) + 1)
    return f"{text[:place]}{rng.choice((nasty.text(rng), scalar(rng)))}{text[place:]}"


TEXT_DAMAGES: tuple[Callable[[Random, str], str], ...] = (_value, _value, _value, _key, _line, _inserted)


def scalar(rng: Random) -> str:
    """A value as YAML writes it, or hardly."""
    return rng.choice((rng.choice(SCALARS), str(nasty.number(rng)), json.dumps(nasty.text(rng)), nasty.text(rng)))


def _replaced(rng: Random, pattern: re.Pattern[str], text: str, new: str) -> str:
    spans = [match.span() for match in pattern.finditer(text)]
    start, end = rng.choice(spans or [(0, 0)])
    return f"{text[:start]}{new}{text[end:]}"


def _laughs(rng: Random) -> str:
    """Aliases of aliases."""
    rows = [f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 9)}]" for k in range(1, rng.choice((3, 9, 30)))]
    return "\n".join(["a0: &a0 [x]", *rows])


def encoded(rng: Random, text: str) -> bytes:
    """As UTF-8, mostly."""
    coding = rng.choice(("utf-8",) * 30 + ("utf-8-sig", "utf-16", "latin-1"))
    return text.encode(coding, "surrogatepass" if coding.startswith("utf") else "replace")


def json_damaged(rng: Random, data: bytes) -> bytes:
    """A JSON file changed: in its tree, or in its text."""
    choice = rng.random()
    if choice < 0.12:
        return encoded(rng, _inserted(rng, data.decode()))
    if choice < 0.14:
        return encoded(rng, rng.choice(WHOLE))
    tree = json.loads(data)
    for _ in range(rng.choice((1, 1, 2, 3))):
        tree = changed(rng, tree)
    return json.dumps(tree, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass")
