"""A user's program: ``scripts/check`` sees by it that type checkers know what `import tilesim` gives."""

from typing import assert_type

import tilesim


def main() -> int:
    """The speed-up of two tiles over one."""
    network = assert_type(tilesim.load_network("pocket"), tilesim.Network)
    chips = [tilesim.load_topology("pocket-2x1", {"grid": size}) for size in ("1x1", "2x1")]
    programs = assert_type([tilesim.compile(network, chip) for chip in chips], list[tilesim.Program])
    one, two = (assert_type(tilesim.simulate(program), tilesim.Run) for program in programs)
    assert_type(one.statistics["layers"][0]["breakdown"], dict[str, int])
    assert_type(tilesim.compare([one, two])["runs"][1]["speed_up"], float)
    return one.cycles - two.cycles
