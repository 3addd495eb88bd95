"""By how much a condition is missed, for a search that is to come closer."""

from __future__ import annotations

from itertools import pairwise

from tilesim.explore.conditions.terms import COMPARISONS, Both, Comparison, Term, Values
from tilesim.explore.point import Value

MISSED = 1.0
"""Of a condition that does not hold, where no numbers say how far it is from that."""


def violation(term: Term, values: Values) -> float:
    """Zero where the condition holds; else what two numbers that are compared differ by, in parts of the larger one.

    Of conditions that are joined by ``and`` it is the sum, of those by ``or`` the smallest.

    Raises:
        InputError: the condition cannot be worked out.
    """
    if term.value(values) is True:
        return 0.0
    if isinstance(term, Both):
        each = [violation(part, values) for part in (term.first, term.second)]
        return min(each) if term.either else sum(each)
    if isinstance(term, Comparison):
        pairs = pairwise(operand.value(values) for operand in term.operands)
        return sum(_missed(sign, *pair) for sign, pair in zip(term.signs, pairs, strict=True))
    return MISSED


def _missed(sign: str, one: Value | None, other: Value | None) -> float:
    if one is None or other is None:
        return MISSED
    if COMPARISONS[sign](one, other):
        return 0.0
    if isinstance(one, str) or isinstance(other, str) or one == other:
        return MISSED
    return abs(one - other) / max(abs(one), abs(other))
