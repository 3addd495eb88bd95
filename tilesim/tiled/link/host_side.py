"""What the host of a linked program does, request by request: its steps, on tensors with indices of their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import TypeVar

from msgspec import Struct

from tilesim.machines.host_steps import HostConstant, HostStep
from tilesim.tiled.isa.model.program import GivenTensor, HostTensor, Program

T = TypeVar("T", bound=HostTensor)


class LinkedHost(Struct, frozen=True):
    """The host's tensors and steps in ``programs`` that run in ``order``. Where there are steps, tensors get other
    indices in each request, and so do constants in each program, so that none stands for two.
    """

    programs: Sequence[Program]
    order: Sequence[int]

    @property
    def stride(self) -> int:
        """How far the indices of one request are from those of the next."""
        if not any(program.steps for program in self.programs):
            return 0
        tensors = [
            tensor for program in self.programs for tensor in (*program.inputs, *program.leaving, *program.given)
        ]
        steps = [index for program in self.programs for step in program.steps for index in (*step.reads, step.makes)]
        return 1 + max([*(tensor.index for tensor in tensors), *steps])

    def inputs(self) -> Iterator[HostTensor]:
        return self._each([program.inputs for program in self.programs])

    def outputs(self) -> Iterator[HostTensor]:
        return self._each([program.outputs for program in self.programs])

    def taken(self) -> Iterator[HostTensor]:
        return self._each([program.taken for program in self.programs])

    def given(self) -> Iterator[GivenTensor]:
        """Behind the inputs of all requests before their own as well."""
        before = [0, *accumulate(len(self.programs[number].inputs) for number in self.order)]
        for k, tensor in self._numbered([program.given for program in self.programs]):
            yield replace(tensor, behind=tensor.behind + before[k])

    def constants(self) -> Iterator[HostConstant]:
        several = len(self.programs) > 1
        for number, program in enumerate(self.programs):
            for constant in program.constants:
                name = f"network{number + 1}.{constant.name}" if several else constant.name
                yield replace(constant, name=name, index=constant.index + self._shift(len(self.order) + number))

    def steps(self) -> Iterator[HostStep]:
        layers = [0, *accumulate(len(program.layers) for program in self.programs)]
        for k, number in enumerate(self.order):
            program = self.programs[number]
            fixed = {constant.index: self._shift(len(self.order) + number) for constant in program.constants}
            for step in program.steps:
                yield replace(
                    step,
                    label=f"request{k + 1}.{step.label}",
                    layer=step.layer + layers[number],
                    reads=tuple(index + fixed.get(index, self._shift(k)) for index in step.reads),
                    makes=step.makes + self._shift(k),
                )

    def numbers(self, request: int) -> list[int]:
        """The number that each output of a request's program has among all: what leaves for the host stands last."""
        counts = [(len(self.programs[number].outputs), len(self.programs[number].taken)) for number in self.order]
        outputs, taken = counts[request]
        first = sum(count for count, _ in counts[:request])
        last = sum(count for count, _ in counts) + sum(count for _, count in counts[:request])
        return [*range(first, first + outputs), *range(last, last + taken)]

    def _shift(self, request: int) -> int:
        return request * self.stride

    def _each(self, tensors: Sequence[Sequence[HostTensor]]) -> Iterator[HostTensor]:
        return (tensor for _, tensor in self._numbered(tensors))

    def _numbered(self, tensors: Sequence[Sequence[T]]) -> Iterator[tuple[int, T]]:
        """Those of all requests, with the request's number."""
        for k, number in enumerate(self.order):
            for tensor in tensors[number]:
                index = tensor.index + self._shift(k)
                yield k, replace(tensor, name=f"request{k + 1}.{tensor.name}", index=index)
