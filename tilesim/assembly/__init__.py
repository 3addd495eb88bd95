"""Programs of any machine as text (``.tasm``) and as bytes (``.tbin``), by the types of their dataclasses' fields."""

TEXT, BINARY = ".tasm", ".tbin"
SUFFIXES = (TEXT, BINARY)
"""How the file of a program may end."""
