"""The kinds of input: how a sound one becomes a hostile one, and which commands it is given to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from random import Random
from types import MappingProxyType

from scripts.fuzzing import archives, assembly, documents, flatbuffer, folders, models, nasty, protobuf
from scripts.fuzzing.bytewise import damaged as bytewise
from scripts.fuzzing.case import Case, Corpus, Maker
from scripts.fuzzing.words import words_case

Damaged = Callable[[Random, bytes, list[bytes]], bytes]

OF_MODELS = (
    *(
        "run {} -t edge-1x1",
        "run {} -t edge-1x1 --json",
        "run {} -t edge-1x2 --trace --out out",
        "run {} -t edge-1x2 --signals 5: --out out",
        "run {} -t systolic-4",
        "run {} -t rotating-16",
        "run {} -t nnu-1024 --trace --out out",
    ),
    *(
        "run {} -t systolic-32 --json -n 2 --batch-schedule demand --out out",
        "run {} -t edge-1x1 -t edge-2x2 -t tpu-v1",
    ),
    *("run {} {} -t edge-1x2 -n 2 --json", "run {} -t edge-2x2 --partition auto", "compile {} -t edge-2x2 -o out.tasm"),
    *("compile {} -t edge-1x1 -o out.tbin", "compile {} -t systolic-4 -o out.tasm", "cache {} -t edge-1x1"),
    *("cache {} {} -t edge-2x2 --json", "batch {} -t tpu-v1", "batch {} -t systolic-4 --json", "check {} -t edge-1x1"),
    *(
        "check {} -t edge-1x2 --json",
        "verify {} -t edge-1x1 --json",
        "run {} -t edge-1x1 --no-cache --layer-priority {}:0",
    ),
)
OF_TOPOLOGIES = (
    *(
        "topologies {}",
        "topologies {} --json",
        "run pocket -t {}",
        "run pocket -t {} --json",
        "run digits -t {} --out out",
        "run pocket -t {} -t edge-1x1 --out out",
    ),
    *(
        "compile pocket -t {} -o out.tasm",
        "compile pocket -t {} -o out.tbin",
        "cache digits -t {}",
        "batch digits -t {}",
    ),
    *("run pocket -t pocket-2x1 -t {}", "check pocket -t {}", "verify pocket -t {}", "batch pocket -t {} --json"),
)
OF_ENERGIES = ("run pocket -t pocket-2x1 --energy {}", "run pocket -t systolic-4 --energy {} --json --out out")
OF_MASTERS = ("masters {}", "masters {} --json", "masters {} --masters single", "masters {} --masters disjoint --json")
OF_PROGRAMS = (
    *(
        "run {}",
        "run {} --json",
        "run {} --trace --out out",
        "run {} --rules observe",
        "watch {} --to 99 --json",
        "check {}",
        "check {} --json",
    ),
    *("check {} {}", "verify {}", "verify {} --json", "compile {} -o out.tasm", "compile {} -o out.tbin"),
    *("run {} {} -n 2", "run {} --set host.latency_cycles=9", "run {} --rules observe --hold low.send=40"),
)
OF_INPUTS = (
    *(
        "run pocket -t pocket-2x1 --inputs {}",
        "run digits -t edge-1x1 --inputs {} --json",
        "verify pocket -t pocket-2x1 --inputs {}",
    ),
    *(
        "run pocket -t systolic-4 --inputs {}",
        "run pocket -t pocket-2x1 -n 2 --inputs {}",
        "run example-conv -t edge-1x1 --inputs {}",
    ),
    *("run example-conv -t edge-1x1 --inputs {} --out out", "run pocket -t pocket-2x1 -t edge-1x1 --inputs {}"),
)
OF_RUNS = (
    *(
        "report {}",
        "report {} -o out.html",
        "trace {} -o out.pftrace",
        "trace {} -o out.json.gz --chrome",
        "trace {} -o out.vcd",
        "compare {} whole",
    ),
    *("trace {} -o out.json --chrome", "compare whole {} --json", "compare {} {} -o out.html"),
)
OF_STORES = (
    *("sweep report {} -o out.html", "sweep --store {} --export csv", "sweep --store {} --export json --times"),
    *("sweep --store {} --json", "sweep --store {}", "sweep report {} -o out.html --where cycles<300"),
)
DRAWN = "report {} --png-dir out"


def _made(words: tuple[str, ...], name: str) -> frozenset[str]:
    """What a command may write."""
    named = {word for option, word in pairwise(words) if option in {"-o", "--out", "--png-dir"}}
    named |= {word.removesuffix(".tasm") + ".npz" for word in named if word.endswith(".tasm")}
    if words[0] == "report" and not {"-o", "--out"} & set(words):
        named.add(f"{name}/report.html")
    if words[0] == "compare" and not {"-o", "--json"} & set(words):
        named.add("compare.html")
    return frozenset(named)


def _command(rng: Random, templates: tuple[str, ...], name: str) -> tuple[str, ...]:
    return tuple(word.replace("{}", name) for word in rng.choice(templates).split())


def _named(rng: Random, suffix: str, usual: str) -> str:
    """The name of a file; some would steer a terminal."""
    if rng.random() < 0.96:
        return usual
    stem = f"f{rng.choice(nasty.CHARACTERS)}{rng.choice(nasty.WORDS)}".replace("/", "").replace("\0", "")
    return stem + suffix


def file_maker(kind: str, usual: str, damaged: Damaged, templates: tuple[str, ...]) -> Maker:
    """Of cases with one file to read."""

    def make(rng: Random, corpus: Corpus) -> Case:
        seeds = [content for files in corpus[kind] if (content := files[usual]) is not None]
        suffix = usual[usual.index(".") :]
        name = _named(rng, suffix, usual)
        content = damaged(rng, rng.choice(seeds), seeds)
        words = _command(rng, templates, name)
        return Case(kind, {name: content}, words, _made(words, name))

    return make


def _inputs(rng: Random, corpus: Corpus) -> Case:
    """Arrays for a network, mostly the one that gets them."""
    name = _named(rng, ".npz", "i.npz")
    words = _command(rng, OF_INPUTS, name)
    seeds = {network: content for network, content in corpus["npz"][0].items() if content is not None}
    network = words[1] if rng.random() < 0.9 else rng.choice(list(seeds))
    content = archives.damaged(rng, seeds[network], list(seeds.values()))
    return Case("npz", {name: content}, words, _made(words, name))


def _lite(rng: Random, data: bytes, others: list[bytes]) -> bytes:
    choice = rng.random()
    if choice < 0.015:
        return models.crowd(rng.choice((1000, 20_000, 60_000)))
    return flatbuffer.damaged(rng, data) if choice < 0.75 else bytewise(rng, data, others)


def _open(rng: Random, data: bytes, others: list[bytes]) -> bytes:
    return protobuf.damaged(rng, data) if rng.random() < 0.75 else bytewise(rng, data, others)


def _program_text(rng: Random, corpus: Corpus) -> Case:
    """A text with its arrays beside it, one of them damaged."""
    files = dict(rng.choice(corpus["tasm"]))
    arrays = [content for program in corpus["tasm"] if (content := program.get("p.npz"))]
    if files.get("p.npz") and rng.random() < 0.15:
        files["p.npz"] = archives.damaged(rng, files["p.npz"] or b"", arrays)
    else:
        texts = [content for program in corpus["tasm"] if (content := program["p.tasm"])]
        files["p.tasm"] = assembly.text_damaged(rng, files["p.tasm"] or b"", texts)
    words = _command(rng, OF_PROGRAMS, "p.tasm")
    return Case("tasm", files, words, _made(words, "p.tasm"))


def _run_folder(rng: Random, corpus: Corpus) -> Case:
    """A damaged run, and a whole one beside it."""
    seed = rng.randrange(len(corpus["run"]))
    damaged = folders.damaged(rng, corpus["run"][seed], list(corpus["run"]))
    name = _named(rng, "", "r")
    words = _command(rng, OF_RUNS if rng.random() < 0.98 else (DRAWN,), name)
    files: dict[str, bytes | None] = {name: None, **{f"{name}/{path}": content for path, content in damaged.items()}}
    if "whole" in words:
        files |= {f"whole/{path}": content for path, content in corpus["run"][seed].items()}
    return Case("run", files, words, _made(words, name))


KINDS: Mapping[str, Maker] = MappingProxyType(
    {
        "tflite": file_maker("tflite", "m.tflite", _lite, OF_MODELS),
        "onnx": file_maker("onnx", "m.onnx", _open, OF_MODELS),
        "workload": file_maker("workload", "m.yaml", documents.yaml_damaged, OF_MODELS),
        "topology": file_maker("topology", "t.yaml", documents.yaml_damaged, OF_TOPOLOGIES),
        "energy": file_maker("energy", "e.yaml", documents.yaml_damaged, OF_ENERGIES),
        "masters": file_maker("masters", "m.yaml", documents.yaml_damaged, OF_MASTERS),
        "tasm": _program_text,
        "tbin": file_maker("tbin", "p.tbin", assembly.binary_damaged, OF_PROGRAMS),
        "npz": _inputs,
        "run": _run_folder,
        "store": file_maker("store", "s.sqlite", bytewise, OF_STORES),
        "words": words_case,
    }
)
"""How an input of each kind is made. The numbers of a seed go round them."""


def case(seed: int, number: int, kinds: tuple[str, ...], corpus: Corpus) -> Case:
    """The input of this number: the same for the same seed and kinds, and for the same ``corpus``."""
    kind = kinds[number % len(kinds)]
    return KINDS[kind](Random(f"{seed}:{number}"), corpus)  # noqa: S311  (no secret is made of it)
