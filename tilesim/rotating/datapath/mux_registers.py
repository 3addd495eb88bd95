"""The mux-registers: a row of words that is loaded, or rotates."""

from __future__ import annotations

import numpy as np

from tilesim.rotating.datapath.words import Words
from tilesim.rotating.topology import Topology


class MuxRegisters:
    """A word a unit, of each sample; zero at first.

    Rings stand twice in a row in ``_rings``, (samples, rings, 2 * words of one), so that a rotation only moves the
    place at which they begin.
    """

    def __init__(self, topology: Topology, samples: int) -> None:
        units = topology.units
        self._length = units.count // units.segments
        self._up = topology.rotation.direction == "up"
        self._shift = units.count // 4 if units.segment_shift == "quarter" else 0
        self._rings: Words = np.zeros((samples, units.segments, 2 * self._length), np.int32)
        self._at = 0

    def load(self, words: Words) -> None:
        """Take a word each of (samples, units)."""
        in_order = np.roll(words, -self._shift, axis=-1) if self._shift else words
        rings = in_order.reshape(len(words), -1, self._length)
        self._rings[..., : self._length] = rings
        self._rings[..., self._length :] = rings
        self._at = 0

    def rotate(self, distance: int) -> None:
        """Take the word of the unit ``distance`` below, or above where the direction is down."""
        self._at = (self._at - distance if self._up else self._at + distance) % self._length

    @property
    def words(self) -> Words:
        """(samples, units); a view, as long as nothing is loaded."""
        words = self._rings[..., self._at : self._at + self._length].reshape(len(self._rings), -1)
        return np.roll(words, self._shift, axis=-1) if self._shift else words
