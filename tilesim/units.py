"""Quantities with units: what people write and read ("64 KiB", "500 MHz", 1.2 us) against the integers inside."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal

BYTE_UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
HERTZ_UNITS = {"Hz": 1, "kHz": 10**3, "MHz": 10**6, "GHz": 10**9}
SECOND_UNITS = {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}

# The exponent has two digits at most, so that no text can ask for a number that fills the memory.
_QUANTITY = re.compile(r"([0-9][0-9_]*(?:\.[0-9]+)?(?:[eE]\+?[0-9]{1,2})?)\s*([A-Za-z]*)")


def parse_bytes(value: object) -> int:
    """A size in bytes, from an int or from text such as ``"64 KiB"``; a number alone counts bytes.

    Raises:
        ValueError: ``must be a size such as ...``, when it is neither, is negative or is not whole.
    """
    return _parse(value, BYTE_UNITS, 'a size such as "64 KiB"')


def parse_hertz(value: object) -> int:
    """A frequency in hertz, from an int or from text such as ``"500 MHz"``; a number alone counts hertz.

    Raises:
        ValueError: ``must be a frequency such as ...``, when it is neither, is zero or is not whole.
    """
    hertz = _parse(value, HERTZ_UNITS, 'a frequency such as "500 MHz"')
    if hertz == 0:
        raise ValueError("must be a frequency above zero, not 0")
    return hertz


def _parse(value: object, units: Mapping[str, int], what: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    match = _QUANTITY.fullmatch(str(value).strip())
    if match and match[2] in {"", *units}:
        exact = Decimal(match[1].replace("_", "")) * units.get(match[2], 1)
        if exact == exact.to_integral_value():
            return int(exact)
    raise ValueError(f"must be {what} (units: {', '.join(units)}), whole and not negative, not {value!r}")


def format_bytes(size_bytes: int) -> str:
    """A size for people: the largest binary unit that it fills, with at most two decimals (``"1.5 MiB"``)."""
    for unit in ("GiB", "MiB", "KiB"):
        if size_bytes >= BYTE_UNITS[unit]:
            return f"{size_bytes / BYTE_UNITS[unit]:.2f}".rstrip("0").rstrip(".") + f" {unit}"
    return f"{size_bytes} B"


def format_hertz(hertz: int) -> str:
    """A frequency for people, exact: the largest unit that it fills (``"1.5 GHz"``, ``"16 Hz"``)."""
    unit = next((unit for unit, size in reversed(HERTZ_UNITS.items()) if hertz >= size), "Hz")
    return f"{hertz / HERTZ_UNITS[unit]:.15g} {unit}"


def format_seconds(seconds: float) -> str:
    """A time for people: three digits in the largest unit that it fills (``"1.28 ms"``)."""
    rounded = float(f"{seconds:.3g}")
    unit = next((unit for unit, size in SECOND_UNITS.items() if rounded >= size), "ns")
    value = seconds / SECOND_UNITS[unit]
    return f"{value:,.0f} {unit}" if value >= 1000 else f"{value:.3g} {unit}"


def cycles_to_us(cycles: int, clock_hz: int) -> float:
    """Microseconds that ``cycles`` take at ``clock_hz``."""
    return cycles * 1e6 / clock_hz
