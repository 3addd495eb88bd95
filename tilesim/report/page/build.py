"""One self-contained HTML document out of sections: their data, and the scripts and styles that draw them."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

WHOLE = ("uint8", "int8", "uint16", "int16", "uint32", "int32")
"""The dtypes of whole numbers, the smallest first."""
ARRAYS = {dtype: f"{dtype.capitalize()}Array" for dtype in (*WHOLE, "float32", "float64")}
"""What a column of each dtype is in the browser."""
EXACT = 2**53
"""The browser's numbers hold whole numbers below this."""
FAST = 1
"""How hard columns are compressed: harder takes three times as long, for a page that is a tenth smaller."""


@dataclass(frozen=True)
class PageSection:
    """A part of the page: ``data`` goes there as JSON, ``columns`` as compressed typed arrays.

    It is drawn by the file ``<name>.js`` in this package, or by ``scripts``, which share a scope, and styled by
    ``<name>.css`` if there is one.
    """

    name: str
    title: str
    data: Any = None
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    scripts: tuple[str, ...] = ()


def page(title: str, subtitle: str, sections: Sequence[PageSection]) -> str:
    """The whole document. It asks the network for nothing, and runs no script but its own.

    Titles, names and data may be anything: they show as text.

    Raises:
        ValueError: data that JSON has no word for, or a column that the browser's numbers can't hold.
    """
    base, drawers = _asset("base.js"), "\n".join(_script(section) for section in sections)
    styles = "\n".join(
        _asset(name, optional=True) for name in ("base.css", *(f"{section.name}.css" for section in sections))
    )
    return "".join(
        (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
            f'<meta http-equiv="Content-Security-Policy" content="{_policy((base, drawers))}">\n',
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n<link rel="icon" href="data:,">\n',
            f"<title>{_text(title)}</title>\n<style>\n{styles}</style>\n<script>{base}</script>\n</head>\n<body>\n",
            *_header(title, subtitle, sections),
            "<main>\n<noscript><p>This page draws its pictures with scripts, which are switched off.</p></noscript>\n",
            *(part for section in sections for part in _body(section)),
            f"</main>\n<script>{drawers}</script>\n</body>\n</html>\n",
        )
    )


def _text(words: str) -> str:
    """Any text as HTML; half characters, which no file can hold, become question marks."""
    return html.escape(words.encode("utf-8", "replace").decode())


def _policy(scripts: Iterable[str]) -> str:
    """What the browser lets the page do: nothing but its styles, pictures made here, and these very scripts."""
    hashes = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    sources = " ".join(f"'sha256-{digest}'" for digest in hashes)
    return f"default-src 'none'; style-src 'unsafe-inline'; script-src {sources}; img-src data: blob:"


def _asset(name: str, optional: bool = False) -> str:
    asset = files(__package__) / name
    return "" if optional and not asset.is_file() else asset.read_text(encoding="utf-8")


def _script(section: PageSection) -> str:
    parts = "\n".join(_asset(name) for name in section.scripts or (f"{section.name}.js",))
    return f'(() => {{\n"use strict";\n{parts}}})();'


def _header(title: str, subtitle: str, sections: Sequence[PageSection]) -> Iterator[str]:
    yield f"<header>\n<div><h1>{_text(title)}</h1>\n<p>{_text(subtitle)}</p></div>\n<nav>"
    for section in sections:
        yield f'<a href="#{_text(section.name)}">{_text(section.title)}</a> '
    yield '<button type="button" id="theme">Dark</button></nav>\n</header>\n'


def _body(section: PageSection) -> Iterator[str]:
    name, title = _text(section.name), _text(section.title)
    yield f'<section id="{name}" aria-labelledby="{name}-title">\n<h2 id="{name}-title">{title}</h2>\n'
    yield '<div class="drawn"></div>\n'
    yield f'<script type="application/json" class="data">{_json(section.data)}</script>\n'
    for column, array in section.columns.items():
        kind, text = encoded(array)
        yield f'<script type="text/plain" class="column" data-name="{_text(column)}" data-array="{kind}">'
        yield f"{text}</script>\n"
    yield "</section>\n"


def _json(data: Any) -> str:
    """JSON that can't end the element it stands in, nor open a comment there."""
    return json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def encoded(array: NDArray[Any]) -> tuple[str, str]:
    """The browser's array type for a column, and its elements: little-endian, deflated, in base 64.

    Whole numbers take the smallest type that holds them all.
    """
    smallest = _smallest(array)
    data = smallest.astype(smallest.dtype.newbyteorder("<"), copy=False).tobytes()
    return ARRAYS[smallest.dtype.name], base64.b64encode(zlib.compress(data, FAST)).decode()


def _smallest(array: NDArray[Any]) -> NDArray[Any]:
    if array.dtype.kind not in "iub":
        return array if array.dtype.name in ARRAYS else array.astype(np.float64)
    lowest, highest = (int(array.min()), int(array.max())) if array.size else (0, 0)
    if max(-lowest, highest) >= EXACT:
        raise ValueError(f"must be below 2**53 to be exact in a browser, not {max(-lowest, highest)}")
    for name in ("uint8", "int8", "uint16", "int16", "uint32", "int32"):
        if np.iinfo(name).min <= lowest and highest <= np.iinfo(name).max:
            return array.astype(name)
    return array.astype(np.float64)
