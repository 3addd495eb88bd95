"""Groups measured, as one JSON document."""

from __future__ import annotations

import platform
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from scripts.benchmarks.groups import Group, Ratio, Settings
from scripts.benchmarks.material import SCALESIM, MaterialError
from scripts.benchmarks.processes import Patience, Record, Subject, interleaved

SCHEMA = "tilesim.bench/1"
PACKAGES = ("tilesim", "numpy", "simpy", "ai-edge-litert", "onnxruntime")


def document(groups: Sequence[Group], settings: Settings, patience: Patience) -> dict[str, Any]:
    """The measurements of all groups, with the day, the machine and the versions."""
    return {
        "schema": SCHEMA,
        "date": datetime.now(UTC).date().isoformat(),
        "processor": processor(),
        "versions": {"python": platform.python_version(), **_versions()},
        "groups": [measured(group, settings, patience) for group in groups],
    }


def measured(group: Group, settings: Settings, patience: Patience) -> dict[str, Any]:
    """A group's subjects with all their ``rounds`` and, of each number, the median; its ratios; whether those
    that must have the same outputs have them. Without what it needs, why it was ``skipped``.
    """
    entry: dict[str, Any] = {"name": group.name, "sizes": group.sizes, "subjects": {}, "ratios": [], "exact": True}
    try:
        subjects = group.subjects(settings)
    except MaterialError as error:
        settings.say(f"{group.name}: {error}")
        return {**entry, "skipped": str(error)}
    rounds = interleaved(subjects, patience, settings.say)
    return {
        **entry,
        "subjects": {label: {"rounds": records, **median(records)} for label, records in rounds.items()},
        "ratios": [{**asdict(ratio), **quotient(ratio, rounds)} for ratio in group.ratios],
        "exact": agree(subjects, rounds),
    }


def median(records: Sequence[Record]) -> Record:
    """The median of each number, and the last of the others; the error if there is one."""
    if failed := [record for record in records if "error" in record]:
        return failed[0]
    return {key: _middle([record[key] for record in records]) for key in records[-1]}


def _middle(values: Sequence[Any]) -> Any:
    """The median, of whole numbers one that there is; of anything else the last."""
    if isinstance(values[-1], int):
        return statistics.median_low(values)
    return statistics.median(values) if isinstance(values[-1], float) else values[-1]


def quotient(ratio: Ratio, rounds: Mapping[str, Sequence[Record]]) -> Record:
    """One time over the other, or the seconds ``per`` one more: the median ``of_rounds``, and these; else nothing."""
    pairs = [
        (over["seconds"], under["seconds"])
        for over, under in zip(rounds[ratio.over], rounds[ratio.under], strict=False)
        if "seconds" in over and "seconds" in under
    ]
    each = [(over - under) / ratio.per if ratio.per else over / under for over, under in pairs]
    return {"seconds_each" if ratio.per else "ratio": statistics.median(each), "of_rounds": each} if each else {}


def agree(subjects: Sequence[Subject], rounds: Mapping[str, Sequence[Record]]) -> bool:
    """Whether subjects whose ``answer`` is the same word gave the same outputs, in all rounds."""
    answers: dict[str, set[str]] = {}
    for subject in subjects:
        if subject.answer:
            answers.setdefault(subject.answer, set()).update(
                record["answer"] for record in rounds[subject.label] if "answer" in record
            )
    return all(len(hashes) <= 1 for hashes in answers.values())


def processor() -> str:
    """The processor's name."""
    known = Path("/proc/cpuinfo")
    lines = known.read_text(encoding="utf-8").splitlines() if known.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _versions() -> dict[str, str]:
    """Of the packages that are installed."""
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return {**versions, "scalesim": SCALESIM}
