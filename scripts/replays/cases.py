"""Every case: networks on chips, and what else programs, batches, series and checks have to offer."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import tilesim
from scripts.replays.case import Case, Step

PACKAGE = Path(str(tilesim.__file__)).parent

RECORD = ("--out", "out", "--trace")

SMALL_CHIPS = {"pocket-2x1", "edge-1x1", "edge-1x2", "edge-2x2", "systolic-4", "systolic-32", "tpu-v1"}
SMALL_NETWORKS = ("pocket", "example-conv", "example-residual", "digits", "mlperf_kws_dscnn", "mlperf_ad_ae")
LARGE = {"batching", "coral_tf2_mnv2_ptq", "mlperf_resnet8", "mlperf_vww_mnv1", "mit_mcunet_detection"}
SPREAD = ("pocket", "example-conv", "example-residual", "digits", "mlperf_kws_dscnn", "mlperf_resnet8")
BATCHED = (*SPREAD, "batching", "mlperf_ad_ae")

VARIANTS = {
    "edge-2x2": (
        "instruction_bus.buffer_depth=2", "ring.hop_cycles=3", "ring.queue=shared", "ring.no_consumer=circulate",
        "mesh.hop_cycles=2", "mesh.credits=2", "wide_memory.ports=2", "tile.vector_bytes=2",
        "tile.output_fifo_groups=1", "tile.traversal=multiplier", "tile.strict_compare=true",
        "classifier.cycles_per_element=3", "host.latency_cycles=20",
    ),
    "systolic-4": (
        "host.latency_cycles=20", "sequencer.queue_depth=2", "weight_memory.channels=2", "weight_fifo.tiles=2",
        "array.weights=rows", "value_loaders.feed=channels", "vector_unit.lanes=2",
    ),
}  # fmt: skip


def models_folder() -> Path:
    """Where other people's models are, if anywhere."""
    return Path(os.environ.get("TILESIM_MODELS") or Path(__file__).resolve().parents[3] / "shared" / "models")


def shipped_programs() -> dict[str, Path]:
    """The programs that come with the tilesim that is measured, by name: in its checkout, or in its wheel."""
    folders = (PACKAGE.parent / "workloads", PACKAGE / "_shipped" / "workloads")
    return {path.stem: path for folder in folders for path in sorted(folder.rglob("*.tasm"))}


