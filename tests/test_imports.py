"""Imports go one way: the house that README and CONTRIBUTING describe, held by reading every import statement."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "tilesim"

# Lowest first. A module may import its own group and those before it.
ORDER = (
    {
        "errors",
        "units",
        "budgets",
        "files",
        "saving",
        "printable",
        "findings",
        "cache_document",
        "arithmetic",
        "shipped",
        "ragged",
        "compiled",
    },
    {"config", "sim", "statistics", "assembly"},
    {"network", "run", "energy"},
    {"batching", "lowering"},
    {"machines"},
    {"tiled", "systolic", "rotating"},
    {"registry", "api"},
    {"explore"},
    {"report"},
    {"public", "tilesim"},  # `tilesim` itself only re-exports
    {"cli", "__main__"},
)
MACHINES = ORDER[5]

# What a part never imports: (importer, imported).
NEVER = (
    ("tilesim.units", "tilesim"),
    ("tilesim.assembly", "tilesim.config"),
    ("tilesim.assembly", "tilesim.sim"),
    ("tilesim.network", "simpy"),
    ("tilesim.network", "tilesim.sim"),
    ("tilesim.tiled.units", "tilesim.tiled.compiler"),
    ("tilesim.tiled.units", "tilesim.network"),
    ("tilesim.tiled.units", "tilesim.tiled.stepped"),
    ("tilesim.tiled.rules", "tilesim.tiled.units"),
    ("tilesim.tiled.rules", "tilesim.tiled.run"),
    ("tilesim.tiled.rules.tile", "tilesim.tiled.rules.untimed"),
    ("tilesim.tiled.rules.tile", "tilesim.tiled.rules.ring"),
    ("tilesim.tiled.rules.untimed", "tilesim.tiled.rules.ring"),
    ("tilesim.tiled.compiler", "tilesim.tiled.units"),
    ("tilesim.systolic.datapath", "tilesim.network"),
    ("tilesim.systolic.datapath", "simpy"),
    ("tilesim.systolic.units", "tilesim.systolic.compiler.compile"),
    ("tilesim.systolic.units", "tilesim.systolic.compiler"),
    ("tilesim.systolic.units", "tilesim.network"),
    ("tilesim.rotating.datapath", "simpy"),
    ("tilesim.rotating.datapath", "tilesim.network"),
    ("tilesim.rotating.units", "tilesim.rotating.compiler"),
    ("tilesim.rotating.units", "tilesim.rotating.stepped"),
    ("tilesim.rotating.units", "tilesim.network"),
    ("tilesim.rotating.compiler", "tilesim.rotating.units"),
    ("tilesim.rotating.stepped", "simpy"),
    ("tilesim.tiled.stepped", "simpy"),
    ("tilesim.tiled.caching", "simpy"),
    ("tilesim.tiled.caching", "numpy"),
    *((f"tilesim.{a}", f"tilesim.{b}") for a in MACHINES for b in MACHINES if a != b),
    *(
        (part, f"tilesim.{machine}")
        for part in ("tilesim.api", "tilesim.report", "tilesim.cli")
        for machine in MACHINES
    ),
)

# The only parts of tilesim that a part may import.
ONLY = {
    "tilesim.rotating.stepped": (
        "tilesim.rotating.stepped",
        "tilesim.rotating.isa",
        "tilesim.rotating.topology",
        "tilesim.rotating.layout",
        "tilesim.rotating.host",
        "tilesim.machines.host",
        "tilesim.machines.machine",
        "tilesim.machines.verify",
        "tilesim.arithmetic",
        "tilesim.errors",
    ),
    "tilesim.tiled.stepped": (
        "tilesim.tiled.stepped",
        "tilesim.tiled.isa",
        "tilesim.tiled.topology",
        "tilesim.machines.holds",
        "tilesim.machines.host_steps",
        "tilesim.arithmetic",
        "tilesim.errors",
    ),
    "tilesim.tiled.caching": ("tilesim.tiled.caching", "tilesim.units"),
}

# Packages that one module alone may import.
OWNERS = {"yaml": "tilesim.config.reading"}


def within(module: str, part: str) -> bool:
    return module == part or module.startswith(f"{part}.")


def rank(module: str) -> int:
    words = module.split(".")
    top = words[1] if len(words) > 1 else words[0]
    return next(place for place, group in enumerate(ORDER) if top in group)


def imports(source: str, package: str) -> Iterator[str]:
    """The dotted names that a source text imports, relative ones resolved against its package."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) + 1 - node.level] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from (f"{base}.{name.name}" for name in node.names)


def faults(module: str, imported: str) -> list[str]:
    found = [f"{a} never imports {b}" for a, b in NEVER if within(module, a) and within(imported, b)]
    found += [
        f"only {owner} imports {name}" for name, owner in OWNERS.items() if within(imported, name) and module != owner
    ]
    if not within(imported, "tilesim"):
        return found
    if rank(imported) > rank(module):
        found.append(f"{module} is below {imported}")
    for part, allowed in ONLY.items():
        if within(module, part) and not any(within(imported, each) for each in allowed):
            found.append(f"{part} imports only {', '.join(allowed)}")
    return found


def known(imported: str) -> str:
    """``tilesim.load_network`` is a name in `tilesim` itself; ``tilesim.errors`` is a module."""
    words = imported.split(".")
    return imported if words[0] != "tilesim" or len(words) < 2 or any(words[1] in g for g in ORDER) else "tilesim"


