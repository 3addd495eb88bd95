"""The section of words that rotate: which was in which unit when, a record for each instruction carried out."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.errors import ProgramError
from tilesim.machines.machine import MovesWords
from tilesim.machines.motion import Motion
from tilesim.machines.program import Program
from tilesim.registry import MACHINES, description_of, machine_named
from tilesim.report.analysis.floorplan import is_complete
from tilesim.report.analysis.rotation import DEFINITION, jumps
from tilesim.report.document import SavedRun
from tilesim.report.page.build import PageSection, encoded
from tilesim.report.tracks import kind_of
from tilesim.report.words import short_name

PARTS = ("words", "view", "paint", "axes", "strip", "dial", "jumps", "hands")
SCRIPTS = (*(f"rotation_{part}.js" for part in PARTS), "rotation.js")
MOST_BYTES = 400_000
"""Of the page, for all that this section ships."""
NO_PROGRAM = "There is no program beside this run: `tilesim run ... --out DIR` writes it there."
NO_TRACE = (
    "This run was not traced, or not whole: clocks are the array's issue slots, as if none had waited. `tilesim run "
    "... --trace --out DIR` records when each was."
)
NO_SLOTS = "The array of this run has issued nothing."
NO_WEIGHTS = "Values of weights are left out here, for they take too much room."
LEFT_OUT = "The run is so long that only the first {} of each layer {} here."


def rotation(run: SavedRun) -> PageSection | None:
    """The section of a run of a machine whose words move; None of another one."""
    name = run.statistics["machine"]
    machine = machine_named(name) if name in MACHINES else None
    if not isinstance(machine, MovesWords):
        return None
    try:
        program = run.program
    except ProgramError as error:
        return _missing(f"The program beside this run can't be read: {error.faults[0]}")
    if program is None:
        return _missing(NO_PROGRAM)
    if faults := machine.faults(program):
        return _missing(f"The program beside this run could not have run: {faults[0]}")
    is_traced = run.trace is not None and is_complete(run.statistics, run.trace)
    motion = machine.motion(program, run.trace if is_traced else None)
    if not motion.slots.cycle.size:
        return _missing(NO_SLOTS)
    return PageSection("rotation", "Rotation", *shown(run, program, motion), SCRIPTS)


def _missing(why: str) -> PageSection:
    return PageSection("rotation", "Rotation", {"missing": why}, scripts=SCRIPTS)


def shown(run: SavedRun, program: Program, motion: Motion) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The data and the columns of the section."""
    layers = [short_name(layer.name) for layer in program.layers]
    columns, cuts, notes = within(motion)
    stalls, waits = stalled(run) if motion.is_timed else ({}, [])
    slots = motion.slots
    last = int(slots.cycle[-1] + slots.slots[-1]) + 1
    data = {
        "units": motion.units,
        "ring_words": motion.rings.shape[1],
        "clocks": max(last, run.statistics["cycles"] if motion.is_timed else 0),
        "cycles": run.statistics["cycles"],
        "layers": layers,
        "distances": list(motion.distances),
        "jumps": [asdict(jump) for jump in jumps(motion, len(layers))],
        "jump_definition": DEFINITION,
        "layer_cycles": [layer["cycles"] for layer in run.statistics["layers"]][: len(layers)],
        "cuts": cuts,
        "waits": waits,
        "timed": motion.is_timed,
        "note": " ".join([*([] if motion.is_timed else [NO_TRACE]), *notes]),
    }
    return data, {**columns, **stalls}


def stalled(run: SavedRun) -> tuple[dict[str, NDArray[Any]], list[str]]:
    """When the array could not go on: first cycles, how many, and the place of the reason in the words beside."""
    trace = run.trace
    assert trace is not None
    arrays = description_of(run.statistics["machine"]).mac_arrays
    ours = np.array([bool(arrays) and track.endswith(arrays) for track in trace.tracks], bool)[trace.track]
    ours &= np.array([kind.startswith("stall:") for kind in trace.kinds], bool)[trace.kind]
    ours &= trace.start_cycle >= trace.start
    columns = {
        "stall_cycle": trace.start_cycle[ours] - trace.start,
        "stall_cycles": trace.cycles[ours],
        "stall_kind": trace.kind[ours],
    }
    return columns, [kind_of(kind).words for kind in trace.kinds]


def within(motion: Motion) -> tuple[dict[str, NDArray[Any]], list[int], list[str]]:
    """Columns that are not too large, the places behind which records are left out, and what to say of all that is."""
    columns = packed(motion)
    notes: list[str] = []
    if _bytes(columns) > MOST_BYTES:
        columns["weights"] = np.zeros(0, np.int64)
        notes.append(NO_WEIGHTS)
    outs = _outs_of_layer(motion)
    first, kept = int(outs.max(initial=0)) + 1, np.ones(outs.size, bool)
    while _bytes(columns) > MOST_BYTES and first > 1:
        first //= 2
        kept = outs < first
        columns |= records(motion, kept)
    if not kept.all():
        notes.append(LEFT_OUT.format("row" if first == 1 else f"{first:,} rows", "is" if first == 1 else "are"))
    places = np.flatnonzero(kept)
    return columns, np.flatnonzero(np.diff(places) > 1).tolist(), notes


def _bytes(columns: dict[str, NDArray[Any]]) -> int:
    return sum(len(encoded(column)[1]) for column in columns.values())


def _outs_of_layer(motion: Motion) -> NDArray[np.int64]:
    """Of each record, how many rows its layer had made before."""
    layer = np.array([op.layer for op in motion.ops], np.int64)[motion.slots.op]
    is_out = np.array([op.kind == "out" for op in motion.ops], bool)[motion.slots.op]
    before = np.zeros(layer.size, np.int64)
    for one in np.unique(layer):
        ours = layer == one
        before[ours] = np.cumsum(is_out[ours]) - is_out[ours]
    return before


def records(motion: Motion, kept: NDArray[np.bool_]) -> dict[str, NDArray[Any]]:
    """The slots: of each record the cycles between the end of the one before and its own, and what goes with it."""
    slots = motion.slots.only(kept)
    ends = np.concatenate([[0], (slots.cycle + slots.slots)[:-1]])
    columns = {name: column for name, column in vars(slots).items() if name != "cycle"}
    return {"gap": slots.cycle - ends, **columns}


def packed(motion: Motion) -> dict[str, NDArray[Any]]:
    """All that the browser needs of a motion."""
    rows = motion.rows
    texts = {
        "ops": [asdict(op) for op in motion.ops],
        "names": [short_name(name) for name in rows.names],
    }
    return {
        **records(motion, np.ones(motion.slots.cycle.size, bool)),
        "texts": np.frombuffer(json.dumps(texts, separators=(",", ":")).encode(), np.uint8),
        "rings": motion.rings.ravel(),
        "row_name": rows.name,
        "row_line": rows.line,
        "row_map": rows.map,
        "row_value": rows.value,
        "channel": rows.channel.ravel(),
        "column": rows.column.ravel(),
        "block": rows.block,
        "offset": rows.offset,
        "values": rows.values.ravel(),
        "masks": motion.masks.ravel(),
        "mask_frames": motion.mask_frames.ravel(),
        "weights": motion.weights.ravel(),
    }