class Material:
    """Networks, chips and programs, and the cases that are made of them."""

    def __init__(self, models: Path) -> None:
        self.models = {path.parent.name: path for path in sorted(models.glob("*/model.tflite"))}
        self.networks = (*tilesim.list_workloads(), *self.models)
        shipped = shipped_programs()
        self.programs = {name: path for name, path in shipped.items() if not path.with_suffix(".npz").exists()}
        """Those of masters on a ring."""
        self.with_data = {name: path for name, path in shipped.items() if name not in self.programs}
        chips = {name: tilesim.load_topology(name).machine for name in tilesim.list_topologies()}
        self.systolic = [name for name, machine in chips.items() if machine == "systolic"]
        self.chips = tuple(chips)

    def cases(self) -> dict[str, Case]:
        """All of them by name, in order."""
        made = [
            *self._runs(), *self._partitions(), *self._batches(), *self._series(), *self._variants(),
            *self._forms(), *self._recordings(), *self._through_python(),
            *self._shipped_programs(), *self._programs_with_data(), *self._hangs(), *self._documents(),
        ]  # fmt: skip
        return {case.name: case for case in sorted(made, key=lambda case: case.name)}

    def _case(self, name: str, networks: Sequence[str], *steps: Step) -> Case:
        return Case(
            name, steps, {self._word(network): self.models[network] for network in networks if network in self.models}
        )

    def _word(self, network: str) -> str:
        """What the command line calls a network: models lie in the case's folder, so that no text names another."""
        return f"{network}.tflite" if network in self.models else network

    def _run(self, name: str, networks: Sequence[str], chip: str, *words: str) -> Case:
        where = ("--topology", chip)
        return self._case(name, networks, ("tilesim", "run", *map(self._word, networks), *where, *RECORD, *words))

    def _known(self, networks: Sequence[str]) -> list[str]:
        return [network for network in networks if network in self.networks]

    def _runs(self) -> Iterator[Case]:
        for network in self.networks:
            for chip in self.chips:
                yield self._run(f"run/{network}/{chip}", [network], chip)

    def _partitions(self) -> Iterator[Case]:
        for network in self._known(SPREAD):
            for chip in ("pocket-2x1", "edge-1x2", "edge-2x2", "fig2-5x2"):
                for choice in ("spatial", "channel", "auto"):
                    yield self._run(f"partition-{choice}/{network}/{chip}", [network], chip, "--partition", choice)

    def _batches(self) -> Iterator[Case]:
        for network in self._known(BATCHED):
            for chip in self.systolic:
                plan = ("tilesim", "batch", self._word(network), "--topology", chip, "--json")
                yield self._case(f"batch-plan/{network}/{chip}", [network], plan)
                yield self._case(f"batch-plan-fit/{network}/{chip}", [network], (*plan, "--fit", "--power-of-two"))
                yield self._run(f"batch-fastest/{network}/{chip}", [network], chip, "-n", "4")
                for schedule in ("none", "demand", "lcm"):
                    words = ("-n", "3", "--batch-schedule", schedule, "--weight-reuse", "40")
                    yield self._run(f"batch-{schedule}/{network}/{chip}", [network], chip, *words)

    def _series(self) -> Iterator[Case]:
        for networks, chip in (
            (("pocket",), "pocket-2x1"), (("digits",), "edge-1x2"), (("pocket", "example-conv"), "edge-1x2"),
            (("mlperf_kws_dscnn", "mlperf_resnet8"), "edge-2x2"), (("mlperf_ad_ae", "mlperf_kws_dscnn"), "edge-1x1"),
            (("mlperf_vww_mnv1", "mlperf_resnet8"), "edge-1x1"), (("pocket", "example-conv"), "systolic-32"),
            (("mlperf_kws_dscnn", "digits"), "tpu-v1"),
        ):  # fmt: skip
            if self._known(networks) != list(networks):
                continue
            name = f"{'+'.join(networks)}/{chip}"
            yield self._run(f"series-cached/{name}", networks, chip, "-n", "3")
            yield self._run(f"series-streamed/{name}", networks, chip, "-n", "3", "--no-cache")
            yield self._run(f"series-priority/{name}", networks, chip, "-n", "2", "--priority", networks[-1])

    def _variants(self) -> Iterator[Case]:
        for chip, settings in VARIANTS.items():
            for setting in settings:
                for network in self._known(("pocket", "digits", "mlperf_kws_dscnn")):
                    yield self._run(f"set/{setting}/{network}/{chip}", [network], chip, "--set", setting)

    def _forms(self) -> Iterator[Case]:
        """A program that is saved and read back is the same one."""
        for network in self._known(SMALL_NETWORKS):
            for chip in ("pocket-2x1", "edge-2x2", "systolic-4", "tpu-v1", "nnu-1024"):
                for ending in ("tasm", "tbin"):
                    saved = f"p.{ending}"
                    write = ("tilesim", "compile", self._word(network), "--topology", chip, "--output", saved)
                    run = ("tilesim", "run", saved, *RECORD)
                    yield self._case(f"saved-{ending}/{network}/{chip}", [network], write, run)

    def _recordings(self) -> Iterator[Case]:
        for chip, units in (("pocket-2x1", "chip.tile0.*"), ("systolic-4", "*matrix*")):
            yield self._run(f"trace-window/pocket/{chip}", ["pocket"], chip, "--trace-window", "20:120")
            yield self._run(f"trace-tracks/pocket/{chip}", ["pocket"], chip, "--trace-tracks", units)

    def _through_python(self) -> Iterator[Case]:
        for chip in ("pocket-2x1", "edge-2x2", "systolic-4", "tpu-v1", "nnu-1024"):
            yield self._case(f"python/pocket/{chip}", [], ("python", "pocket", chip))

    def _shipped_programs(self) -> Iterator[Case]:
        for name, path in self.programs.items():
            files = {path.name: path}
            run = ("tilesim", "run", path.name, *RECORD)
            for rules in ("strict", "observe"):
                for masters in ("meet", "disjoint", "single"):
                    words = (*run, "--rules", rules, "--masters", masters)
                    yield Case(f"program-{rules}-{masters}/{name}", (words,), files)
            for masters in ("meet", "disjoint", "single"):
                check = ("tilesim", "check", path.name, "--masters", masters, "--json")
                yield Case(f"check-{masters}/{name}", (check,), files)
            binary = ("tilesim", "compile", path.name, "--output", "p.tbin")
            yield Case(
                f"saved-tbin/{name}", (binary, ("tilesim", "run", "p.tbin", *RECORD, "--rules", "observe")), files
            )

    def _programs_with_data(self) -> Iterator[Case]:
        for name, path in self.with_data.items():
            files = {path.name: path, path.with_suffix(".npz").name: path.with_suffix(".npz")}
            binary = ("tilesim", "compile", path.name, "--output", "p.tbin")
            yield Case(f"program/{name}", (("tilesim", "run", path.name, *RECORD),), files)
            yield Case(f"saved-tbin/{name}", (binary, ("tilesim", "run", "p.tbin", *RECORD)), files)

    def _hangs(self) -> Iterator[Case]:
        """Programs that lost a line, or wait for the wrong thing."""
        for name, path in self.programs.items():
            for line in ("receive", "send"):
                words = (("edit", path.name, rf"(?m)^\w+\.{line}: .*\n", ""), ("tilesim", "run", path.name, *RECORD))
                yield Case(f"hang-no-{line}/{name}", words, {path.name: path})
            late = re.findall(r"(?m)^(\w+\.send): ", path.read_text("utf-8"))[-1]
            held = ("tilesim", "run", path.name, *RECORD, "--rules", "observe", "--hold", f"{late}=60")
            yield Case(f"held/{name}", (held,), {path.name: path})
        for name, chip, pattern, wrong in (
            ("flag", "pocket-2x1", r"wait=(\w+)>=1\b", r"wait=\1>=9"),
            ("ring", "pocket-2x1", r"(?m)^.*: ring_produce .*\n", ""),
            ("mesh", "pocket-2x1", r"(?m)^.*: mesh_out .*\n", ""),
            ("copy", "pocket-2x1", r"(?m)^.*: wide_to_narrow .*\n", ""),
            ("circle", "systolic-4", r"until=dma_in count=4\b", "until=dma_out count=1"),
            ("late-sync", "systolic-4", r"until=matrix count=10\b", "until=matrix count=15"),
            ("weights", "systolic-4", r"(?m)^.*: read_weights .*\n", ""),
        ):
            write = ("tilesim", "compile", "pocket", "--topology", chip, "--output", "p.tasm")
            edit, run = ("edit", "p.tasm", pattern, wrong), ("tilesim", "run", "p.tasm", *RECORD)
            yield Case(f"hang-{name}/pocket/{chip}", (write, edit, run))

    def _documents(self) -> Iterator[Case]:
        for networks, chip in (
            (("pocket",), "pocket-2x1"), (("pocket", "example-conv"), "edge-1x2"), (("digits",), "edge-2x2"),
            (("mlperf_kws_dscnn",), "edge-2x2"), (("mlperf_resnet8",), "edge-4x4"), (("mlperf_ad_ae",), "edge-1x1"),
            (("pocket",), "systolic-4"), (("pocket", "digits"), "tpu-v1"),
        ):  # fmt: skip
            if self._known(networks) == list(networks):
                for command in ("check", "cache"):
                    step = ("tilesim", command, *map(self._word, networks), "--topology", chip, "--json")
                    yield self._case(f"{command}/{'+'.join(networks)}/{chip}", networks, step)


def quick(case: Case) -> bool:
    """Whether it belongs to the part that takes a minute: every program, and a share of what is small."""
    kind, network, *more = case.name.split("/")
    if kind.startswith(("program", "check", "hang", "held", "trace", "python")):
        return LARGE.isdisjoint(network.split("+"))
    *_, chip = network, *more
    unread = network.startswith("tflm") and chip != "edge-1x1"  # what is not read is refused alike for each chip
    large = LARGE & {network, *more, *network.split("+")}
    share = 1 if kind.startswith("series") else 3
    return chip in SMALL_CHIPS and not large and not unread and case.drawn(share)
