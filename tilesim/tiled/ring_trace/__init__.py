"""Packets on a ring as a table, from a run or from elsewhere, and what they did that the rule for masters forbids."""
