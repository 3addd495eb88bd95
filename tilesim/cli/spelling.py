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
}
PLACES = (
    re.compile(r"^(?:[^:]*: )?(?P<word>\w+) must be left out: "),
    re.compile(r"^(?P<word>override) \S+="),
    re.compile(r"; (?P<word>the override) grid=RxC "),
)
"""Where a fault names an argument."""


def in_options(fault: str) -> str:
    """A fault in the words of the command line."""
    for place in PLACES:
        found = place.search(fault)
        if found and (option := OPTIONS.get(found["word"].removeprefix("the "))):
            return f"{fault[: found.start('word')]}{option}{fault[found.end('word') :]}"
    return fault
