"""Hostile words of a command line: keys and values of ``--set``, options, and names of files."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from random import Random

import tilesim
from scripts.fuzzing import documents, nasty
from scripts.fuzzing.case import Case, Corpus
from tilesim.machines.topology import keys

CHIPS = ("pocket-2x1", "edge-1x1", "edge-2x2", "systolic-4", "tpu-v1", "ring-8", "rotating-16", "nnu-1024")
MOST_CHARACTERS = 20_000
"""A whole command goes through the shell as one word, and that has at most 128 KiB."""
OPTIONS = (
    *(
        "--inputs",
        "--out",
        "--trace-window",
        "--trace-tracks",
        "--signals",
        "--from",
        "--to",
        "--units",
        "--rules",
        "--hold",
        "-n",
        "--priority",
        "--energy",
        "-t",
        "--keys",
        "--vary",
        "--where",
        "--minimise",
        "--export",
    ),
    *("--layer-priority", "--partition", "--batch-schedule", "--weight-reuse", "--set", "--fit", "--nothing", "", "-"),
)
COMMANDS = (
    *(
        "run",
        "run",
        "run",
        "check",
        "verify",
        "cache",
        "batch",
        "compile",
        "report",
        "trace",
        "watch",
        "compare",
        "topologies",
    ),
    *("workloads", "sweep", "sweep", "sensitivity", "calibrate", "help", ""),
)
SOUND = (
    *(
        "0:100",
        "100:",
        ":",
        "5:4",
        "chip.*",
        "observe",
        "conv=100",
        "conv@0=5",
        "auto",
        "conv=channel",
        "0=spatial",
        "2",
    ),
    *(
        "grid=1x1,2x1",
        "tile.lanes=2^2..2^3",
        "cache=on,off",
        "tile.lanes <= 4",
        "cycles / macs < 1",
        "csv",
        "latency_us",
    ),
    *("pocket", "pocket:conv", "pocket:0", "demand", "lcm", "1500", "1.5", "edge-1x1", "systolic-4", "out", "grid=2x4"),
)


def words_case(rng: Random, _corpus: Corpus) -> Case:
    """No file at all: keys of a chip set to anything, or options with any words."""
    words = _sets(rng) if rng.random() < 0.6 else _options(rng)
    sound = [_clean(word) for word in words]
    return Case("words", {}, tuple(sound), _may_appear(sound))


def _may_appear(words: list[str]) -> frozenset[str]:
    """Where a run that is fine after all goes: into the folder that it was told, or its pages."""
    named = {word for option, word in pairwise(words) if option in {"--out", "-o"}}
    return frozenset(name for word in named for name in (word, word.split("/")[0], word.replace(".tasm", ".npz")))


def _clean(word: str) -> str:
    """As far as the operating system lets it be a word: no zero, nothing that is half a character."""
    return word.replace("\0", "").encode("utf-8", "ignore").decode()[:MOST_CHARACTERS]


@cache
def chip_keys(chip: str) -> tuple[str, ...]:
    """Every key that ``--set`` may change."""
    return tuple(key.key for key in keys(tilesim.load_topology(chip)))


def _sets(rng: Random) -> list[str]:
    chip = rng.choice(CHIPS)
    words = rng.choice((["run", "pocket"], ["run", "pocket", "--json"], ["check", "pocket"], ["cache", "pocket"]))
    if chip in {"systolic-4", "tpu-v1"}:
        words = rng.choice((["run", "pocket"], ["run", "pocket", "--json"], ["batch", "pocket"]))
    if chip in {"rotating-16", "nnu-1024"}:
        words = rng.choice((["run", "pocket"], ["run", "pocket", "--json"], ["verify", "pocket"]))
    words = [*words, "-t", chip]
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        words += ["--set", f"{_key(rng, chip)}={documents.scalar(rng)}"]
    return words


def _key(rng: Random, chip: str) -> str:
    key = rng.choice(chip_keys(chip))
    if rng.random() < 0.85:
        return key
    return rng.choice((nasty.text(rng), key.split(".")[0], f"{key}.x", f"{key}.0", f".{key}", key.upper(), f"{key}."))


def _options(rng: Random) -> list[str]:
    command = rng.choice(COMMANDS)
    words = [command] + [rng.choice(("pocket", nasty.text(rng)))] * (command not in {"workloads", "topologies"})
    if rng.random() < 0.7:
        words += ["-t", rng.choice((*CHIPS, nasty.text(rng)))]
    if command == "compile":
        words += ["-o", rng.choice(("out.tasm", "out.tbin", nasty.text(rng)[:300]))]
    for _ in range(rng.choice((1, 1, 2))):
        words += [rng.choice(OPTIONS), rng.choice((rng.choice(SOUND), nasty.text(rng), str(nasty.number(rng))))]
    return words
