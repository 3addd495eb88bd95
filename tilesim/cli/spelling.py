"""What faults call an argument of the public calls, spelt as the option of the command line that gives it."""

from __future__ import annotations

import re

OPTIONS = {
    "override": "--set",
    "partition": "--partition",
    "cache": "--no-cache, --priority and --layer-priority",
    "masters": "--masters",
    "rules": "--rules",
    "holds": "--hold",
    "hold": "--hold",
}
PLACES = (
    re.compile(r"^(?:[^:]*: )?(?P<word>\w+) must be left out: "),
    re.compile(r"^(?P<word>override) \S+="),
    re.compile(r"^(?P<word>hold) (?:must be the label |')"),
    re.compile(r"; (?P<word>the override) grid=RxC "),
)
"""Where a fault names an argument."""


def in_options(fault: str) -> str:
    """A fault in the words of the command line."""
    for place in PLACES:
        match = place.search(fault)
        if match and (option := OPTIONS.get(match["word"].removeprefix("the "))):
            return f"{fault[: match.start('word')]}{option}{fault[match.end('word') :]}"
    return fault
