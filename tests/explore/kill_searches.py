"""Kill searches at moments that nobody chose, and see how they end: ``kill_searches.py ROUNDS FOLDER``."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import optuna  # noqa: F401  (before processes fork)

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from tests.explore.kill_sweeps import kill  # noqa: E402
from tests.explore.search.test_search import Formula, searched  # noqa: E402
from tilesim.explore.rows.store import Store  # noqa: E402
from tilesim.explore.running.sweeping import Group, Timed  # noqa: E402

POINTS = 24


class Slow(Formula):
    """Takes a while for a row."""

    def __call__(self, groups: Iterable[Group]) -> Iterator[Timed]:
        for row in super().__call__(groups):
            time.sleep(0.002)
            yield row


def begin(path: Path) -> int:
    """The id of a process that searches, and leaves the keys of its points, in their order."""
    child = os.fork()
    if not child:
        status = 1
        try:
            keys = [*searched(path, Slow(), POINTS).keys]
            path.with_suffix(".keys").write_text(json.dumps(keys))
            status = 0
        finally:
            os._exit(status)
    return child


def main(rounds: int, folder: Path) -> None:
    rng, count = np.random.default_rng(0), Counter(killed=0, searches=0, differ=0, lost=0)
    undisturbed = [*searched(folder / "undisturbed.db", Formula(), POINTS).keys]
    path, written = folder / "0.db", set[str]()
    while count["killed"] < rounds:
        process = begin(path)
        time.sleep(rng.uniform(0, 2.5))
        kill(process)
        status = os.waitpid(process, 0)[1]
        count["killed"] += status == signal.SIGKILL
        if path.exists():
            with Store(path) as store:
                keys = store.keys()
            count["lost"] += len(written - keys)
            written = keys
        if status != signal.SIGKILL:
            count["differ"] += status != 0 or json.loads(path.with_suffix(".keys").read_text()) != undisturbed
            count["searches"] += 1
            path, written = folder / f"{count['searches']}.db", set()
    count["differ"] += os.waitpid(begin(path), 0)[1] != 0
    count["differ"] += json.loads(path.with_suffix(".keys").read_text()) != undisturbed
    print(json.dumps(count))


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
