"""The chip without time: its work, its transfers, what can happen, and what never will."""
