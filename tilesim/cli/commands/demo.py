"""``tilesim demo``: the shipped digits network reads handwriting it has never seen."""

from __future__ import annotations

import numpy as np
import typer

from tilesim import api
from tilesim.cli.output import QuietOption, tell
from tilesim.cli.progress import simulating
from tilesim.files import Array, read_npz
from tilesim.shipped import shipped

NETWORK, CHIP = "digits", "edge-1x1"
SHADES = " .:-=+*#%@"
SHOWN = 4


def command(quiet: QuietOption = False) -> None:
    """Let a small network read handwritten digits."""
    from tilesim.report.terminal import largest, show, totals

    held_out = read_npz(shipped("workloads") / f"{NETWORK}.npz")
    images, labels, expected = (held_out[name] for name in ("in0", "labels", "out0"))
    program = api.compile(api.load_network(NETWORK), api.load_topology(CHIP))
    with simulating(f"{len(images)} digits", quiet) as on_start:
        run = api.simulate(program, [images], on_start=on_start)
    logits = run.outputs[0]
    tell(f"{NETWORK} on {CHIP}: {len(program.load) + len(program.run)} instructions, {len(images)} images", "")
    tell(*_pictures(images[:, 0], labels, logits))
    right, same = int(np.sum(logits.argmax(axis=1) == labels)), int(np.sum(logits == expected))
    tell("", f"{right} of {len(labels)} held-out digits are read right ({right / len(labels):.1%}).")
    tell(f"{same:,} of {expected.size:,} logits equal those of ONNX Runtime bit for bit.", "")
    show(totals(run.statistics), "", largest(run.statistics))
    if same < expected.size:
        raise typer.Exit(1)


def _pictures(images: Array, labels: Array, logits: Array) -> list[str]:
    """The first digits, and the first that is misread, side by side with what the network makes of them."""
    answers = logits.argmax(axis=1)
    wrong = np.flatnonzero(answers != labels)
    shown = [*range(SHOWN - 1), int(wrong[0]) if len(wrong) else SHOWN - 1]
    drawn = [[*_picture(images[k]), _caption(int(labels[k]), logits[k])] for k in shown]
    return ["   ".join(line).rstrip() for line in zip(*drawn, strict=True)]


def _picture(image: Array) -> list[str]:
    """A line a row of the image, two characters a pixel."""
    levels = (image / image.max() * (len(SHADES) - 1)).round().astype(int)
    return ["".join(SHADES[level] * 2 for level in row) for row in levels]


def _caption(label: int, logits: Array) -> str:
    chances = np.exp(logits - logits.max())
    answer = int(logits.argmax())
    verdict = "" if answer == label else f" not {label}"
    return f"{answer}{verdict} ({int(100 * chances[answer] / chances.sum())}%)".center(2 * 8)
