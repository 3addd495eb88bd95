from itertools import pairwise

from tests.report.batched import batched
from tilesim.report.analysis.batching import BatchLane, batch_lanes, footprint, schedule_words


def step(layer: int, start: int, end: int, size: int) -> dict[str, int]:
    return {"layer": layer, "first": 0, "count": 1, "start_cycle": start, "end_cycle": end, "buffer_bytes": size}


def test_the_footprint_changes_when_a_batch_begins() -> None:
    steps = [step(0, 0, 12, 100), step(1, 10, 20, 100), step(0, 20, 30, 50), step(1, 20, 45, 60), step(2, 30, 40, 80)]
    assert footprint(steps) == [(0, 100), (20, 60), (30, 80), (45, 0)]
    assert footprint([]) == []


def test_its_largest_is_that_of_the_plan() -> None:
    for schedule in ("none", "demand", "lcm"):
        found = batched(schedule).statistics["batching"]
        points = footprint(found["steps"])
        assert max(size for _, size in points) == found["peak_buffer_bytes"]
        assert all(a[0] < b[0] and a[1] != b[1] for a, b in pairwise(points))


def test_lanes_are_layers_that_take_batches() -> None:
    names = ("stem", "patches", "third", "fourth", "fifth", "last")
    run = batched("demand").statistics
    assert batch_lanes(run["layers"], run["batching"]["steps"]) == [
        BatchLane(k, name, name) for k, name in enumerate(names)
    ]
    assert batch_lanes([], [step(7, 0, 1, 1)]) == [BatchLane(7, "layer 7", "layer 7")]


def test_schedules_have_a_meaning() -> None:
    assert schedule_words("lcm") == "lcm: each layer the least common multiple of all batches"
    assert schedule_words("new\x1b") == "new\\x1b"
