"""Random chips so small that both models run programs on them in milliseconds."""

from __future__ import annotations

from random import Random
from typing import Any

from tilesim.tiled.topology import Topology

GRIDS = ((1, 1), (1, 2), (2, 1), (1, 3), (2, 2), (2, 2), (3, 1), (2, 3))
SHAPES = (
    (16, 2, 2, 64),
    (8, 2, 2, 32),
    (4, 4, 4, 16),
    (4, 4, 4, 32),
    (8, 4, 4, 32),
    (4, 2, 2, 16),
    (8, 4, 8, 64),
    (4, 8, 8, 32),
)
"""Lanes, inputs a cycle, and the bytes of a word and of a row."""
NARROW_BYTES, WIDE_BYTES, DATA_BYTES = 1 << 13, 1 << 14, 1 << 12

CHOICES: dict[str, dict[str, tuple[Any, ...]]] = {
    "host": {"bytes_per_cycle": (1, 2, 8, 16, 64), "latency_cycles": (0, 0, 1, 3, 10)},
    "data_memory": {"bytes_per_cycle": (4, 8, 16, 64)},
    "instruction_bus": {"width_bytes": (4, 16, 16, 64), "hop_cycles": (1, 1, 2, 3), "buffer_depth": (1, 2, 2, 4, 8)},
    "ring": {
        "hop_cycles": (1, 1, 2, 3),
        "queue": ("split", "split", "shared"),
        "no_consumer": ("stall", "stall", "circulate"),
        "byte_filter": (False, True),
    },
    "mesh": {"hop_cycles": (1, 1, 2, 3), "credits": (1, 2, 3, 4, 6), "destination": ("narrow", "narrow", "wide")},
    "tile": {
        "output_fifo_groups": (1, 2, 2, 3),
        "traversal": ("adder", "adder", "multiplier"),
        "multiplier_cycles": (0, 1, 3),
        "strict_compare": (False, False, True),
    },
    "classifier": {"cycles_per_element": (1, 1, 2)},
}
"""What a chip may have, by section and key; what stands more often is chosen more often."""

LINKS: dict[str, tuple[Any, ...]] = {
    "to_chip_bytes_per_second": (0, 700_000_001, 3 * 10**9, 10**11),
    "from_chip_bytes_per_second": (0, 55_000_000, 10**10),
    "request_ns": (0, 0, 1, 77),
    "sends_instructions": (False, True),
    "sends_parameters": (False, True),
    "sends_padding": (True, False),
}
"""What a host's link may be besides, on one chip of ``LINKED``."""
LINKED = 4


def random_chip(random: Random, queues: int = 1) -> Topology:
    """A chip of one to six tiles, any two of whose sizes, widths, depths, latencies and rules may meet."""
    tree: dict[str, Any] = {
        section: {key: random.choice(values) for key, values in keys.items()} for section, keys in CHOICES.items()
    }
    link = Random(str(tree))  # of its own, so that programs stay as they are  # noqa: S311
    if not link.randrange(LINKED):
        tree["host"] |= {key: link.choice(values) for key, values in LINKS.items()}
    tree["ring"]["consumer_queues"] = queues
    rows, columns = random.choice(GRIDS)
    lanes, inputs, word_bytes, row_bytes = random.choice(SHAPES)
    tree["tile"] |= {
        "lanes": lanes,
        "inputs_per_cycle": inputs,
        "vector_bytes": random.choice([n for n in (1, 2, 4, 8) if n <= min(word_bytes, lanes)]),
    }
    return Topology.model_validate(
        {
            **tree,
            "machine": "tiled",
            "name": "random",
            "grid": {"rows": rows, "columns": columns},
            "narrow_memory": {"size_bytes": NARROW_BYTES, "word_bytes": word_bytes},
            "wide_memory": {
                "size_bytes": WIDE_BYTES,
                "row_bytes": row_bytes,
                "ports": random.choice((1, 1, 1, 2)),
                "reserve_bytes": random.choice((0, 0, row_bytes)),
            },
            "data_memory": {"size_bytes": DATA_BYTES, **tree["data_memory"]},
        }
    )
