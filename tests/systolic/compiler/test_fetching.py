"""When tiles are fetched."""

from __future__ import annotations

from tests.networks import Weave
from tests.systolic.compiled import chip
from tilesim import simulate
from tilesim.systolic.compiler.compile import compile_network
from tilesim.systolic.compiler.fetching import fetched
from tilesim.systolic.compiler.lower.matrix import PendingMultiply
from tilesim.systolic.isa.model.instructions import Instruction, MatrixMultiply, ReadWeights, Window

WINDOW = Window(0, 1, 1, 1, 1, 1, 1, 1, 1, 1)


def multiply(tile: int, layer: int = 0) -> PendingMultiply:
    return PendingMultiply(MatrixMultiply(window=WINDOW, switch=tile >= 0, layer=layer), tile)


def stream(*tiles: int) -> list[tuple[int, int] | str]:
    """The order of fetches, (address, tiles), and of multiplies, on a chip whose tiles have 16 bytes."""
    topology = chip("systolic-4", {"weight_fifo.tiles": 2})
    return [shown(op) for op in fetched([multiply(tile) for tile in tiles], topology)]


def shown(op: Instruction) -> tuple[int, int] | str:
    return (op.address, op.tiles) if isinstance(op, ReadWeights) else "multiply"


def test_tiles_side_by_side_are_fetched_together_as_many_as_the_fifo_holds() -> None:
    assert stream(0, 16, 32) == [(0, 2), (32, 1), "multiply", "multiply", "multiply"]
    assert stream(0, 32, 48) == [(0, 1), (32, 2), "multiply", "multiply", "multiply"]


def test_a_tile_is_fetched_as_many_tiles_ahead_as_fifo_and_path_hold() -> None:
    assert stream(0, 48, 0, 48, 0) == [
        (0, 1), (48, 1), (0, 1), (48, 1), "multiply", (0, 1), "multiply", "multiply", "multiply", "multiply",
    ]  # fmt: skip


def test_a_tile_that_is_there_is_not_fetched_again() -> None:
    assert stream(0, 0, -1, 0, 48, 0) == [
        (0, 1), (48, 1), (0, 1), "multiply", "multiply", "multiply", "multiply", "multiply", "multiply",
    ]  # fmt: skip
    ops = fetched([multiply(0), multiply(0), multiply(48), multiply(0)], chip("systolic-4"))
    assert [op.switch for op in ops if isinstance(op, MatrixMultiply)] == [True, False, True, True]


def test_a_tile_that_stays_is_fetched_once() -> None:
    assert stream(0, -1, -1) == [(0, 1), "multiply", "multiply", "multiply"]


def test_fetches_never_wait_for_the_array_as_long_as_there_is_room() -> None:
    """A vector through 512 by 512 weights: after the first inputs, weight memory is what takes all the time."""
    weave = Weave()
    network, topology = weave.network(weave.fully_connected(weave.input(512), 512)), chip("systolic-32")
    run = simulate(compile_network(network, topology), [weave.samples[0]])
    [fetcher] = [unit for unit in run.statistics["units"] if unit["track"] == "chip.weight_fetcher"]
    assert fetcher["busy_cycles"] == 16 * 16 * 64
    assert sum(fetcher["stall_cycles"].values()) == 0
    assert run.cycles - fetcher["busy_cycles"] < 200
