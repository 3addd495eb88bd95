"""Bring the pages of the guide up to date that say what the code says: keys, assumptions and publications.

What is made stands between ``<!-- made -->`` and ``<!-- /made -->``; what is around it is written by hand.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import MISSING
from functools import partial
from inspect import Parameter, isclass, isfunction, signature
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
import yaml
from pydantic import BaseModel

import tilesim
from tilesim import public
from tilesim.assembly.records import Field
from tilesim.assembly.values import Notation
from tilesim.machines.topology import Key, keys, spelt
from tilesim.registry import MACHINES, machine_named
from tilesim.report.tracks import kind_of
from tilesim.report.workload_keys import workload_keys
from tilesim.tiled.isa.model.sheet import SHEET, SheetRow

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "tilesim"
GUIDE = PACKAGE / "guide"
OURS = [name for name, place in MACHINES.items() if place.startswith("tilesim.")]
"""The machines that come with tilesim."""
PLACE = re.compile(r"(?<=<!-- made -->\n).*?(?=<!-- /made -->)", re.DOTALL)


def rewritten(page: str) -> str:
    """The text of the page ``page`` as it is today."""
    return PLACE.sub(lambda _: "\n".join(MADE[page]()) + "\n", (GUIDE / f"{page}.md").read_text(encoding="utf-8"))


def table(*rows: tuple[str, ...]) -> Iterator[str]:
    """A Markdown table; the first row is its heading."""
    heading, *body = rows
    for row in (heading, ("---",) * len(heading), *body):
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"


# ---- keys


def chip_keys() -> Iterator[str]:
    """Every key of a chip, as those have it that set nothing."""
    for machine in OURS:
        schema, example = machine_named(machine).schema, tilesim.load_topology(machine_named(machine).example)
        needed = set(_needed(schema))
        chip = schema.model_validate(_only(example, needed))
        rows = [(f"`{key.key}`", _default(key, needed), key.meaning) for key in keys(chip)]
        yield from ("", f"## machine: {machine}", "", *table(("key", "default", "meaning"), *rows))
    yield ""


def _needed(schema: type[BaseModel], section: str = "") -> Iterator[str]:
    """The keys without a default."""
    for name, field in schema.model_fields.items():
        if isclass(field.annotation) and issubclass(field.annotation, BaseModel):
            yield from _needed(field.annotation, f"{section}{name}.")
        elif field.is_required():
            yield f"{section}{name}"


def _only(section: BaseModel, needed: Set[str], path: str = "") -> dict[str, object]:
    """The ``needed`` keys of a chip, as a file has them; sections with none of them may be empty."""
    values = {name: getattr(section, name) for name in type(section).model_fields}
    return {
        name: _only(value, needed, f"{path}{name}.") if isinstance(value, BaseModel) else value
        for name, value in values.items()
        if isinstance(value, BaseModel) or f"{path}{name}" in needed
    }


def _default(key: Key, needed: Set[str]) -> str:
    return "must be given" if key.key in needed else f"`{spelt(key)}`" if spelt(key) else ""


def network_keys() -> Iterator[str]:
    """Every key of a network in YAML."""
    for section in workload_keys():
        yield from ("", f"## {section.title[0].upper()}{section.title[1:]}", "")
        if section.meaning:
            yield from (section.meaning, "")
        if section.keys:
            rows = [(f"`{key.key}`", key.value, key.default, key.meaning) for key in section.keys]
            yield from table(("key", "must be", "default", "meaning"), *rows)
            yield ""


# ---- programs


def instruction_keys() -> Iterator[str]:
    """Every instruction of each machine with its keys, as the text form has them."""
    for machine in OURS:
        forms = machine_named(machine).assembly.mnemonics
        rows = [(f"`{name}`", *_keys(form.fields.values()), _does(form.kind)) for name, form in forms.items()]
        yield from ("", f"## machine: {machine}", "")
        yield from table(("instruction", "must have", "may have, with its default", "does"), *rows)
    yield ""


def sheet() -> Iterator[str]:
    """What the instruction sheet of the tiled machine says of each instruction."""
    rows = [
        (
            f"`{name}`",
            str(row.words or ""),
            ", ".join(f"`{engine}`" for engine in row.raises) or f"the {row.goes}",
            *_moves(row),
        )
        for name, row in SHEET.items()
    ]
    yield from ("", *table(("instruction", "words", "carried out by", "reads", "writes"), *rows), "")


def _moves(row: SheetRow) -> Iterator[str]:
    for writes in (False, True):
        operands = (operand for operand in row.operands if operand.writes == writes)
        yield "; ".join(f"`{operand.field}`: {operand.memory} memory, rank {operand.rank}" for operand in operands)


def _keys(fields: Iterable[Field[Notation]]) -> tuple[str, str]:
    """The keys without a default, and those with one; what every instruction has is left out."""
    own = [field for field in fields if field.name not in {"layer", "label", "wait", "produce"}]
    needed = (f"`{field.name}`" for field in own if field.default is MISSING)
    spelt = (f"`{field.name}{_spelt(field)}`" for field in own if field.default is not MISSING)
    return " ".join(needed), " ".join(spelt)


def _spelt(field: Field[Notation]) -> str:
    return f"={field.codec.write(field.default)}" if field.default not in (None, (), "") else ""


def _does(kind: Callable[..., object]) -> str:
    return remark_of("", "", kind.__doc__ or "").title


# ---- Python


def python_names() -> Iterator[str]:
    """What ``import tilesim`` gives: calls, then classes."""
    named = {name: getattr(public, name) for name in public.__all__}
    calls = [(f"`{name}({_parameters(call)})`", _does(call)) for name, call in named.items() if isfunction(call)]
    classes = [(f"`{name}`", _does(kind)) for name, kind in named.items() if isclass(kind)]
    yield from ("", *table(("call", "does"), *calls), "", *table(("class", "is"), *classes), "")


def _parameters(call: Callable[..., object]) -> str:
    return ", ".join(
        name if parameter.default is Parameter.empty else f"{name}="
        for name, parameter in signature(call).parameters.items()
    )


# ---- run.json

WORDS = {"int": "integer", "float": "number", "str": "text", "bool": "true or false", "Any": "anything", "None": "null"}


FIRST: Mapping[str, str] = {
    "run-json": "RunStatistics",
    "energy-json": "EnergyStatistics",
    "findings-json": "Finding",
}
"""The pages of run.json, and what each begins with."""


def run_keys(page: str) -> Iterator[str]:
    """The keys of run.json that stand on a ``page``: what is below the keys of its types, those of the first before all
    others.
    """
    sources = [(PACKAGE / name).read_text(encoding="utf-8") for name in ("statistics.py", "findings.py")]
    statistics, findings = ([*ast.parse(source).body] for source in sources)
    body = [*statistics, *findings]
    types = {node.name: node for node in body if isinstance(node, ast.ClassDef)}
    pages = {
        name: "findings-json" if node in findings else "energy-json" if "Energy" in name else "run-json"
        for name, node in types.items()
    }
    places = {name: "" if its == page else f"{its}.md" for name, its in pages.items()}
    known = {**WORDS, **{name: f"[{name}]({place}#{name.lower()})" for name, place in places.items()}}
    for node in body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:  # an alias of a type
            known[node.target.id] = _holds(node.value, known)
    first = FIRST[page]
    for name in (first, *(name for name in types if name != first and pages[name] == page)):
        yield from ("", f"## {name}", "", plain(ast.get_docstring(types[name]) or "") + _more(types[name], known), "")
        meanings = {attribute: plain(text) for attribute, text in strings_below(types[name])}
        fields = [node for node in types[name].body if isinstance(node, ast.AnnAssign)]
        rows = [(ast.unparse(node.target), _holds(node.annotation, known)) for node in fields]
        yield from table(("key", "holds", "meaning"), *((f"`{key}`", holds, meanings[key]) for key, holds in rows))
    yield ""


def _more(node: ast.ClassDef, known: Mapping[str, str]) -> str:
    base = ast.unparse(node.bases[0])
    return f" It has the keys of {known[base]}, too." if base in known else ""


def _holds(node: ast.expr, known: Mapping[str, str]) -> str:
    """A type in words."""
    if isinstance(node, ast.BinOp):
        return f"{_holds(node.left, known)} or {_holds(node.right, known)}"
    if not isinstance(node, ast.Subscript):
        return known.get(ast.unparse(node), ast.unparse(node))
    inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    words = {
        "Required": _holds(inner[0], known),
        "NotRequired": f"{_holds(inner[0], known)}; may be missing",
        "Annotated": _holds(inner[0], known),
        "Literal": " or ".join(ast.unparse(choice) for choice in inner),
        "list": f"list of {_holds(inner[0], known)}",
        "dict": f"object of {_holds(inner[-1], known)}",
    }
    return words[ast.unparse(node.value)]


# ---- assumptions


END = re.compile(r"(?<=[\w\])`]{2})\.(?=\s+[A-Z`]|\s*$)|\.(?=\s+Source:)")
"""Where a sentence ends, and not an abbreviation."""
SOURCE = re.compile(r"\**Source\**:\s+")


class Remark(NamedTuple):
    """A docstring of the package, or a string below an attribute, as one line of Markdown."""

    module: str
    """In dots, without ``tilesim``."""
    name: str
    """Of what it is about, within the module; "" for the module."""
    title: str
    """Its first sentence."""
    text: str

    @property
    def place(self) -> str:
        return f"`{self.module}{f'.{self.name}' if self.name else ''}`"

    @property
    def sentences(self) -> list[str]:
        return [sentence.strip() for sentence in END.split(self.text) if sentence.strip()]

    @property
    def basis(self) -> list[str]:
        """The clauses of its sentences that begin with "Source:"."""
        return [
            clause
            for sentence in self.sentences
            if SOURCE.match(sentence)
            for clause in re.split(r";\s+", SOURCE.sub("", sentence))
        ]


def remark_of(module: str, name: str, docstring: str) -> Remark:
    first = END.split(plain(docstring.partition("\n\n")[0]))[0]
    return Remark(module, name, first, plain(docstring))


def plain(docstring: str) -> str:
    """A docstring as Markdown: one line, without roles."""
    names = re.sub(r":\w+:`~?(?:[\w.]*\.)?(\w+)`", r"`\1`", docstring).replace("``", "`")
    return " ".join(re.sub(r"\*\*(\w+)\*\*:", r"\1:", names).split())


def remarks() -> Iterator[Remark]:
    """Every docstring of the package, and every string below an attribute."""
    for path in sorted(PACKAGE.rglob("*.py")):
        words = path.relative_to(PACKAGE).with_suffix("").parts
        module = ".".join(words[:-1] if words[-1] == "__init__" else words)
        yield from _within(ast.parse(path.read_text(encoding="utf-8")), module, "")


Scope: TypeAlias = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def _within(node: Scope, module: str, name: str) -> Iterator[Remark]:
    if text := ast.get_docstring(node):
        yield remark_of(module, name, text)
    for attribute, text in strings_below(node):
        yield remark_of(module, f"{name}.{attribute}".lstrip("."), text)
    for statement in node.body:
        if isinstance(statement, Scope):
            yield from _within(statement, module, f"{name}.{statement.name}".lstrip("."))


def strings_below(node: Scope) -> Iterator[tuple[str, str]]:
    """Each attribute of a class or module that a string stands below, with the string."""
    for statement, below in pairwise(node.body):
        if isinstance(statement, ast.Assign | ast.AnnAssign) and isinstance(below, ast.Expr):
            target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
            if isinstance(target, ast.Name) and isinstance(below.value, ast.Constant):
                yield target.id, str(below.value.value)


TABLES = {"energy.json": "What it costs", "explore/bench/area.yaml": "What it takes of a chip's area"}
ASSUMED = re.compile(r"\bassum(?:ed|ption|ptions)\b", re.IGNORECASE)


def assumptions() -> Iterator[str]:
    """What is assumed, and where that is coded."""
    rows = [
        (remark.place, remark.title, "all of it" if clause == remark.title else clause)
        for remark in remarks()
        for clause in _assumed(remark)
    ]
    rows += [
        (f"`{Path(file).name}: {name}`", words, source)
        for file, words in TABLES.items()
        for name, source in _entries(file)
        if ASSUMED.search(source)
    ]
    yield from ("", *table(("where", "what it is", "assumed"), *rows), "")


def publications() -> Iterator[str]:
    """What publications are used for, and where."""
    rows = [(remark.place, "; ".join(c for c in remark.basis if not ASSUMED.search(c))) for remark in remarks()]
    yield from ("", *table(("where", "source"), *(row for row in rows if row[1])), "")


def _assumed(remark: Remark) -> Iterator[str]:
    """What a docstring says is assumed."""
    yield from (_stated(clause, "") for clause in remark.basis if ASSUMED.search(clause))
    before = ""
    for sentence in remark.sentences:
        if ASSUMED.search(sentence) and not SOURCE.match(sentence):
            yield _stated(sentence, before)
        before = sentence


def _stated(clause: str, before: str) -> str:
    """What is assumed, without the words that say so; a bare "assumption" is about the sentence before, or all."""
    shorter = re.sub(r"^Assumption, as is ", f"{before}; and ", clause)
    shorter = re.sub(r"^[Aa]ssumption(?: for|:) ", "", shorter)
    shorter = re.sub(r",? (?:is an assumption|are assumptions)$", "", shorter)
    return (before or "all of it") if shorter.lower() == "assumption" else shorter


def _entries(file: str) -> Iterator[tuple[str, str]]:
    entries: Mapping[str, Mapping[str, str]] = yaml.safe_load((PACKAGE / file).read_text(encoding="utf-8"))
    for name, entry in entries.items():
        yield name, entry["source"]


# ---- a run


def cycles() -> Iterator[str]:
    """The trace of the smallest run, a span a line, in the order of time."""
    program = tilesim.compile(tilesim.load_network("pocket"), tilesim.load_topology("pocket-2x1"))
    trace = tilesim.simulate(program, trace=True).trace
    assert trace is not None
    units = [name.removeprefix("chip.") for name in trace.tracks]
    form = "{:>5} {:>6}  {:24} {:22} {:26} {:>5}  {}"
    yield from ("", "```text", form.format("cycle", "cycles", "unit", "does", "instruction", "bytes", "goes on by"))
    for k in np.lexsort((trace.track, trace.start_cycle)):
        if trace.start_cycle[k] >= trace.start:
            kind, by = trace.kinds[trace.kind[k]], trace.released_by[k]
            yield form.format(
                trace.start_cycle[k] - trace.start,
                trace.cycles[k],
                units[trace.track[k]],
                kind_of(kind).words,
                trace.whats[trace.what[k]],
                trace.bytes[k] or "",
                units[trace.track[by]] if by >= 0 else "",
            ).rstrip()
    yield from ("```", "")


MADE: Mapping[str, Callable[[], Iterator[str]]] = {
    "chip-keys": chip_keys,
    "network-yaml": network_keys,
    "instructions": instruction_keys,
    "sheet": sheet,
    "python": python_names,
    **{page: partial(run_keys, page) for page in FIRST},
    "assumptions": assumptions,
    "publications": publications,
    "cycles": cycles,
}


def main() -> None:
    """Rewrite the pages."""
    for page in MADE:
        (GUIDE / f"{page}.md").write_text(rewritten(page), encoding="utf-8")


if __name__ == "__main__":
    main()
