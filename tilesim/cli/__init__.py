"""The command line: how it starts, and how it fails. A command is a module of `commands`, loaded when it is called.

Whatever is in here may raise InputError; it ends the command with a sentence for each fault.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from tilesim.cli.faults import in_options
from tilesim.cli.options.groups import REPEATED, flattened, repeated
from tilesim.cli.output import guard, tell
from tilesim.errors import InputError, TilesimError

if TYPE_CHECKING:
    from typer._click import Command, Context, HelpFormatter

MOST_SHOWN = 100
"""Faults that are told; of more, only how many there are."""
LONGEST_SHOWN = 2000
"""Characters of a fault; of a longer one, which holds somebody's endless name, both ends are told."""

COMMANDS = {
    "run": "Run models or a program on a chip.",
    "compare": "Compare saved runs of one network.",
    "report": "Make one HTML page of a saved run.",
    "compile": "Compile a model into a program for a chip.",
    "cache": "Plan where parameters live on a chip.",
    "batch": "Plan batches of inferences for a chip with a weight memory.",
    "check": "Prove that programs keep to the chip's rules.",
    "masters": "Try bare transfers of several masters on the ring.",
    "masters suite": "List transfers with known verdicts, or write them.",
    "verify": "Run one inference on two models of a chip and compare them.",
    "watch": "Show what the units of a small chip are at, a line a cycle.",
    "trace": "Write the trace of a run for a viewer.",
    "support": "Say what stands between models and a run, and what helps.",
    "sweep": "Run models on chips with every combination of what varies.",
    "sweep report": "Make one HTML page of a sweep's store.",
    "sensitivity": "Say what each key of a chip is worth to a model.",
    "calibrate": "Compare a chip with what is published of it.",
    "topologies": "List the chips that come with tilesim, or every key of one.",
    "workloads": "List the networks that come with tilesim, or every YAML key.",
    "demo": "Let a small network read handwritten digits.",
    "guide": "Show a page of the guide, or the list of its pages.",
}
"""What each does: the first sentence of its help, known without its module."""

WrongWords = cast("type[typer.BadParameter]", typer.BadParameter.__base__)
"""What the option parser raises, which Typer has no public name for."""


class Commands(TyperGroup):
    """Loads a command and runs it; what goes wrong becomes sentences and an exit status, never a traceback."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = {name: TyperCommand(name, help=summary) for name, summary in COMMANDS.items()}

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        with _failing() if args else nullcontext():  # no words at all are answered with the help
            return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Context, args: list[str]) -> tuple[str | None, Command | None, list[str]]:
        both = " ".join(args[:2])
        name, command, others = super().resolve_command(ctx, [both, *args[2:]] if both in COMMANDS else args)
        return name, command and loaded(command.name or ""), others

    def invoke(self, ctx: Context) -> None:
        with _failing():
            super().invoke(ctx)


class OneCommand(TyperCommand):
    """Notes which options are given more often than they may be; its help names no types of Python."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        words, _, order = self.make_parser(ctx).parse_args([*args])
        for option in [option for option in self.params if option in order and not getattr(option, "is_flag", True)]:
            given = words[option.name] if option.multiple else [""] * order.count(option)
            ctx.meta.setdefault(REPEATED, []).extend(repeated(max(option.opts, key=len), given))
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Context, formatter: HelpFormatter) -> None:
        for kind in ("argument", "option"):
            of_kind = [parameter for parameter in self.get_params(ctx) if parameter.param_type_name == kind]
            records = [record for parameter in of_kind if (record := parameter.get_help_record(ctx))]
            if records:
                with formatter.section(f"{kind.title()}s"):
                    formatter.write_dl([(names.partition(" <")[0], meaning) for names, meaning in records])


def loaded(name: str) -> Command:
    """The command of this name, from the function ``command`` of its module."""
    one = typer.Typer(add_completion=False, rich_markup_mode=None, context_settings=HELP)
    one.command(name, cls=OneCommand)(
        flattened(import_module(f"tilesim.cli.commands.{name.replace(' ', '_')}").command)
    )
    return get_command(one)


HELP = {"help_option_names": ["-h", "--help"]}

app = typer.Typer(
    cls=Commands,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings=HELP,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from tilesim.registry import engines

        tell(f"tilesim {_version()}")
        for line in engines():
            tell(line)
        raise typer.Exit


@app.callback()
def options(
    _version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_show_version,
            is_eager=True,
            help="Print the version and which engines are there, and exit.",
        ),
    ] = False,
) -> None:
    """Simulates tiled neural-network accelerators that run real int8 models bit for bit."""


def main() -> None:
    """The program ``tilesim``; it ends with the exit status."""
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # so that `tilesim ... | head` ends as quietly as other programs
    guard()
    try:
        app(prog_name="tilesim")
    except OSError as error:  # of what no command prints: --help, --version
        sys.exit(_told([f"what there is to say cannot be written: {error.strerror or error}"], 2))


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("tilesim")
    except PackageNotFoundError:
        return "(run from its source, not installed)"


@contextmanager
def _failing() -> Iterator[None]:
    """Have all that goes wrong in here told, and end with its exit status."""
    try:
        yield
    except WrongWords as error:
        raise typer.Exit(_told([_of_words(error)], 2)) from None
    except InputError as error:
        raise typer.Exit(_told([*map(in_options, error.faults)], error.exit_status)) from None
    except TilesimError as error:
        first, *report = str(error).split("\n")
        raise typer.Exit(_told([first], error.exit_status, report)) from None
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
    except BrokenPipeError:
        raise
    except OSError as error:
        nameless = "the folder of the call" if isinstance(error, FileNotFoundError) else "what there is to say"
        where = f"{error.filename}:" if error.filename else nameless
        raise typer.Exit(_told([f"{where} cannot be read or written: {error.strerror or error}"], 2)) from None
    except MemoryError as error:
        what = str(error) or "smaller inputs, or fewer at once, may do"
        raise typer.Exit(_told([f"this computer has not enough memory: {what}"], 2)) from None


def _of_words(error: typer.BadParameter) -> str:
    """What is wrong with the words of a command line."""
    what = error.format_message().rstrip(".")
    return f"{what[:1].lower()}{what[1:]}{f' (see `{error.ctx.command_path} --help`)' if error.ctx else ''}"


def _told(faults: Sequence[str], exit_status: int, report: Iterable[str] = ()) -> int:
    """The exit status, once it is told what is wrong, and what else there is to say of it."""
    more = [f"error: and {len(faults) - MOST_SHOWN} more faults"] if len(faults) > MOST_SHOWN else []
    tell(*(f"error: {_cut(fault)}" for fault in faults[:MOST_SHOWN]), *more, *report, error=True)
    return exit_status


def _cut(fault: str) -> str:
    half = LONGEST_SHOWN // 2
    return fault if len(fault) <= LONGEST_SHOWN else f"{fault[:half]}...{fault[-half:]}"
