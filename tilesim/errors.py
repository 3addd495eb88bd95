"""Everything tilesim raises on purpose, one tree::

    TilesimError
    ├── InputError      what the user gave is wrong; exit status 2; one sentence a fault
    │   ├── ConfigError     a YAML file or an override
    │   ├── ModelError      a .tflite or .onnx file
    │   ├── ProgramError    a .tasm or .tbin file, or an instruction that no hardware could run
    │   ├── ArrayError      the inputs' names, shapes or dtypes
    │   └── CapacityError   the network does not fit the chip
    │       └── MapsError       its maps don't, as they would have to lie in memory
    └── RunError        the run cannot go on; exit status 3; who waits for what, and why
        ├── HangError
        ├── CollisionError   two transfers broke the rule for masters
        └── AccessError     an address outside its memory, found while running

Each knows the exit status of a command that it ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tilesim.printable import printable

if TYPE_CHECKING:
    from tilesim.findings import Finding


class TilesimError(Exception):
    """Anything that tilesim reports in words instead of a traceback."""

    exit_status = 1


class InputError(TilesimError):
    """Faulty input; ``faults`` holds every fault found, one sentence each, printable whatever it quotes."""

    exit_status = 2

    def __init__(self, faults: str | Iterable[str]) -> None:
        self.faults = tuple(map(printable, [faults] if isinstance(faults, str) else faults))
        super().__init__("\n".join(self.faults))


class ConfigError(InputError):
    """A fault in a YAML file or an override."""


class ModelError(InputError):
    """A fault in a model file."""


class ProgramError(InputError):
    """A fault in a program."""


class ArrayError(InputError):
    """Inputs that do not match what the program asks for."""


class CapacityError(InputError):
    """A network that does not fit the chip."""


class MapsError(CapacityError):
    """A network whose maps don't fit the chip's memory for them."""


def refuse(faults: Iterable[str], kind: type[InputError] = InputError) -> None:
    """Raise an error of the ``kind`` with the faults, each once, if there are any."""
    if distinct := dict.fromkeys(faults):
        raise kind(distinct)


@contextmanager
def kept(faults: list[str]) -> Iterator[None]:
    """Keep the faults of what is wrong in here, which ends there."""
    try:
        yield
    except InputError as error:
        faults += error.faults


class RunError(TilesimError):
    """A run that cannot go on: a sentence, or the lines of a report, printable whatever they quote.

    ``findings`` are what was noticed before, as ``run.json`` would hold it.
    """

    exit_status = 3

    def __init__(self, message: str | Iterable[str], findings: Iterable[Finding] = ()) -> None:
        self.findings = list(findings)
        self._run: Any = None
        self._make_run: Callable[[], Any] | None = None
        super().__init__("\n".join(map(printable, [message] if isinstance(message, str) else message)))

    @property
    def run(self) -> Any:
        """The :class:`tilesim.Run` up to where it stood, without outputs; None where there was none, and in another
        process.
        """
        if self._make_run is not None:
            make, self._make_run = self._make_run, None
            self._run = make()
        return self._run

    def makes(self, run: Callable[[], Any]) -> None:
        """Have ``run`` make the run when somebody asks for it: most of those who catch the error don't."""
        self._make_run = run

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self).splitlines(),), {**self.__dict__, "_run": None, "_make_run": None}


class HangError(RunError):
    """Nothing can happen any more and the program is not finished: ``section`` is which one, ``load`` or ``run``."""

    def __init__(self, message: str | Iterable[str], findings: Iterable[Finding] = (), section: str = "run") -> None:
        self.section = section
        super().__init__(message, findings)


class CollisionError(RunError):
    """Two transfers met on the ring, which the rules forbid."""


class AccessError(RunError):
    """A unit addressed bytes that its memory does not have."""
