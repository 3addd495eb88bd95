"""The figures at the top of a page are those of the run."""

from tests.report.saved import made_up
from tilesim.report.page.overview import overview


def test_figures_are_those_of_the_run() -> None:
    run = made_up(None, cycles=12_345, latency_us=24.69, load_cycles=678, macs=1_000, mac_utilisation=0.25)
    found = {figure["name"]: (figure["value"], figure["meaning"]) for figure in overview(run).data}
    assert {name: value for name, (value, _) in found.items()} == {
        "cycles": "12,345",
        "latency": "24.7 us",
        "loading": "678",
        "MACs in use": "25.0%",
    }
    assert found["MACs in use"][1].startswith("1,000 useful ones")


def test_of_several_inferences_the_latency_is_the_first_ones() -> None:
    [_, latency, *_] = overview(made_up(None, latency_us=2.0, inferences=8, clock_hz=700_000_000)).data
    assert latency == {"name": "latency", "value": "2 us", "meaning": "the first of 8 inferences at 700 MHz"}


def test_the_largest_cost_is_in_words() -> None:
    units = [{"track": "chip.tile0.mac_array", "busy_cycles": 25, "stall_cycles": {"port": 75}, "idle_cycles": 0}]
    run = made_up(None, cycles=100, units=units, breakdown={"macs": 25, "port": 75})
    figure = overview(run).data[-1]
    assert (figure["name"], figure["value"]) == ("largest cost", "75%")
    assert figure["meaning"].endswith("waiting for a memory port")
