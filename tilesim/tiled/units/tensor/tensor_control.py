"""The tensor control: one tensorop after the other through TTU, MAC array and activation unit."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from tilesim.sim.core.action import Actions
from tilesim.sim.core.clock import Work
from tilesim.sim.core.unit import BUSY, Reason, Unit
from tilesim.sim.pipe.course import Activity, Charge, PipeForm
from tilesim.sim.trace.recorder import Waker
from tilesim.tiled.isa.model.fields import Engine
from tilesim.tiled.isa.model.instructions import TensorOp, raised_flag
from tilesim.tiled.isa.model.loops import Gate, completions, gates
from tilesim.tiled.isa.model.sheet import SHEET
from tilesim.tiled.units.engine import TileContext, TileEngine
from tilesim.tiled.units.shares import LayerShare
from tilesim.tiled.units.tensor.decoder import Decoder
from tilesim.tiled.units.tensor.results import Results


class TensorControl(TileEngine[TensorOp]):
    """Issues a reduction step a cycle, queues finished result groups, and writes them as narrow words, one a cycle.

    Timing: unloaded, G groups of s steps and w output words, with parameters changing p times, take
    G * s + 3 * p + w cycles from start to retirement if s >= w, and s + 3 * p + G * w if s < w and p <= 1, where larger
    rows let fewer reads than 3 do: see :mod:`~tilesim.tiled.units.tensor.activation_unit`; peak rate
    one step (lanes × inputs MACs) a cycle. An issue cycle has its narrow and its wide read or waits for both. A row of
    partial sums in is one more wide read, of which a group has one, or one for each iteration of the reduction loops
    that move it, before its first step; a row out (w = 1) is a wide write, for which the next group's issue
    waits a cycle; two ports hide both, and deliver two parameter rows in a cycle. With operands of 16 bits a step takes
    2 or 4 cycles, a group has twice the output words if they have 16, and sums and biases take two registers' bytes
    each: two rows of sums for each, and 4 parameter rows instead of 3, or fewer that are larger. Of a row of sums those
    of the lanes that run are written; the last word of a group ends in zeros. Where lanes make less than a word, as
    those of ``tile.vector_bytes`` may, a group writes that part of one, in a cycle (w = 1). What a group reads and one
    before it writes: see :mod:`~tilesim.tiled.units.tensor.interlock`. Source: US 19/025,090 [0046]-[0051], [0064]; the
    output FIFO's depth and writes of parts of words, which need a mask of their bytes, are assumptions.
    """

    def __init__(self, tile: TileContext, unit: Unit, mac_unit: Unit, decoder: Decoder) -> None:
        super().__init__(tile, unit, Engine.TENSOR)
        self._ports = {
            side.field: tile.memories.slot(self.name, side.field, side.memory) for side in SHEET["tensorop"].operands
        }
        self.mac_unit = mac_unit
        self.decoder = decoder
        self.results = Results(tile.memories, tile.ttu.tile.inputs_per_cycle)
        self.shares: dict[int, LayerShare] = {}
        self._share = LayerShare()

    def restart(self) -> None:
        """Begin new accounts of layers."""
        self.shares = {}

    def close(self, end: int) -> None:
        """Account for the rest of a run that has come to its end: there was no more work."""
        for unit in (self.unit, self.mac_unit):
            unit.instruction = ""
            unit.spend(Reason.WORK.kind, end)

    def stop(self, end: int) -> None:
        """Nothing goes on up to ``end``: the array waits for what the control does."""
        self.mac_unit.waiting = self.unit.waiting
        for share in self.shares.values():
            share.start = min(share.start, end)
            share.end = max(share.end, share.start)

    def execute(self, op: TensorOp) -> Work:
        self._share = self.shares.setdefault(op.layer, LayerShare())
        self.mac_unit.instruction = op.label
        self._account_wait(Reason.INSTRUCTION, Reason.INSTRUCTION)
        yield from self.watch(op.wait)
        start = self.tile.clock.cycle
        self._share.start = min(self._share.start, start)
        memories = self.tile.memories
        decoded = self.decoder.tensorop(op, memories)
        self.flag = raised_flag(op)
        form = PipeForm(
            self.tile.ttu.tile.output_fifo_groups,
            issue=[self._ports[name] for name in ("input", "weights") if getattr(op, name) is not None],
            write=self._ports["output" if op.sums_out is None else "sums_out"],
            extra=self._ports["sums_in"],  # and of parameters
        )
        pipe = self.pipe(decoded.effort.costs, form, partial(self.results.compute, decoded))
        operands = decoded.operands
        nest = operands.group_nest
        every_group = op.produce in (*op.reduce, op.nest.loops[-1].name)
        produce = list(range(1, operands.count + 1)) if every_group else completions(nest, op.produce)
        yield from self.run_pipe(pipe, gates(nest, op.wait), produce)
        self._share.end = self.tile.clock.cycle

    def actions(self, op: TensorOp) -> Actions:
        decoded = self.decoder.tensorop(op, self.tile.memories)
        self.mac_unit.act(decoded.effort.operations)
        return decoded.effort.accesses

    def await_address(self) -> Work:
        yield from super().await_address()
        self._account_wait(Reason.TRAVERSAL, Reason.TRAVERSAL)

    def await_flag(self, gate: Gate) -> Work:
        yield from super().await_flag(gate)
        self._account_wait(Reason.FLAG, gate.flag)

    def hear(self, waker: Waker | None) -> None:
        super().hear(waker)
        self.mac_unit.woken_by(waker, Reason.FLAG)

    def charges(self, activity: Activity) -> Sequence[Charge]:
        reason = self.awaited if activity.reason == Reason.FLAG else activity.reason
        return [
            *super().charges(activity),
            (self.mac_unit, BUSY if activity.issuing else f"stall:{activity.reason}", 0),
            (self._share, reason or BUSY, 0),
        ]

    def _account_wait(self, reason: Reason, cause: str) -> None:
        """The MAC array has waited until now."""
        now = self.tile.clock.cycle
        self._share.waits.append((cause, range(now - self.mac_unit.spend(reason.kind), now)))
