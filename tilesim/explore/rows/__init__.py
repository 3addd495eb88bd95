"""Rows: where they are kept, as text, and which of them are the best."""
