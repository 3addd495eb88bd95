"""Checks of a program before it runs: fields, order, memories."""