def modules() -> Iterator[tuple[str, str, str]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        words = ["tilesim", *path.relative_to(PACKAGE).with_suffix("").parts]
        package = ".".join(words[:-1])
        yield package if words[-1] == "__init__" else ".".join(words), package, path.read_text(encoding="utf-8")


def test_imports_go_one_way() -> None:
    found = [
        f"{module}: {fault} ({imported})"
        for module, package, source in modules()
        for imported in map(known, imports(source, package))
        for fault in faults(module, imported)
    ]
    assert found == []


def arrow(module: str, imported: str) -> tuple[str, str]:
    """Where their ways part: the folders or modules, side by side, that they are in."""
    one, other = module.split("."), imported.split(".")
    depth = next((k for k, (a, b) in enumerate(zip(one, other, strict=False), 1) if a != b), 0)
    return ".".join(one[:depth]), ".".join(other[:depth])


def test_an_arrow_goes_from_one_part_of_a_folder_to_another() -> None:
    assert arrow("tilesim.sim.core.unit", "tilesim.sim.pipe.costs.Costs") == ("tilesim.sim.core", "tilesim.sim.pipe")
    assert arrow("tilesim.sim.core", "tilesim.sim.core.unit.Unit") == ("", "")


def test_no_two_parts_of_a_folder_import_each_other() -> None:
    arrows = {arrow(module, imported) for module, package, text in modules() for imported in imports(text, package)}
    assert not {(a, b) for a, b in arrows if a < b and (b, a) in arrows}


@pytest.mark.parametrize(
    "module", ["tilesim.registry", "tilesim.api", "tilesim.systolic.run.statistics", "tilesim.machines.machine"]
)
def test_any_module_can_be_the_first(module: str) -> None:
    done = subprocess.run([sys.executable, "-c", f"import {module}"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_modules_are_found_in_the_package_before_any_other_is() -> None:
    words = "import tilesim; tilesim.errors.InputError; assert getattr(tilesim, 'a.b', None) is None"
    done = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_module_has_its_place() -> None:
    assert {module.split(".")[1] for module, _, _ in modules() if "." in module} <= set().union(*ORDER)


@pytest.mark.parametrize(
    ("module", "source", "fault"),
    [
        ("tilesim.network.readers.yaml", "import yaml", "only tilesim.config.reading imports yaml"),
        ("tilesim.network.graph", "def f():\n    from simpy.core import Event", "never imports simpy"),
        ("tilesim.network.graph", "from tilesim import sim", "never imports tilesim.sim"),
        (
            "tilesim.tiled.units.ring.ring",
            "from tilesim.tiled.compiler import plan",
            "never imports tilesim.tiled.compiler",
        ),
        ("tilesim.tiled.units.ring.ring", "from ...compiler.plan import x", "never imports tilesim.tiled.compiler"),
        ("tilesim.tiled.units.ring.ring", "if TYPE_CHECKING:\n    import tilesim.network.graph", "never imports"),
        ("tilesim.tiled.stepped.ring", "from ..units import ring", "imports only"),
        ("tilesim.tiled.stepped.ring", "from tilesim.sim import clock", "imports only"),
        ("tilesim.tiled.stepped.ring", "import simpy", "never imports simpy"),
        (
            "tilesim.tiled.units.ring.ring",
            "from tilesim.tiled.stepped import ring",
            "never imports tilesim.tiled.stepped",
        ),
        ("tilesim.tiled.rules.ring.arrivals", "from tilesim.tiled.units.ring import ring", "never imports"),
        ("tilesim.tiled.rules.tile.effects", "from ..untimed.work_queues import Count", "never imports"),
        ("tilesim.tiled.rules.untimed.execution", "from ..ring import masters", "never imports"),
        ("tilesim.tiled.compiler.halo", "from ..units.tensor import ttu", "never imports tilesim.tiled.units"),
        ("tilesim.tiled.caching", "from tilesim.tiled.compiler import parameters", "imports only"),
        ("tilesim.systolic.array", "from tilesim.tiled.isa import Word", "never imports tilesim.tiled"),
        ("tilesim.units", "from tilesim.errors import InputError", "never imports tilesim"),
        ("tilesim.config", "from tilesim.tiled.topology import Topology", "is below"),
        ("tilesim.sim.core.unit", "from tilesim import load_network", "is below"),
        ("tilesim.report.html", "from tilesim import cli", "is below"),
        ("tilesim.report.page.timeline", "from tilesim.tiled import bounds", "never imports tilesim.tiled"),
    ],
)
def test_a_wrong_import_is_found(module: str, source: str, fault: str) -> None:
    package = module.rpartition(".")[0]
    assert any(fault in found for name in imports(source, package) for found in faults(module, known(name)))


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("tilesim.config.reading", "import yaml"),
        ("tilesim.tiled.units.ring.ring", "from ..isa import words\nfrom . import mesh\nimport simpy, numpy"),
        ("tilesim.tiled.stepped.ring", "from ..isa import words\nfrom tilesim.tiled.topology import Topology"),
        ("tilesim.cli.commands.run", "import tilesim\nfrom tilesim import load_network, errors"),
        ("tilesim.network.readers.tflite", "import yamlish"),
    ],
)
def test_a_right_import_is_not(module: str, source: str) -> None:
    package = module.rpartition(".")[0]
    assert [found for name in imports(source, package) for found in faults(module, known(name))] == []
