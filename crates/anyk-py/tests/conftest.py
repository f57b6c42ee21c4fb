"""What several tests use: made once."""

from __future__ import annotations

import pytest

import anyk


@pytest.fixture(scope="session")
def any_gnn() -> anyk.Model:
    return anyk.train("urllc", method="any-gnn", train_k=10, progress=False)
