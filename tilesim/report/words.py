"""Words for people: names from model files, kinds of layers, causes, energies."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.text import Text

from tilesim.printable import counted, printable
from tilesim.statistics import EndStatistics, HostStepStatistics, RunStatistics

KINDS = {
    "averagepool": "average pool",
    "depthwiseconvolution": "depthwise",
    "fullyconnected": "fully connected",
    "leakyrelu": "leaky ReLU",
    "maxpool": "max pool",
    "resizenearest": "nearest resize",
    "stridedslice": "strided slice",
    "transposeconvolution": "transposed convolution",
}
"""Kinds of layers whose names in the statistics are not yet words."""
SHORT = {
    "averagepool": "avg pool",
    "concatenation": "concat",
    "convolution": "conv",
    "depthwiseconvolution": "dw conv",
    "dequantise": "dequant",
    "fullyconnected": "FC",
    "resizenearest": "resize",
    "transposeconvolution": "transposed conv",
}
"""Those whose words are too long for a column of a table."""
QUANTISER_ENDINGS = ("_QuantizeLinear_Output", "_QuantizeLinear", "_DequantizeLinear", "_quantized", "_quant")
"""What ONNX Runtime's quantiser adds to names of nodes and values."""
MOST_STEPS = 8
"""Steps of the host that a terminal shows."""
NAMED = 3
"""Transfers that are named; of more it gives the number."""
COMPUTING, BUSY_ARRAY = "macs", "MAC array"
"""The cycles in which MAC arrays are busy, at whatever use, and what that is in words."""
USEFUL = (COMPUTING, "useful MACs")
"""What machines call the cycles of MACs that layers ask for."""
FOR = {
    "mac_8x8": "multiplying 8-bit operands and adding",
    "mac_8x16": "multiplying 8 by 16 bits and adding",
    "mac_16x16": "multiplying 16-bit operands and adding",
    "multiply_32": "32-bit multiplications, for rescaling",
    "add_32": "32-bit additions",
    "add_8": "8-bit comparisons",
    "lookup": "looking up in tables",
    "narrow_read": "reading narrow memory",
    "narrow_write": "writing narrow memory",
    "wide_read": "reading wide memory",
    "wide_write": "writing wide memory",
    "data_memory_read": "reading data memory",
    "instruction_memory_read": "fetching instructions",
    "ring_hop": "carrying rows over the ring",
    "mesh_hop": "carrying words over the mesh",
    "instruction_hop": "carrying instructions",
    "host_transfer": "the host's link",
    "buffer_read": "reading the unified buffer",
    "buffer_write": "writing the unified buffer",
    "accumulator_read": "reading accumulators",
    "accumulator_write": "writing accumulators",
    "weight_memory_read": "reading weight memory",
    "cell_hop": "moving operands from cell to cell",
}
"""What an action does, for ``the most for ...``."""
PREFIXES = ((1e9, "mJ"), (1e6, "uJ"), (1e3, "nJ"), (1, "pJ"))


# ---- names from model files


@dataclass(frozen=True)
class Ending:
    """A name in a column; where there is no room for all of it, its end, as its beginning it shares with others."""

    name: str

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(1, max(1, cell_len(self.name)))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text(ending(self.name, options.max_width), no_wrap=True, overflow="ellipsis")


def ending(name: str, width: int) -> str:
    """A name, or its end: its beginning it shares with others."""
    return name if len(name) <= width else f"…{name[len(name) + 1 - width :]}"


def short_name(name: str) -> str:
    """What tells a layer from the others in the long names that converters make.

    TensorFlow joins the names of all that it fused with semicolons, what comes out last first and constants that
    layers share among them; it ends each with operations in capitals (``model/conv2d_1/BiasAdd``) and begins it with
    the model. ONNX Runtime's quantiser adds words of its own at the end.
    """
    fused = [_words(part) for part in printable(name).split(";")]
    others = [words for words in fused if words != fused[0]] or fused
    words = max(reversed(others), key=lambda words: _shared(fused[0], words))
    inner = words[1:] if len(words) > 2 else words
    return "/".join(dict.fromkeys([*inner[:1], *takewhile(lambda word: not word[:1].isupper(), inner[1:])]))


