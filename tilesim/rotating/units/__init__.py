"""The hardware, one unit a file."""
