"""What the house asks of a machine: what each must answer, and what some can besides."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeAlias, TypeVar

from numpy.typing import NDArray

from tilesim.batching import Plan, Room, graph_of, is_of
from tilesim.batching.document import WeightSupply
from tilesim.cache_document import CacheDocument
from tilesim.machines.description import Description
from tilesim.machines.instructions import Explanation
from tilesim.machines.motion import Motion
from tilesim.machines.options import CompileOptions, RunOptions, Say
from tilesim.machines.program import Program
from tilesim.machines.topology import Topology
from tilesim.network.graph import Network
from tilesim.run import Run
from tilesim.sim.trace.trace import Trace
from tilesim.units import format_hertz

if TYPE_CHECKING:
    from tilesim.assembly.files import Assembly
    from tilesim.machines.trial import Suite, Trial

T = TypeVar("T", bound=Topology)
P = TypeVar("P", bound=Program)
Array: TypeAlias = NDArray[Any]
Document: TypeAlias = dict[str, Any]
"""Plain values, as JSON holds them."""
Span: TypeAlias = tuple[str, int, int, str, str]
"""A track, its first cycle, how many, what kind of time it is, and the instruction."""
Spans: TypeAlias = Sequence[Span]


class Machine(ABC, Generic[T, P]):
    """A machine: the schema of its topologies, and the two verbs. It has no state.

    What only some machines can is in the classes below; one that can inherits from these.
    """

    name: ClassVar[str]
    """What the ``machine:`` key of its topologies says."""
    example: ClassVar[str] = ""
    """A chip that comes with tilesim, if one does."""
    refuses: ClassVar[Mapping[str, str]] = {}
    """Fields of the options that mean nothing to it, each with the reason; ``networks``: it runs one at a time."""
    run_time_keys: ClassVar[frozenset[str]] = frozenset()
    """Keys of its topologies, dotted, on which no program depends, nor what a program knows of itself ``once``; one
    that was chosen by what runs take, or by how fast weights come, may depend on all.
    """
    has_compiled_engine: ClassVar[bool] = False
    """Whether programs can be run by another engine than SimPy."""
    schema: type[T]
    """What its topologies are."""

    @property
    @abstractmethod
    def assembly(self) -> Assembly[P]:
        """How its programs are written, read, saved and loaded."""

    @abstractmethod
    def compile(self, networks: Sequence[Network], topology: T, options: CompileOptions) -> Sequence[P]:
        """Programs for networks that share a chip.

        Raises:
            CapacityError: a network does not fit, or has layers that this machine can't run.
        """

    @abstractmethod
    def simulate(self, program: P, inputs: Sequence[Array], options: RunOptions) -> Run:
        """Load the parameters, then run the program, carrying all samples of ``inputs`` at once.

        Raises:
            InputError: a program that the chip could not run, inputs that do not fit, options that make no sense.
            RunError: the run can't go on.
        """

    @abstractmethod
    def faults(self, program: P) -> Sequence[str]:
        """What keeps a program from running on its chip, whatever its inputs."""

    def engines(self) -> Mapping[str, str]:
        """How each engine stands that can run programs beside the one that defines what a run is, by name."""
        return {}

    def summary(self, topology: T) -> Mapping[str, str]:
        """What the list of chips says of one, by the titles of its columns."""
        return {"clock": format_hertz(topology.clock_hz)}

    def peak_bytes(self, _program: P, /) -> Mapping[str, int]:
        """By memory: the most bytes of one of them that a program uses, of those memories of which that is known."""
        return {}

    def keys_at_run_time(self, topology: T) -> frozenset[str]:  # noqa: ARG002
        """Those of the ``run_time_keys`` that are such on this chip."""
        return self.run_time_keys


AnyMachine: TypeAlias = Machine[Any, Any]


class Proves(Machine[T, P]):
    """Tells of programs before they run whether they keep to the chip's rules."""

    can: ClassVar[str] = "prove programs before they run"

    @abstractmethod
    def check(self, programs: Sequence[P], masters: str, say: Say) -> Check:
        """What can be proven of programs that share a chip; ``masters`` as in :class:`RunOptions`."""

    @abstractmethod
    def suggest(self, program: P, masters: str, say: Say) -> Suggestion[P]:
        """The smallest wait or fence with which all of that is proven of a program."""

    @abstractmethod
    def judge(self, packets: Path, masters: str) -> Document:
        """What packets on a ring, recorded elsewhere and told in a file, did that its rules forbid.

        Raises:
            InputError: with every fault of the file.
        """


