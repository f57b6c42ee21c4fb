"""Fixtures shared by several tests."""

from __future__ import annotations

import pytest

import anyk


@pytest.fixture(scope="session")
def price_policy() -> anyk.Model:
    return anyk.train("urllc", method="price", train_k=10, progress=False)
