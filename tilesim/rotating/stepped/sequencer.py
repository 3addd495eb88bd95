"""What goes through the array's instructions, and counts loops; neither takes a cycle."""

from __future__ import annotations

from tilesim.rotating.isa.model.instructions import End, Instruction, Loop


class Sequencer:
    """Stands at an instruction that is no loop and no end of one; ``op`` is None behind the last."""

    def __init__(self, instructions: list[Instruction]) -> None:
        self._instructions = instructions
        self._place = 0
        self._loops: list[list[int]] = []
        """Of each loop around, the outermost first: where it began, its turns, and those that are over."""
        self._pass_loops()

    @property
    def op(self) -> Instruction | None:
        return self._instructions[self._place] if self._place < len(self._instructions) else None

    @property
    def counters(self) -> tuple[int, ...]:
        """The turns that are over, of each loop around."""
        return tuple(turn for _, _, turn in self._loops)

    def go_on(self) -> None:
        """The instruction is over."""
        self._place += 1
        self._pass_loops()

    def _pass_loops(self) -> None:
        while isinstance(self.op, Loop | End):
            if isinstance(self.op, Loop):
                self._loops.append([self._place, self.op.count, 0])
            elif self._again():
                self._place = self._loops[-1][0]
            self._place += 1

    def _again(self) -> bool:
        """At the end of a loop: whether it has another turn."""
        loop = self._loops[-1]
        loop[2] += 1
        if loop[2] < loop[1]:
            return True
        self._loops.pop()
        return False