class TriesMasters(Machine[T, P]):
    """Has a bus with several masters, on which bare transfers can be tried."""

    can: ClassVar[str] = "try transfers of several masters"

    @abstractmethod
    def try_masters(self, source: Path | str, masters: str) -> Trial:
        """What becomes of the transfers in a YAML file, or of the case of the suite of that name, if the rule for
        masters is read as ``masters``, one of those in :class:`RunOptions`.

        Raises:
            InputError: every fault of the file, no such case, or transfers that the chip can't run.
        """

    @abstractmethod
    def masters_suite(self) -> Suite:
        """The cases that come with tilesim, with their verdicts."""


@dataclass(frozen=True)
class Check:
    """What was proven or refuted of ``programs``, a document each, that share a chip, and sentences on what they do
    ``together``.

    Every document has ``program``, ``topology``, ``proven`` and ``refutations``, each with its ``rule`` and
    ``sentence``; what else there is to tell is the machine's.
    """

    SCHEMA: ClassVar[str] = "tilesim.check/2"

    programs: tuple[Document, ...]
    together: tuple[str, ...] = ()

    @property
    def proven(self) -> bool:
        return not self.together and all(program["proven"] for program in self.programs)

    def document(self) -> Document:
        """As JSON holds it."""
        return {
            "schema": self.SCHEMA,
            "proven": self.proven,
            "programs": list(self.programs),
            "together": list(self.together),
        }


@dataclass(frozen=True)
class Suggestion(Generic[P]):
    """``mended``, a program with waits and fences that it lacked, if any mend it; and a ``document`` that says which
    they are and what they cost, or what none can mend.
    """

    SCHEMA: ClassVar[str] = "tilesim.suggestion/1"

    mended: P | None
    document: Document


class HasCacheDocument(Protocol):
    """Where parameters live."""

    def document(self) -> CacheDocument:
        """As JSON holds it."""


class PlansCache(Machine[T, P]):
    """Decides which parameters stay on the chip."""

    can: ClassVar[str] = "keep parameters in tiles"

    @abstractmethod
    def cache_plan(self, networks: Mapping[str, Network], topology: T, options: CompileOptions) -> HasCacheDocument:
        """Where the parameters of ``networks``, by name, live that share a chip.

        Raises:
            CapacityError: a network does not fit the chip, or has layers that it can't run.
        """


class Spreads(Machine[T, P]):
    """Spreads layers over tiles as the user wants it, where that can be."""

    can: ClassVar[str] = "spread layers over tiles"

    @abstractmethod
    def unmet(self, program: P, wishes: Mapping[int, str]) -> Iterator[tuple[int, str]]:
        """Of the ``wishes`` for single layers, those that could not be: the layer, and what became of it instead."""


class RunsInTurn(Machine[T, P]):
    """Runs several inferences, one after the other, on one chip."""

    can: ClassVar[str] = "run several inferences in turn"

    @abstractmethod
    def link(self, programs: Sequence[P], order: Sequence[int]) -> P:
        """One program that runs ``programs`` in ``order``, by their numbers; its inputs are those of all inferences.

        Raises:
            InputError: programs that can't follow one another.
        """

    @abstractmethod
    def simulate_requests(
        self, programs: Sequence[P], order: Sequence[int], inputs: Sequence[Sequence[Array]], options: RunOptions
    ) -> Run:
        """Run ``programs`` in ``order``, each inference with its own ``inputs``; raises as :meth:`Machine.simulate`."""


