"""The units of the systolic machine: SimPy processes, one hardware unit a file."""
