"""The columns of a program's tables, and the numbers that stand in them: one description for Python and for C."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tilesim.tiled.isa.model.fields import Engine, Flag

COLUMNS = (
    "kind", "engine", "words", "header", "last_stop", "layer", "waits", "wait_count", "gates", "gate_count", "rises",
    "rise_count", "rise_period", "flag", "rounds", "runs", "has_weights", "writes_wide", "reads_a_row",
    "writes_a_row", "fill", "words_an_access", "parts_an_access", "beats_an_access", "reads_wide", "to",
    "destinations", "source", "transfers", "turn", "output", "classify_cycles", "reply_rows", "idle", "reset",
    "increment", "count",
)  # fmt: skip
"""What the core knows of an instruction. ``header`` and ``to`` are places among the bitmaps; ``waits`` (a flag and a
count), ``gates`` (an iteration, a flag and a count), ``rises`` (iterations) and ``runs`` (of result groups: the end,
extra reads, issues, writes, and how far back a hazard lies) are places in the pool.
"""
CHIP = (
    "tiles", "columns", "bitmap_words", "layers", "accounts", "buffer_depth", "bus_hop_cycles", "ring_hop_cycles",
    "ring_parts", "mesh_hop_cycles", "mesh_room_beats", "mesh_to_wide", "output_fifo_groups", "wide_ports",
    "fill_cycles", "strict_compare", "host_row_cycles", "host_latency_cycles", "host_queue_rows", "host_rows",
    "data_row_cycles", "outputs", "transfers",
)  # fmt: skip
"""What it knows of the chip."""
KINDS = ("idle", "busy", "traversal", "flag", "credit", "fifo", "hazard", "port", "host", "work")
"""Kinds of cycles, in the order of an account's numbers."""
OPS = ("work", "fence", "record", "classify", "infeed", "outfeed", "scalar_fence")
SOURCES = ("host", "data", "ring")
OUTCOMES = ("ended", "hung", "collided", "endless")
READOUTS = ("events", "deliveries", "waits", "spent", "arrivals", "transfers")
EVENTS = ("began", "retired", "rose")
"""What the log of events says of an instruction: a rise of its flag comes with how many iterations are through."""
UNITS = ("infeed", "outfeed", "classifier")
LOG_COLUMNS = 6
TRANSFER_COLUMNS = 7
RUN_COLUMNS = 5
ACCOUNTS_A_TILE = len(Engine) + 1 + 4
"""Its engines, its MAC array, its links."""


def header_text() -> str:
    """The C header that says the same."""
    lines = [
        *_constants("", KINDS, "KINDS"),
        *_constants("", [*Engine], "ENGINES"),
        f"#define FLAGS {len(Flag)}",
        *_constants("", [f"{op}_op" for op in OPS]),
        *_constants("source_", SOURCES),
        *_constants("", OUTCOMES),
        *_constants("read_", READOUTS),
        *_constants("", EVENTS),
        *(f"#define {unit.upper()}_UNIT {len(Engine) + k}" for k, unit in enumerate(UNITS)),
        f"#define LOG_COLUMNS {LOG_COLUMNS}",
        f"#define ACCOUNTS_A_TILE {ACCOUNTS_A_TILE}",
        f"#define RUN_COLUMNS {RUN_COLUMNS}",
        f"#define FLAG_ORDINAL {[*Flag].index(Flag.RING_PRODUCER_A)}",
        "#define CAUSE_FLAG KINDS",
        "#define CAUSES (KINDS + FLAGS)",
        _struct("Columns", COLUMNS),
        _struct("Chip", CHIP),
    ]
    return "\n".join(lines) + "\n"


def _constants(prefix: str, names: Sequence[str], count: str = "") -> Iterable[str]:
    yield from (f"#define {prefix.upper()}{name.upper()} {k}" for k, name in enumerate(names))
    if count:
        yield f"#define {count} {len(names)}"


def _struct(name: str, fields: Iterable[str]) -> str:
    return f"typedef struct {{ int64_t {', '.join(fields)}; }} {name};"
