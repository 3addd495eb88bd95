"""What units do that costs energy: one vocabulary for all machines and for the table of energies."""

from __future__ import annotations

from enum import StrEnum


class Action(StrEnum):
    """An action, counted by the unit that takes it.

    Arithmetic is by its operands' bits: ``MAC_8X16`` multiplies 8 by 16 bits and adds to a sum of 32; ``ADD_8`` may be
    a comparison, ``LOOKUP`` is one in a table in registers. A hop carries bytes over one link.
    """

    MAC_8X8 = "mac_8x8"
    MAC_8X16 = "mac_8x16"
    MAC_16X16 = "mac_16x16"
    MULTIPLY_32 = "multiply_32"
    ADD_32 = "add_32"
    ADD_8 = "add_8"
    LOOKUP = "lookup"
    NARROW_READ = "narrow_read"
    NARROW_WRITE = "narrow_write"
    WIDE_READ = "wide_read"
    WIDE_WRITE = "wide_write"
    DATA_MEMORY_READ = "data_memory_read"
    INSTRUCTION_MEMORY_READ = "instruction_memory_read"
    RING_HOP = "ring_hop"
    MESH_HOP = "mesh_hop"
    INSTRUCTION_HOP = "instruction_hop"
    HOST_TRANSFER = "host_transfer"
    BUFFER_READ = "buffer_read"
    BUFFER_WRITE = "buffer_write"
    ACCUMULATOR_READ = "accumulator_read"
    ACCUMULATOR_WRITE = "accumulator_write"
    WEIGHT_MEMORY_READ = "weight_memory_read"
    CELL_HOP = "cell_hop"


Actions = dict[Action, int]
"""How often each action was taken."""
