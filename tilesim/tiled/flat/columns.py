"""The columns of a program's tables, and what may stand in them: one description for Python, for C and for checks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from tilesim.tiled.isa.model.fields import Engine, Flag

NEVER = 1 << 62
MOST = 1 << 40
"""Below this are the cycles of a run, and all counts."""
FEW = 1 << 30
"""Below this is what an engine counts in one instruction."""
FILL_WORDS, ROW_BUFFERS, FORWARDED_ROWS = 2, 2, 2
"""Words that a filling mesh-in has ready, rows that a copy has, and those on their way from the outfeed to the infeed.
"""
KINDS = ("idle", "busy", "traversal", "flag", "credit", "fifo", "hazard", "port", "host", "work", "hold")
"""Kinds of cycles, in the order of an account's numbers."""
CAUSES = (*KINDS, *Flag)
"""What a unit's cycles are for, a kind or the flag that is awaited."""
OPS = ("work", "fence", "record", "classify", "infeed", "outfeed", "scalar_fence")
SOURCES = ("host", "data", "ring")
OUTCOMES = ("ended", "hung", "collided", "endless")
READOUTS = ("events", "deliveries", "waits", "spent", "received", "programs", "transfers", "wakes", "notes")
EVENTS = ("began", "retired", "rose")
"""What the log of events says of an instruction: a rise of its flag comes with how many iterations are through."""
UNITS = ("infeed", "outfeed", "classifier", "controller")
LOG_COLUMNS = 6
TRANSFER_COLUMNS = 7
ACCOUNTS_A_TILE = len(Engine) + 1 + 4
"""Its engines, its MAC array, its links."""
KNOWN = tuple(engine for engine in Engine if engine != Engine.RING_CONSUMER_B)
"""The engines that the core has; the last one is left out, of chips with two consumer queues."""


class Number(Struct, frozen=True):
    """From ``least`` to below ``below``, a number or a column of the chip or the same row, and so many ``more``."""

    least: int = 0
    below: int | str = MOST
    more: int = 0


class Bitmap(Struct, frozen=True):
    """The place of a bitmap, whose bits lie below ``below``: a column of the chip, and so many more."""

    below: str
    more: int = 0


class Rows(Struct, frozen=True):
    """Where a list begins in the pool, of as many rows as the column ``length`` says, each with these ``fields``.

    ``step``: by how much the first field rises at least from row to row (None: it may also fall); ``last``: the column
    that has its last value.
    """

    length: str
    fields: Mapping[str, Number]
    step: int | None = None
    last: str = ""


class Column(Struct, frozen=True):
    """What stands in a column, in rows of these engines or other kinds of instructions; in other rows it means
    nothing.
    """

    holds: Number | Bitmap | Rows
    of: Sequence[str]


FLAG = Number(below=len(Flag))
ONE_OR_NOT = Number(below=2)
AT_LEAST_ONE = Number(1)
SOME = Number(1, FEW)
TENSOR, COPIES = (Engine.TENSOR,), (Engine.NARROW_TO_WIDE, Engine.WIDE_TO_NARROW)
MESH_IN, MESH_OUT = (tuple(engine for engine in KNOWN if engine.startswith(name)) for name in ("mesh_in", "mesh_out"))
ALL, OVER_BUS = (*KNOWN, *OPS[1:]), (*KNOWN, "fence", "record", "classify")
HELD = (*KNOWN, "classify", "infeed", "outfeed")
SENDERS = (Engine.RING_PRODUCER, "infeed", "classify")
RUN = {
    "end": SOME,
    "extra": Number(below=FEW),
    "issues": SOME,
    "writes": SOME,
    "apart": Number(0, NEVER + 1),
}
"""Result groups that are alike: up to which, extra reads, issues and writes of each, how far back a hazard lies."""
ISSUES, WRITES = [*RUN].index("issues"), [*RUN].index("writes")
BEFORE_IT_BEGINS = -1
EVERYWHERE = -1
GATE = {"iteration": Number(BEFORE_IT_BEGINS, "rounds"), "flag": FLAG, "expected": Number(-MOST)}
"""What holds an instruction until a flag has counted enough: an iteration, or all of it."""

