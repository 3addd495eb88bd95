"""What tests of random models share."""

import pytest

from scripts.differentials.onnx_runtime import saturates


@pytest.fixture(autouse=True)
def _a_reference(request: pytest.FixtureRequest) -> None:
    """On x86 without VNNI instructions ONNX Runtime's own sums are wrong, and there is nothing to compare with."""
    if "onnx" in request.node.nodeid and saturates():
        pytest.skip("ONNX Runtime's sums of uint8 by int8 saturate on this processor, which has no VNNI instructions")
