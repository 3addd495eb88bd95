"""The energy of a run in words."""

from __future__ import annotations

from tilesim.statistics import RunStatistics

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
