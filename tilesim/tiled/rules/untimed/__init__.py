"""The chip without time: what can happen, and what never will."""
