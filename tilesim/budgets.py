"""How large a file from outside may be, and how much of it: more is refused before anything is built of it.

The budgets leave room for VGG19, a network of 143 million parameters (144 MB as .tflite), and are some ten times what
the largest files that tilesim has written need. Reading anything within them takes less than 1 GB of memory.
"""

from __future__ import annotations

KIB, MIB = 1 << 10, 1 << 20

# ---- files

LARGEST_MODEL_BYTES = 256 * MIB
"""A .tflite or .onnx file, or a binary program."""
LARGEST_ARRAYS_BYTES = 512 * MIB
"""All arrays that are read from one .npz or .npy file, as they are in memory."""
LARGEST_INPUTS_BYTES = 128 * MIB
"""The inputs of a run."""
LARGEST_TRACE_BYTES = 256 * MIB
"""The columns of a trace: some seven million spans."""
MOST_TRACE_NAMES = 1 << 18
"""Tracks, kinds, instructions or layers."""
LARGEST_SIGNALS_BYTES = 256 * MIB
"""The columns of a state log."""
MOST_SIGNAL_VALUES = 1 << 23
"""The cycles of a state log's window, times its signals."""
MOST_ARRAYS = 1 << 16
"""Arrays in an .npz file."""
LARGEST_RING_TRACE_BYTES = 256 * MIB
MOST_RING_PACKETS = 4_000_000
"""Packets on a ring that were recorded elsewhere, a line for each stop that each passes."""
LARGEST_TEXT_BYTES = 16 * MIB
"""The text of a program."""
MOST_LINES = 150_000
"""Lines of a program's text."""
LONGEST_LINE = 64 * KIB
"""Characters in one of them."""
LARGEST_TABLE_BYTES = 1 * MIB
"""A table of published points."""
MOST_TABLE_ROWS = 1000
"""Points in one of them."""
LARGEST_RUN_BYTES = 16 * MIB
"""A run.json."""
MOST_RUN_VALUES = 1 << 19
"""Values in it, lists and objects too."""
LARGEST_YAML_BYTES = 512 * KIB
"""A YAML file; and the characters of all its values, aliases counted as what they stand for."""

# ---- what files hold

LARGEST_CONSTANTS_BYTES = 256 * MIB
"""The constants of a network, counted as often as operators read them, since many may share one."""
MOST_OPERATORS = 1 << 14
MOST_TENSORS = 1 << 16
MOST_CHANNELS = 1 << 20
"""Outputs of an operator that has weights."""
MOST_MODEL_FIELDS = 1 << 19
"""Fields of all messages in an .onnx file."""
MOST_MODEL_NUMBERS = 1 << 23
"""Shapes, indices, scales and zero points of a .tflite file, shared vectors counted as often as they are named; or the
numbers of an .onnx file that are not raw bytes.
"""
LARGEST_NAMES_BYTES = 16 * MIB
"""All names in a model, likewise."""
MOST_YAML_VALUES = 50_000
MOST_YAML_LEVELS = 50
LONGEST_NUMBER = 400
"""Digits in a YAML file; Python converts at most 4300."""
LONGEST_TEXT = 4096
"""Characters of a text or a key in a YAML file."""
MOST_PROGRAM_VALUES = 1 << 19
"""Entries of all lists in a binary program."""
MOST_FAULTS = 1_000
"""Faults in a program's text after which reading ends."""

# ---- runs, and sweeps of many

MOST_RUN_INFERENCES = 1000
"""Of each model, in one run."""
MOST_AXIS_VALUES = 10_000
"""Values of one axis of a sweep."""
MOST_POINTS = 1_000_000
"""Of a sweep: all axes multiplied."""
MOST_SEARCHED_POINTS = 10**18
"""Of the space of a search, which looks at few of them."""

# ---- a YAML workload, whose sample is computed while it is read

MOST_SAMPLE_ELEMENTS = 1 << 24
"""Of one map, its border included."""
MOST_SAMPLE_WINDOWS = 1 << 26
"""Elements of a map as often as windows hold them."""
MOST_SAMPLE_WEIGHTS = 1 << 27
"""Of one layer."""
MOST_SAMPLE_TOTAL = 1 << 28
"""Elements of all maps."""
MOST_SAMPLE_MACS = 1 << 35
"""Of all layers."""
