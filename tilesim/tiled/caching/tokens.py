"""When parameters must be loaded again: what the run-time knows about those that lie in the tiles' memories."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

NO_TOKEN = 0
"""The token of a package that was not compiled together with others: nothing outlives its request."""


@dataclass(frozen=True)
class CacheRequest:
    """One inference of a package. Packages compiled together share a ``token``, because their parameters lie side by
    side; ``caches`` says whether the package has a caching program at all.
    """

    package: str
    token: int
    caches: bool = True


@dataclass(frozen=True)
class Resident:
    """The packages whose parameters lie in the tiles' memories, all compiled under ``token``."""

    token: int = NO_TOKEN
    packages: frozenset[str] = frozenset()

    def must_load(self, request: CacheRequest) -> bool:
        """Whether the caching program of a request's package runs before its inference."""
        return request.caches and request.package not in self._kept(request)

    def after(self, request: CacheRequest) -> Resident:
        """What is there once ``request`` is done."""
        loaded = {request.package} if request.caches else set()
        return Resident(request.token, self._kept(request) | loaded)

    def _kept(self, request: CacheRequest) -> frozenset[str]:
        """Of what is there, what the request's package does not overwrite."""
        stays = request.token == self.token != NO_TOKEN
        return self.packages if stays else frozenset()


def loads(requests: Iterable[CacheRequest]) -> tuple[bool, ...]:
    """For each of ``requests``, on a chip that holds nothing at first, whether its caching program runs.

    **Source**: the run-time library of the Edge TPU, ``driver.cc``: tokens, and what another one clears.
    """
    resident, must_load = Resident(), []
    for request in requests:
        must_load.append(resident.must_load(request))
        resident = resident.after(request)
    return tuple(must_load)
