"""Runs compared: the two models of the chip, and what accesses without an order do."""
