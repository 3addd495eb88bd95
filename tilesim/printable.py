"""Text from files and command lines, for a terminal and for people."""

from __future__ import annotations


def printable(text: str) -> str:
    """``text`` on one line, with every character that would steer a terminal, or that nobody sees, written as Python
    writes it: ``\\x1b``, ``\\n``, ``\\u202e``. All letters stay, of whatever script.
    """
    return text if text.isprintable() else "".join(map(_shown, text))


def printable_lines(text: str) -> str:
    """``text`` with each of its lines :func:`printable`."""
    return "\n".join(map(printable, text.split("\n")))


def _shown(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode()
