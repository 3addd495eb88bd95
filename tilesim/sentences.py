"""What many sentences about faulty input have in common."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

LONGEST_SHOWN = 40
MOST_LISTED = 16


def shown(text: str) -> str:
    """``text`` as a fault quotes it: short, printable, or "nothing"."""
    short = text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 3]}..."
    return repr(short) if text else "nothing"


def unknown(word: str, known: Iterable[str], what: str) -> str:
    """The sentence for a ``word`` that is none of ``known``."""
    names = sorted(map(str, known))
    close = get_close_matches(word, names, 1)
    listed = f" (one of {', '.join(names)})" if len(names) <= MOST_LISTED else ""
    return f"must be {what}, not {shown(word)}{f'; did you mean {close[0]!r}?' if close else listed}"
