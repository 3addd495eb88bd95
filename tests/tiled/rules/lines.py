"""Lines of small programs for the chip ring-8, and what is proven of them."""

from __future__ import annotations

from tests.tiled.programs import program
from tilesim.tiled.rules.proof import Proof, proof_of


def consume(tile: int, rows: int = 4, name: str = "", row: int = 8, wait: str = "") -> str:
    words = f" wait={wait}" if wait else ""
    label = name or f"c{tile}"
    return f"{label}: ring_consume tiles={1 << tile:#x} write=[r:{rows},b:1 @{row * 16:#x}+r*16] produce=b{words}\n"


def send(name: str, tile: int, *to: int, rows: int = 4, wait: str = "") -> str:
    words, bitmap = f" wait={wait}" if wait else "", sum(1 << tile for tile in to)
    return f"{name}: ring_produce tiles={1 << tile:#x} read=[r:{rows} @0x0+r*16] to={bitmap:#x} produce=r{words}\n"


def fence(engine: str, *tiles: int) -> str:
    bitmap = sum(1 << tile for tile in tiles)
    return f"f: tile_fence tiles={bitmap:#x} idle={engine} increment=1\ns: scalar_fence count={len(tiles)}\n"


def proof(*lines: str, **changes: object) -> Proof:
    return proof_of(program("".join(lines), "ring-8", **changes))  # type: ignore[arg-type]


def rules(outcome: Proof) -> list[str]:
    return [refutation.rule for refutation in outcome.refutations]
