"""What is proven, suggested and judged, in lines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tilesim.cli.output import tell, tell_json
from tilesim.findings import sentence
from tilesim.machines.machine import Document
from tilesim.printable import counted

PAIRS = {
    "disjoint": "on disjoint nodes",
    "queue": "of the same master",
    "order": "in a proven order",
    "single": "of single packets, which can't lie inside one another",
    "open": "that can meet",
}
PROOFS = {
    "flag": "by a flag",
    "fence": "by a fence",
    "section": "by the end of the load program",
    "arrival": "by rows that must come first",
}


def proof_lines(proof: Document) -> Iterator[str]:
    """The verdict on a program, and what is proven of its transfers."""
    verdict = "proven" if proof["proven"] else f"{len(proof['refutations'])} refuted"
    yield f"{proof['program']} on {proof['topology']}: {verdict}"
    if proof.get("readings"):
        yield from _ring_lines(proof)


def _ring_lines(proof: Document) -> Iterator[str]:
    """What is proven of transfers on a ring."""
    pairs = [f"{count:,} {PAIRS[kind]}" for kind, count in proof["pairs"].items() if count]
    total = sum(proof["pairs"].values())
    yield f"  {counted(proof['transfers'], 'transfer')} on the ring, {counted(total, 'pair')}{_listed(pairs)}"
    proofs = [f"{count:,} {PROOFS[kind]}" for kind, count in proof["proofs"].items() if count]
    if proofs:
        yield f"  {counted(sum(proof['proofs'].values()), 'order')} proven one by one{_listed(proofs)}"
    if total:
        readings = [
            _verdict(reading, forbidden["pairs"], proof["reading"]) for reading, forbidden in proof["readings"].items()
        ]
        yield f"  the rule for masters, read as {'; '.join(readings)}"


def _verdict(reading: str, pairs: int, binding: str) -> str:
    read = f"{reading}, which binds" if reading == binding else reading
    return f"{read}: {counted(pairs, 'pair')} unproven" if pairs else f"{read}: proven"


def _listed(words: list[str]) -> str:
    return f": {', '.join(words)}" if words else ""


def suggestion_lines(suggestion: Document, output: Path | None) -> Iterator[str]:
    """The lines of the program that change, what that costs, and the proof; or what no wait can mend."""
    if not suggestion["mended"]:
        yield "no wait and no fence was found with which all is proven"
        yield from (f"left ({each['rule']}): {each['sentence']}: {each['reason']}" for each in suggestion["left"])
        return
    if not suggestion["additions"]:
        yield "nothing is missing: all is proven as it is"
    else:
        yield from _mend_lines(suggestion)
    if output is not None:
        yield f"written to {output}"


def _mend_lines(suggestion: Document) -> Iterator[str]:
    kinds = [kind for change in suggestion["changes"] for kind in change["additions"]]
    added = " and ".join(counted(kinds.count(kind), kind) for kind in dict.fromkeys(kinds))
    yield f"suggested: {added}, with which all is proven"
    for change in suggestion["changes"]:
        yield f"@@ {change['section']}[{change['place']}] @@"
        for sign, lines in (("-", change["removed"]), ("+", change["added"]), (" ", change["kept"])):
            yield from (f"{sign}{line}" for line in lines)
    yield from (f"  {line}" for line in (_cost(suggestion), _search_words(suggestion["search"])))
    yield from proof_lines(suggestion["proof"])


def _cost(suggestion: Document) -> str:
    before, after = suggestion["cycles"]["before"], suggestion["cycles"]["after"]
    if after is None:
        return "a run of it does not come to its end with inputs made up"
    bytes_ = "and leaves the same bytes in all memories" if suggestion["same_bytes"] else "but breaks the rules"
    if before is None:
        return f"a run takes {after:,} cycles; one of the program as it is does not come to its end"
    return f"a run takes {after:,} cycles; one of the program as it is takes {before:,}, {bytes_}"


def _search_words(search: Document) -> str:
    others = f"; {search['proven']:,} of them are proven with as little, and none is faster" * (search["proven"] > 1)
    return f"{counted(search['proofs'], 'program')} tried{others}{'; there was more to try' * search['cut']}"


def tell_judgement(judgement: Document, as_json: bool) -> bool:
    """Tell what recorded packets did; whether they kept to the reading that binds."""
    if as_json:
        tell_json(judgement)
    else:
        tell(*_judgement_lines(judgement))
    return bool(judgement["kept"])


def _judgement_lines(judgement: Document) -> Iterator[str]:
    pairs = counted(judgement["readings"][judgement["reading"]]["pairs"], "pair")
    yield f"{judgement['file']}: {'kept' if judgement['kept'] else f'{pairs} not kept apart'}"
    cycles = judgement["cycles"]
    when = f", in cycles {cycles[0]:,} to {cycles[1]:,}" if cycles else ""
    transfers, masters = counted(judgement["transfers"], "transfer"), counted(judgement["masters"], "master")
    yield f"  {counted(judgement['packets'], 'passing packet')} of {transfers} of {masters}{when}"
    readings = [
        f"{name}{', which binds' if name == judgement['reading'] else ''}: "
        f"{'kept' if each['kept'] else counted(each['pairs'], 'pair')}"
        for name, each in judgement["readings"].items()
    ]
    yield f"  the rule for masters, read as {'; '.join(readings)}"
    if judgement["unfinished"]:
        yield f"  not over when the recording ends: {', '.join(judgement['unfinished'])}"
    if not judgement["complete"]:
        yield "  so many packets lie between those of others that not all were looked at"
    yield from (f"refuted (masters): {sentence(finding)}" for finding in judgement["findings"])
