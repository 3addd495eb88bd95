"""Layers made band by band of rows, several at a time."""