class PlansBatches(Machine[T, P]):
    """Has weights come from a memory of their own, so that it pays to use them for several inferences in a row."""

    can: ClassVar[str] = "run batches"

    @abstractmethod
    def weight_supply(self, topology: T) -> WeightSupply:
        """How its weights come."""

    @abstractmethod
    def weight_tile_cycles(self, topology: T) -> Fraction:
        """Cycles of the array in which a tile of weights comes: how often each is to be used meanwhile."""

    @abstractmethod
    def room(self, network: Network, topology: T) -> Room:
        """What a plan of batches has to respect. Raises CapacityError for a network that does not fit at all."""

    @abstractmethod
    def fastest(self, network: Network, topology: T, plans: Sequence[Plan], say: Say) -> Plan:
        """The plan that takes the fewest cycles; its ``predicted`` has those of all that fit.

        Raises:
            CapacityError: none of them does.
        """


class Describes(Machine[T, P]):
    """Has words for its units, for what its cycles go into, and for the roofs of its chips, which reports use."""

    can: ClassVar[str] = "be described by reports"
    description: ClassVar[Description]


class Explains(Machine[T, P]):
    """Has words for what each instruction of a program does and waits for."""

    can: ClassVar[str] = "explain instructions"

    @abstractmethod
    def explain(self, program: P) -> Sequence[Explanation]:
        """What each instruction of a sound program's ``run`` does."""


class MovesWords(Machine[T, P]):
    """Has units in lock step, past which rows of words move."""

    can: ClassVar[str] = "show words that move past units"

    @abstractmethod
    def motion(self, program: P, trace: Trace | None) -> Motion:
        """Which word was in which unit when, in ``run`` of a sound program, as far as it came; without a ``trace`` that
        has all of the array's cycles, without the cycles in which slots waited.
        """


class SecondModel(Machine[T, P]):
    """Has another model of its chips, written apart from the one that :meth:`simulate` runs on, which must agree."""

    can: ClassVar[str] = "be run on a second model"

    @abstractmethod
    def step(self, program: P, inputs: Sequence[Array], trace: bool) -> ModelResult:
        """What that one says of a run of one sample; with ``trace``, also when each unit did what."""


@dataclass(frozen=True)
class ModelResult:
    """What a model says of a run: how it ended and, if it came to its end, everything that is compared. ``units`` are
    the cycles of each unit by kind (``busy``, ``idle``, ``stall:`` and the reason).
    """

    end: str
    outputs: Sequence[Array] = ()
    cycles: int = 0
    load_cycles: int = 0
    units: Mapping[str, Mapping[str, int]] | None = None
    spans: Spans = ()


def meaningless(machine: AnyMachine, topology: Topology, options: CompileOptions | RunOptions) -> Iterator[str]:
    """A sentence for each option that was given though it means nothing to the machine."""
    default = type(options)()
    for option in fields(options):
        if option.name in machine.refuses and getattr(options, option.name) != getattr(default, option.name):
            yield f"{topology.name}: {option.name} must be left out: {machine.refuses[option.name]}"


def uncompilable(
    machine: AnyMachine, networks: Sequence[Network], topology: Topology, options: CompileOptions
) -> Iterator[str]:
    """A sentence for each thing that a machine can't be asked to compile."""
    if len(networks) > 1 and "networks" in machine.refuses:
        yield f"{topology.name}: networks must be one at a time, not {len(networks)}: {machine.refuses['networks']}"
    yield from meaningless(machine, topology, options)
    for network in networks[:1]:
        if options.batches and not is_of(options.batches, graph_of(network)) and "batches" not in machine.refuses:
            yield f"{topology.name}: batches must be a plan for {network.name}, not for another network"
