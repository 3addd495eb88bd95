"""The command line: a module a command, and here what they share: how they start, and how they fail."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from tilesim.cli.commands.batch import batch
from tilesim.cli.commands.cache import cache
from tilesim.cli.commands.check import check
from tilesim.cli.commands.compare import compare_runs
from tilesim.cli.commands.compile import compile_model
from tilesim.cli.commands.demo import demo
from tilesim.cli.commands.report import report
from tilesim.cli.commands.run import run
from tilesim.cli.commands.support import support
from tilesim.cli.commands.topologies import topologies
from tilesim.cli.commands.trace import trace
from tilesim.cli.commands.verify import verify
from tilesim.cli.commands.workloads import workloads
from tilesim.cli.output import guard, tell
from tilesim.cli.spelling import in_options
from tilesim.errors import InputError, TilesimError

MOST_SHOWN = 100
"""Faults that are told; of more, only how many there are."""
LONGEST_SHOWN = 2000
"""Characters of a fault; of a longer one, which holds somebody's endless name, both ends are told."""


class Commands(TyperGroup):
    """Runs a command; what goes wrong becomes sentences and an exit status, never a traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except InputError as error:
            raise _failed([*map(in_options, error.faults)], error.exit_status) from None
        except TilesimError as error:
            first, *others = str(error).split("\n")
            raise _failed([first], error.exit_status, others) from None
        except KeyboardInterrupt:
            raise typer.Exit(130) from None
        except BrokenPipeError:
            raise
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            raise _failed([f"{where}cannot be read or written: {error.strerror or error}"], 2) from None
        except MemoryError as error:
            what = str(error) or "smaller inputs, or fewer at once, may do"
            raise _failed([f"this computer has not enough memory: {what}"], 2) from None


app = typer.Typer(
    cls=Commands,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        tell(f"tilesim {_version()}")
        raise typer.Exit


@app.callback()
def options(
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Simulates tiled neural-network accelerators that run real int8 models bit for bit."""


app.command("run")(run)
app.command("compare")(compare_runs)
app.command("report")(report)
app.command("compile")(compile_model)
app.command("cache")(cache)
app.command("batch")(batch)
app.command("check")(check)
app.command("verify")(verify)
app.command("trace")(trace)
app.command("support")(support)
app.command("topologies")(topologies)
app.command("workloads")(workloads)
app.command("demo")(demo)


def main() -> None:
    """The program ``tilesim``; it ends with the exit status."""
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # so that `tilesim ... | head` ends as quietly as other programs
    guard()
    try:
        app(prog_name="tilesim")
    except OSError as error:  # of what no command prints: --help, --version, usage errors
        tell(f"error: what there is to say cannot be written: {error.strerror or error}", error=True)
        sys.exit(2)


def _version() -> str:
    try:
        return version("tilesim")
    except PackageNotFoundError:
        return "(run from its source, not installed)"


def _failed(faults: Sequence[str], exit_status: int, report: Iterable[str] = ()) -> typer.Exit:
    """Say what is wrong, and what else there is to say of it."""
    more = [f"error: and {len(faults) - MOST_SHOWN} more faults"] if len(faults) > MOST_SHOWN else []
    tell(*(f"error: {_cut(fault)}" for fault in faults[:MOST_SHOWN]), *more, *report, error=True)
    return typer.Exit(exit_status)


def _cut(fault: str) -> str:
    half = LONGEST_SHOWN // 2
    return fault if len(fault) <= LONGEST_SHOWN else f"{fault[:half]}...{fault[-half:]}"
