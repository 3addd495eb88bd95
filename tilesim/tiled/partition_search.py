"""Networks compiled with their layers spread over the tiles as the user wants it; ``auto`` by trying."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from msgspec import Struct, field, structs

from tilesim.errors import CapacityError, ProgramError
from tilesim.machines.options import CompileOptions
from tilesim.machines.policies import AUTO, CHANNEL, CHOICES, MIXED, SPATIAL, Wishes
from tilesim.network.graph import Network
from tilesim.network.operators.convolution import Convolution
from tilesim.tiled.compiler.compile import compile_networks as compiled
from tilesim.tiled.isa.model.program import Candidate, Layer, Program
from tilesim.tiled.topology import Topology

MOST_RUNS = 8
"""How many ways to spread the layers of a network are tried."""

Layers = frozenset[int]
Way = tuple[str, Layers]
"""What is asked for all layers, and which are spread by channel."""


def compile_networks(networks: Sequence[Network], topology: Topology, options: CompileOptions) -> list[Program]:
    """Compile networks as :func:`~tilesim.tiled.compiler.compile.compile_networks` does, the layers spread as the
    options want it; for those that are to be chosen for, try what is fastest for each network alone.
    """
    searches = _searches(networks, topology, options)
    if len(searches) == 1 and searches[0].best.program is not None:
        programs = [searches[0].best.program]
    else:
        programs = compiled(networks, topology, options.cache, [search.wishes(search.best) for search in searches])
    return [search.labelled(program) for search, program in zip(searches, programs, strict=True)]


def settled_wishes(networks: Sequence[Network], topology: Topology, options: CompileOptions) -> list[Wishes]:
    """What :func:`compile_networks` asks of the compiler for each network, having tried what there is to choose."""
    return [search.wishes(search.best) for search in _searches(networks, topology, options)]


def _searches(networks: Sequence[Network], topology: Topology, options: CompileOptions) -> list[Search]:
    wishes = [options.partition.wishes(number, network) for number, network in enumerate(networks)]
    return [Search(network, topology, options, own) for network, own in zip(networks, wishes, strict=True)]


class Trial(Struct, frozen=True):
    """A network with the layers ``by_channel`` spread so, the others by ``default``: its program and a run's cycles, or
    why there is none; and at which cycle each layer was over.
    """

    name: str
    default: str
    by_channel: Layers = frozenset()
    program: Program | None = None
    cycles: int = -1
    ends: tuple[int, ...] = ()
    fault: CapacityError | ProgramError | None = None

    def share(self, layers: range) -> int:
        """The cycles that a run of layers took from the end of all before to its own."""
        return max(0, *self.ends[: layers.stop]) - max(0, *self.ends[: layers.start], 0)


class Search(Struct, dict=True):
    """Tries ways to spread the layers of a network that are to be chosen for: all layers as is best by estimate, if
    none is excepted; over rows and columns; all by channel, then those by channel that were faster so, then all from
    some layer on, then one layer more or less.
    """

    network: Network
    topology: Topology
    options: CompileOptions
    asked: Wishes
    tried: dict[Way, Trial] = field(default_factory=dict)

    @cached_property
    def free(self) -> Layers:
        """The layers to choose for: those behind convolutions follow."""
        nodes = enumerate(self.network.nodes)
        return frozenset(k for k, node in nodes if isinstance(node.operator, Convolution) and self.asked.of(k) == AUTO)

    @cached_property
    def best(self) -> Trial:
        """The fastest attempt, the earliest of such. Nothing is tried if there is nothing to choose."""
        if not self.free:
            return Trial(self.asked.default, MIXED if self.asked.default == AUTO else self.asked.default)
        if self.asked.default == AUTO:
            self._try(MIXED, MIXED)
        spatial, channel = self._try(SPATIAL, self._default), self._try(CHANNEL, self._default, self.free)
        if channel.program is not None and spatial.program is not None:
            self._refine(spatial, channel)
        if spatial.fault is not None and not any(trial.program for trial in self.tried.values()):
            raise spatial.fault
        return self._fastest()

    @property
    def _default(self) -> str:
        """How layers are spread for which nothing else is tried."""
        return SPATIAL if self.asked.default == AUTO else self.asked.default

    def _fastest(self, *defaults: str) -> Trial:
        """Of all trials, or of those with these defaults."""
        ran = (trial for trial in self.tried.values() if trial.program and trial.default in (defaults or CHOICES))
        return min(ran, key=lambda trial: trial.cycles)

    def wishes(self, attempt: Trial) -> Wishes:
        """What an attempt asks of the compiler."""
        said = {layer: choice for layer, choice in self.asked.layers.items() if choice != AUTO}
        free = self.free if attempt.default != MIXED or self.asked.default == MIXED else ()
        tried = {layer: CHANNEL if layer in attempt.by_channel else SPATIAL for layer in free}
        return Wishes(attempt.default, said | tried, self.asked.orders)

    def labelled(self, program: Program) -> Program:
        """A program that says what was asked, what was tried, and why each layer is as it is."""
        if not self.free:
            same = program.partition == self.asked.default
            return program if same else program.annotated(partition=self.asked.default)
        return program.annotated(
            partition=self.asked.default if self.asked.default not in (MIXED, SPATIAL) else AUTO,
            layers=tuple(self._layer(k, layer) for k, layer in enumerate(program.layers)),
            candidates=tuple(
                Candidate(trial.name, trial.cycles, "; ".join(trial.fault.faults) if trial.fault else "", program.name)
                for trial in self.tried.values()
            ),
        )

    def _layer(self, number: int, layer: Layer) -> Layer:
        if number not in self.free:
            return layer
        if layer.spread == CHANNEL:
            return replace(layer, reason=f"{layer.reason}: the fastest that was tried")
        everywhere = self.tried[self._default, self.free].program
        there = everywhere.layers[number] if everywhere else layer
        return replace(layer, reason="not faster by channel" if there.spread == CHANNEL else there.reason)

    def _try(self, name: str, default: str, by_channel: Layers = frozenset()) -> Trial:
        """Compile and run, on zeros: no cycle depends on the data."""
        way = (default, by_channel)
        if way in self.tried or len(self.tried) == MOST_RUNS:
            return self.tried.get(way, Trial(name, default, by_channel))
        what = f"trying {name}, {len(self.tried) + 1} of at most {MOST_RUNS} ways to spread {self.network.name}"
        self.options.say(what)
        trial = Trial(name, default, by_channel)
        try:
            [program] = compiled([self.network], self.topology, self.options.cache, [self.wishes(trial)])
        except (CapacityError, ProgramError) as error:
            trial = structs.replace(trial, fault=error)
        else:
            from tilesim.tiled.run.simulate import simulate  # only a search needs it

            run = simulate(program, [np.zeros(tensor.shape, tensor.dtype) for tensor in program.inputs])
            ends = tuple(layer["start_cycle"] + layer["cycles"] for layer in run.statistics["layers"])
            trial = structs.replace(trial, program=program, cycles=run.cycles, ends=ends)
        self.tried[way] = trial
        return trial

    def _refine(self, spatial: Trial, channel: Trial) -> None:
        """Try mixtures, guided by how long each layer, with those that follow it, took either way."""
        assert channel.program is not None
        possible = sorted(k for k in self.free if channel.program.layers[k].spread == CHANNEL)
        runs = [range(k, end) for k, end in pairwise([*possible, len(self.network.nodes)])]
        gains = {run[0]: spatial.share(run) - channel.share(run) for run in runs}
        self._try("each layer's faster cut", self._default, frozenset(k for k, gain in gains.items() if gain > 0))
        tails = {k: sum(gain for at, gain in gains.items() if at >= k) for k in possible}
        for k in sorted(tails, key=lambda k: (-tails[k], k))[:1]:
            self._try(f"from layer {k} on", self._default, frozenset(at for at in possible if at >= k))
        best = self._fastest(self._default)
        promising = [k for k in possible if gains[k] and (gains[k] > 0) != (k in best.by_channel)]
        for k in sorted(promising, key=lambda k: (-abs(gains[k]), k)):
            changed = self._try(f"{best.name}, layer {k} otherwise", self._default, best.by_channel ^ {k})
            best = changed if 0 <= changed.cycles < best.cycles else best
