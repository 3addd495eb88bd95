"""Every TensorFlow Lite operator that tilesim reads, in every form."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from scripts.differentials.case import Drawn, Family
from scripts.differentials.tflite_draft import Draft


def logistic(rng: np.random.Generator) -> Drawn:
    draft = Draft(rng)
    x = draft.input((1, draft.number(1, 300)), draft.pick(np.int8, np.uint8))
    y = draft.wire(x.shape, x.dtype, draft.near(1 / 256), draft.zero_point(x.dtype))
    return draft.drawn(draft.made("LOGISTIC", [x.index], y))


FAMILIES: Mapping[str, Family] = {"logistic": logistic}
