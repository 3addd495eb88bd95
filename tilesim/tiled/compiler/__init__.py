"""From a network to a program for one chip.

A network that does not fit the chip, or has layers that it can't run, raises a CapacityError with all that is wrong; a
chip too small for an instruction that a network needs a ProgramError.
"""
