"""Parameters: where they stay while a program runs, and the bytes that the host brings there first."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass
class Storage:
    """Bytes from address 0 on of a memory; what is kept twice is there once."""

    parts: list[NDArray[np.uint8]] = field(default_factory=list)
    size_bytes: int = 0
    _known: dict[bytes, int] = field(default_factory=dict)

    def keep(self, values: NDArray[Any]) -> int:
        """The address of some numbers."""
        data = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
        key = data.tobytes()
        if key not in self._known:
            self._known[key] = self.size_bytes
            self.parts.append(data)
            self.size_bytes += data.size
        return self._known[key]

    def data(self) -> NDArray[np.uint8]:
        """All of it."""
        return np.concatenate(self.parts) if self.parts else np.zeros(0, np.uint8)