def _shared(a: list[str], b: list[str]) -> int:
    """How many words two names have in common, from the first."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False)))


def _words(name: str) -> list[str]:
    ending = next(filter(name.endswith, QUANTISER_ENDINGS), "")
    words = name.removesuffix(ending).strip("/").split("/")
    return words[1:] if len(words) > 1 and words[0] == "StatefulPartitionedCall" else words


# ---- kinds and causes


def kind_words(kind: str) -> str:
    """A kind of layer in words: ``fullyconnected`` is ``fully connected``."""
    return KINDS.get(kind, kind)


def kind_word(kind: str) -> str:
    """A kind of layer for a column of a table: ``fullyconnected`` is ``FC``."""
    return SHORT.get(kind, kind_words(kind))


def cause_words(cause: str | None) -> str:
    """What bounds a layer, or a run, for a table."""
    return BUSY_ARRAY if cause == COMPUTING else cause or "-"


# ---- ends

ENDS = {
    "hang": "hung",
    "collision": "was stopped by transfers that broke the rule for masters",
    "access": "was stopped by an access",
}
"""How runs end that don't come to their end."""
WAITS = " has waited since cycle "
"""In a line of a report that names no cause."""


def end_words(end: EndStatistics) -> str:
    """How a run ended that did not come to its end, and when."""
    where = "" if end["section"] == "run" else f" of the {end['section']} program"
    return f"{ENDS[end['kind']]} after {counted(end['cycle'], 'cycle')}{where}"


def end_cause(end: EndStatistics) -> str:
    """The line of its report that says most: the first cause, or else the first unit that waits."""
    waits = end["report"][1:] or end["report"]
    causes = [line for line in waits if WAITS not in line]
    return next(iter([*causes, *waits]), "")


# ---- what was changed to see what it would save


def instant_words(statistics: RunStatistics) -> str:
    """Which transfers took no time, if any did."""
    labels = [printable(label) for label in statistics.get("instant", ())]
    if not labels:
        return ""
    more = f" and {len(labels) - NAMED:,} more" if len(labels) > NAMED else ""
    return f"{', '.join(labels[:NAMED])}{more} took no time: so it is on no chip"


def host_steps_words(statistics: RunStatistics) -> list[str]:
    """A sentence each step of the host; of many, the first."""
    steps = statistics.get("host_steps", [])
    more = len(steps) - MOST_STEPS
    return [
        *map(host_step_words, steps[:MOST_STEPS]),
        *([f"and {more:,} more, which run.json has"] if more > 0 else []),
    ]


def host_step_words(step: HostStepStatistics) -> str:
    """What the host computed, when, and what crossed its link for it."""
    name, cycles = printable(step["name"]), step["cycles"]
    return (
        f"layer {step['layer']} {name} ({kind_words(step['kind'])}) at the host: {step['from_chip_bytes']:,} bytes "
        f"from the chip, {step['to_chip_bytes']:,} to it; {cycles:,} cycles from cycle {step['start_cycle']:,} on"
    )


# ---- energies


def energy_words(statistics: RunStatistics) -> str:
    """All energy of a run, that for a MAC, and what takes most of it; nothing if it has none, or does not say."""
    energy = statistics.get("energy")
    if not energy or not energy["total_pj"]:
        return ""
    total, actions = energy["total_pj"], energy["actions"]
    most = max(actions, key=lambda action: actions[action]["pj"])
    share, macs = actions[most]["pj"] / total, statistics["macs"]
    per_mac = f", {total / macs:,.3g} pJ a MAC" if macs else ""
    return f"{energy_text(total)}{per_mac}; most, {share:.1%}, for {action_words(most)}"


def energy_text(pj: float) -> str:
    """An energy with a fitting unit."""
    scale, unit = next((prefix for prefix in PREFIXES if abs(pj) >= prefix[0]), PREFIXES[-1])
    return f"{pj / scale:,.3g} {unit}" if pj / scale < 1000 else f"{pj / scale:,.0f} {unit}"


def action_words(action: str) -> str:
    """What an action does; another machine's may be called by its name."""
    return FOR.get(action, action.replace("_", " "))
