"""Exact integer arithmetic of quantised networks, shared by golden operators and hardware units. NumPy only."""
