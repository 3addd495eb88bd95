"""Names from model files, for a terminal."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.text import Text

from tilesim.printable import printable


@dataclass(frozen=True)
class Ending:
    """A name in a column; where there is no room for all of it, its end, as its beginning it shares with others."""

    name: str

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(1, max(1, cell_len(self.name)))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text(ending(self.name, options.max_width), no_wrap=True, overflow="ellipsis")


def ending(name: str, width: int) -> str:
    """A name, or its end: its beginning it shares with others."""
    return name if len(name) <= width else f"…{name[len(name) + 1 - width :]}"


def short_name(name: str) -> str:
    """What tells a layer from the others in the long names that converters make.

    TensorFlow joins the names of all that it fused with semicolons, what comes out last first and constants that
    layers share among them; it ends each with operations in capitals (``model/conv2d_1/BiasAdd``) and begins it with
    the model. ONNX Runtime's quantiser adds the name of its operator.
    """
    fused = [_words(part) for part in printable(name).split(";")]
    others = [words for words in fused if words != fused[0]] or fused
    words = max(reversed(others), key=lambda words: _shared(fused[0], words))
    inner = words[1:] if len(words) > 2 else words
    return "/".join(dict.fromkeys([*inner[:1], *takewhile(lambda word: not word[:1].isupper(), inner[1:])]))


def _shared(a: list[str], b: list[str]) -> int:
    """How many words two names have in common, from the first."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False)))


def _words(name: str) -> list[str]:
    words = name.removesuffix("_QuantizeLinear_Output").strip("/").split("/")
    return words[1:] if len(words) > 1 and words[0] == "StatefulPartitionedCall" else words
