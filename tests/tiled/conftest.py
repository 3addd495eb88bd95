"""Who runs the chip's programs."""

from collections.abc import Iterator

import pytest

from tilesim.api.running import ENGINE_VARIABLE


@pytest.fixture(scope="module")
def on_simpy() -> Iterator[None]:
    """A module of tests of the units themselves, which say what a run is; the compiled engine repeats what they say."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ENGINE_VARIABLE, "simpy")
        yield
