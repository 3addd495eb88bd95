import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilesim.units import BYTE_UNITS, cycles_to_us, format_bytes, format_hertz, format_seconds, parse_bytes, parse_hertz


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [
        ("64 KiB", 65536),
        ("64KiB", 65536),
        (" 1.5 MiB ", 1572864),
        ("0 B", 0),
        ("1_000", 1000),
        ("2 KB", 2000),
        (64.0, 64),
    ],
)
def test_bytes(text: object, size_bytes: int) -> None:
    assert parse_bytes(text) == size_bytes


@pytest.mark.parametrize(("text", "hertz"), [("500 MHz", 500_000_000), ("1.2GHz", 1_200_000_000), ("7e8", 700_000_000)])
def test_hertz(text: str, hertz: int) -> None:
    assert parse_hertz(text) == hertz


@pytest.mark.parametrize("value", ["", "KiB", "64 kb", "-1", -1, 0.5, "1.5 B", True, None, [1], "1e999999", "64 KiB!"])
def test_not_a_size(value: object) -> None:
    with pytest.raises(ValueError, match=r'^must be a size such as "64 KiB" .*, not '):
        parse_bytes(value)


@pytest.mark.parametrize(
    ("hertz", "words"),
    [
        (1, "1 Hz"),
        (16, "16 Hz"),
        (1500, "1.5 kHz"),
        (500_000_000, "500 MHz"),
        (2_125_000_000, "2.125 GHz"),
        (10**12, "1000 GHz"),
    ],
)
def test_hertz_for_people(hertz: int, words: str) -> None:
    assert format_hertz(hertz) == words


@given(st.integers(1, 10**12))
def test_hertz_for_people_are_exact(hertz: int) -> None:
    assert parse_hertz(format_hertz(hertz)) == hertz


def test_a_clock_of_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="above zero"):
        parse_hertz(0)


@given(st.integers(0, 2**40), st.sampled_from(sorted(BYTE_UNITS)))
def test_every_unit_multiplies(count: int, unit: str) -> None:
    assert parse_bytes(f"{count} {unit}") == count * BYTE_UNITS[unit]


@given(st.integers(0, 1023), st.sampled_from(["B", "KiB", "MiB"]))
def test_whole_sizes_survive_the_round_trip(count: int, unit: str) -> None:
    assert parse_bytes(format_bytes(count * BYTE_UNITS[unit])) == count * BYTE_UNITS[unit]


def test_for_people() -> None:
    assert [format_bytes(n) for n in (0, 1000, 1536, 2**20, 5 * 2**30)] == [
        "0 B",
        "1000 B",
        "1.5 KiB",
        "1 MiB",
        "5 GiB",
    ]


def test_time_at_the_edge() -> None:
    assert cycles_to_us(1000, 500_000_000) == 2.0


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "0 ns"), (2e-9, "2 ns"), (9.996e-7, "1 us"), (0.00012345, "123 us"), (0.0012805, "1.28 ms"),
        (0.1234, "123 ms"), (0.9997, "1 s"), (12.345, "12.3 s"), (12345.6, "12,346 s"),
    ],
)  # fmt: skip
def test_a_time_has_three_digits(seconds: float, shown: str) -> None:
    assert format_seconds(seconds) == shown
