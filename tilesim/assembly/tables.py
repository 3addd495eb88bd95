"""The tables of a binary program: its strings, and the kinds of its records with their fields by name and type."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tilesim.assembly.encoding import Encoding, kind_name
from tilesim.assembly.fields import Field
from tilesim.assembly.streams import Codec, Damage, Layout, Reader, Writer
from tilesim.printable import shown, unknown


def write_tables(strings: Iterable[str], kinds: Iterable[type], encoding: Encoding) -> bytes:
    """The tables of a file: its strings, then its kinds of records with their fields, whose names are strings too."""
    head, names = Writer(), Writer(strings={text: place for place, text in enumerate(strings)})
    listed = list(kinds)
    names.natural(len(listed))
    for kind in listed:
        names.string(kind_name(kind))
        names.natural(len(encoding.fields(kind)))
        for each in encoding.fields(kind).values():
            names.string(each.name)
            names.string(each.codec.spelling)
            names.natural(each.optional)
    head.natural(len(names.strings))
    for text in names.strings:
        head.blob(text.encode("utf-8", "surrogatepass"))
    head.data += names.data
    head.fill_word()
    return bytes(head.data)


def read_strings(source: Reader) -> list[str]:
    """The strings, which come first. Raises Damage."""
    for _ in range(source.count()):
        try:
            source.strings.append(source.take(source.natural()).decode("utf-8", "surrogatepass"))
        except UnicodeDecodeError:
            raise Damage(f"must have strings in UTF-8, not what ends at byte {source.at}") from None
    return source.strings


def read_tables(source: Reader, encoding: Encoding) -> None:
    """Fill the tables of ``source`` with what ``write_tables`` wrote. Raises Damage."""
    read_strings(source)
    known = encoding.kinds
    for _ in range(source.count()):
        name = source.string()
        if name not in known:
            raise Damage(unknown(name, known, "a kind of record that this tilesim knows"))
        kind = known[name]
        source.kinds.append(kind)
        source.layouts[kind] = _read_layout(source, kind, encoding.fields(kind))
    source.skip_word()


def _read_layout(source: Reader, kind: type, ours: Mapping[str, Field[Codec]]) -> Layout:
    """The fields of ``kind`` as the file has them, which must mean something here. Raises Damage."""
    layout: dict[str, tuple[Field[Codec], bool]] = {}
    for _ in range(source.count()):
        name, spelling, optional = source.string(), source.string(), bool(source.natural())
        if name not in ours:
            raise Damage(f"{kind_name(kind)} {unknown(name, ours, 'made of fields that this tilesim knows')}")
        here = ours[name]
        if spelling != here.codec.spelling or optional > here.optional or name in layout:
            how = f"{here.codec.spelling!r} as in this tilesim"
            raise Damage(f"the field {name} of {kind_name(kind)} must be {how}, not {shown(spelling)}")
        layout[name] = here, optional
    if missing := [name for name, here in ours.items() if name not in layout and not here.optional]:
        raise Damage(f"{kind_name(kind)} must also have {', '.join(missing)}; another tilesim wrote the file")
    return Layout(tuple(layout.values()))
