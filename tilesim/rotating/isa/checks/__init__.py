"""Checks of a program before it runs: fields, loops, rows, order."""
