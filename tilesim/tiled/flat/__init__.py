"""A program as arrays: what the timing core knows of it, and nothing of its data."""
