"""When caching programs run, as requests come in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilesim.tiled.caching.tokens import NO_TOKEN, CacheRequest, loads

A, B = CacheRequest("a", 1), CacheRequest("b", 2)


def test_packages_with_tokens_of_their_own_drive_each_other_out() -> None:
    """Oracle 23, its first half: three times for a, a, b, a."""
    assert loads([A, A, B, A]) == (True, False, True, True)


@given(st.lists(st.sampled_from(["a", "b"])))
def test_packages_that_share_a_token_load_once_each(packages: list[str]) -> None:
    """Oracle 23, its second half: twice in all, however the two come."""
    found = loads(CacheRequest(package, 7) for package in packages)
    assert sum(found) == len(set(packages))
    assert [package for package, ran in zip(packages, found, strict=True) if ran] == list(dict.fromkeys(packages))


def test_without_a_token_nothing_outlives_a_request() -> None:
    alone = CacheRequest("c", NO_TOKEN)
    assert loads([alone, alone]) == (True, True)
    assert loads([A, alone, A]) == (True, True, True)


@pytest.mark.parametrize(("token", "again"), [(1, False), (2, True), (NO_TOKEN, True)])
def test_a_package_without_caching_program(token: int, again: bool) -> None:
    """It loads nothing itself; if it belongs to others, it overwrites what is there."""
    assert loads([A, CacheRequest("plain", token, caches=False), A]) == (True, False, again)


@given(st.lists(st.builds(CacheRequest, st.sampled_from("abc"), st.integers(0, 2), st.booleans())))
def test_a_program_runs_again_only_after_another_token(requests: list[CacheRequest]) -> None:
    for k, ran in enumerate(loads(requests)):
        request = requests[k]
        since: list[CacheRequest] = []
        for earlier in reversed(requests[:k]):
            if earlier.token != request.token or request.token == NO_TOKEN:
                break
            since.append(earlier)
        loaded = any(each.package == request.package and each.caches for each in since)
        assert ran == (request.caches and not loaded)