HOLD = {"tile": Number(EVERYWHERE, "tiles"), "cycle": Number(below=MOST, more=1)}
"""Before which cycle of its section an instruction does not begin, on a tile or wherever it goes; the last one that is
for a tile counts.
"""

OF_OPS = {
    "kind": Column(Number(below=len(OPS)), ALL),
    "engine": Column(Number(below=len(KNOWN)), KNOWN),
    "holds": Column(Rows("hold_count", HOLD, step=0), HELD),
    "hold_count": Column(Number(), HELD),
    "words": Column(Number(), OVER_BUS),
    "header": Column(Bitmap("tiles", 1), OVER_BUS),
    "last_stop": Column(Number(-1), OVER_BUS),
    "layer": Column(Number(below="layers"), ALL),
    "gates": Column(Rows("gate_count", GATE, step=0), KNOWN),
    "gate_count": Column(Number(), KNOWN),
    "rises": Column(Rows("rise_count", {"iteration": Number(1, "rounds", 1)}, step=1), KNOWN),
    "rise_count": Column(Number(), KNOWN),
    "rise_period": Column(Number(), KNOWN),
    "flag": Column(FLAG, KNOWN),
    "rounds": Column(SOME, HELD),
    "runs": Column(Rows("run_count", RUN, step=1, last="rounds"), TENSOR),
    "run_count": Column(SOME, TENSOR),
    "least_issues": Column(SOME, TENSOR),
    "least_writes": Column(SOME, TENSOR),
    "has_weights": Column(ONE_OR_NOT, TENSOR),
    "writes_wide": Column(ONE_OR_NOT, TENSOR),
    "reads_a_row": Column(SOME, COPIES),
    "writes_a_row": Column(SOME, COPIES),
    "fill": Column(ONE_OR_NOT, MESH_IN),
    "words_an_access": Column(SOME, MESH_IN),
    "parts_an_access": Column(SOME, MESH_IN),
    "beats_an_access": Column(SOME, MESH_OUT),
    "reads_wide": Column(ONE_OR_NOT, MESH_OUT),
    "to": Column(Bitmap("tiles", 2), SENDERS),
    "destinations": Column(Number(below=FEW), (Engine.RING_PRODUCER, "infeed")),
    "source": Column(Number(below=len(SOURCES)), ("infeed",)),
    "transfers": Column(SOME, ("infeed",)),
    "turn": Column(Number(), ("infeed",)),
    "owes": Column(Rows("rounds", {"owes": Number(below=NEVER)}), ("outfeed",)),
    "classify_cycles": Column(Number(), ("classify",)),
    "reply_rows": Column(SOME, ("classify",)),
    "idle": Column(Number(below=1 << len(Engine)), ("fence", "scalar_fence")),
    "reset": Column(Number(below=1 << len(Flag)), ("fence",)),
    "increment": Column(Number(), ("fence",)),
    "count": Column(Number(), ("scalar_fence",)),
    "begins": Column(ONE_OR_NOT, ("scalar_fence",)),
}
"""What the core knows of an instruction."""
OF_CHIP = {
    "tiles": AT_LEAST_ONE,
    "columns": AT_LEAST_ONE,
    "bitmap_words": AT_LEAST_ONE,
    "layers": AT_LEAST_ONE,
    "accounts": AT_LEAST_ONE,
    "buffer_depth": AT_LEAST_ONE,
    "bus_hop_cycles": Number(),
    "ring_hop_cycles": Number(),
    "ring_parts": SOME,
    "mesh_hop_cycles": Number(),
    "mesh_room_beats": AT_LEAST_ONE,
    "mesh_to_wide": ONE_OR_NOT,
    "output_fifo_groups": AT_LEAST_ONE,
    "wide_ports": AT_LEAST_ONE,
    "fill_cycles": Number(),
    "strict_compare": ONE_OR_NOT,
    "to_chip_pays": AT_LEAST_ONE,
    "from_chip_pays": AT_LEAST_ONE,
    "announces": ONE_OR_NOT,
    "requests": AT_LEAST_ONE,
    "host_latency_cycles": Number(),
    "host_queue_rows": AT_LEAST_ONE,
    "host_rows": Number(),
    "data_row_cycles": AT_LEAST_ONE,
    "transfers": Number(),
}
"""What it knows of the chip."""
OF_SENDINGS = {"pause_cycles": Number(), "owes": Number(below=NEVER), "is_row": ONE_OR_NOT, "step": Number(below=FEW)}
"""What it knows of what the host sends; a row may come of one of the host's steps, counted from 1."""
OF_STEPS = {"rows": Number(), "cycles": Number(), "ends_at": Number(below=1)}
"""What it knows of a step of the host: how many rows of results must have come. It says when the step ends."""
NOTED_WORK, NOTED_CYCLE = 6, 30
"""What the core notes of a unit for a trace is a number: from which cycle on, its bits from ``NOTED_CYCLE`` on, those
were for an instruction, one more than its number from ``NOTED_WORK`` on, and their cause, until the next note. In place
of instructions the host's links have numbers of what they carry, and the outfeed one for each row and each end of an
instruction.
"""
PRODUCT = (
    "depthwise", "rows", "blocks", "steps", "runs", "inputs", "lanes", "last_lanes", "run_bytes", "register_bytes",
    "unit_bytes", "word_stride_bytes", "weights_from", "weights_bytes", "input_flip", "input_zero", "weight_flip",
    "weight_zero", "output_zero", "least", "most", "single",
)  # fmt: skip
"""What C knows of a tensorop of products, before the nests of its rows, blocks of lanes, steps, and runs of inputs:
``flip`` makes bytes ones without a sign, before ``zero`` is taken off.
"""
OPERANDS = ("input", "weights", "parameters", "sums_in", "sums_out", "output")
PRODUCT_ROW, PRODUCT_STEP = ("input", "sums_in", "sums_out", "output"), ("input", "weights")
"""What is moved by rows, and by steps; blocks move any."""
COLUMNS, CHIP, SENDINGS, STEPS = tuple(OF_OPS), tuple(OF_CHIP), tuple(OF_SENDINGS), tuple(OF_STEPS)


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
        f"#define NEVER INT64_C({NEVER})",
        f"#define FILL_WORDS {FILL_WORDS}",
        f"#define ROW_BUFFERS {ROW_BUFFERS}",
        f"#define FORWARDED_ROWS {FORWARDED_ROWS}",
        f"#define BEFORE_IT_BEGINS ({BEFORE_IT_BEGINS})",
        f"#define EVERYWHERE ({EVERYWHERE})",
        f"#define LOG_COLUMNS {LOG_COLUMNS}",
        f"#define ACCOUNTS_A_TILE {ACCOUNTS_A_TILE}",
        f"#define RUN_COLUMNS {len(RUN)}",
        f"#define NOTED_WORK {NOTED_WORK}",
        f"#define NOTED_CYCLE {NOTED_CYCLE}",
        f"#define FLAG_ORDINAL {[*Flag].index(Flag.RING_PRODUCER_A)}",
        f"#define CAUSE_FLAG {len(KINDS)}",
        f"#define CAUSES {len(CAUSES)}",
        _struct("Columns", COLUMNS),
        _struct("Chip", CHIP),
        _struct("Sending", SENDINGS),
        _struct("Step", STEPS),
        *_constants("", OPERANDS),
        _struct("Product", PRODUCT),
        _struct("ProductRow", PRODUCT_ROW),
        _struct("ProductBlock", OPERANDS),
        _struct("ProductStep", PRODUCT_STEP),
    ]
    return "\n".join(lines) + "\n"


def _constants(prefix: str, names: Sequence[str], count: str = "") -> Iterable[str]:
    yield from (f"#define {prefix.upper()}{name.upper()} {k}" for k, name in enumerate(names))
    if count:
        yield f"#define {count} {len(names)}"


def _struct(name: str, fields: Iterable[str]) -> str:
    return f"typedef struct {{ int64_t {', '.join(fields)}; }} {name};"
