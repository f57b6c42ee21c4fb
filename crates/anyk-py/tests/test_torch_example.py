"""The worked example with a tenth of its training: one network fails at another K, the fixed one does not."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("anyk", reason="the compiled package")
# With such small tensors, several threads are slower than one.
torch.set_num_threads(1)

EXAMPLE = Path(__file__).parents[3] / "examples" / "python" / "own_m_gnn.py"


@pytest.fixture(scope="module")
def example() -> ModuleType:
    if not EXAMPLE.exists():
        pytest.skip("the examples are not next to the tests")
    spec = importlib.util.spec_from_file_location("own_m_gnn", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_network_without_a_size_law_fails_at_another_size(example: ModuleType) -> None:
    own = example.train_own(1, steps=700)
    (_, served, over), (_, later, under) = example.measured(own, [10, 200], 10)
    assert served > 0.8 and 0.0 < over < 20.0
    assert later < 0.05 and under < -15.0


def test_the_price_layer_holds_at_any(example: ModuleType) -> None:
    fixed = example.train_fixed(1, steps=200)
    for k, served, over in example.measured(fixed, [1, 10, 200, 1000], 5):
        assert served == 1.0 and -1e-3 < over < 2.0, (k, served, over)


@pytest.mark.parametrize("name", ["equivariant", "price", "bandwidth"])
def test_examples_of_the_modules(name: str) -> None:
    found = doctest.testmod(importlib.import_module(f"anyk.torch.{name}"))
    assert found.attempted > 0 and found.failed == 0


def test_the_blocks_of_the_documentation() -> None:
    page = EXAMPLE.parents[2] / "docs" / "pytorch.md"
    if not page.exists():
        pytest.skip("the documentation is not next to the tests")
    blocks = re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S)
    assert len(blocks) >= 3
    names: dict[str, object] = {}
    for block in blocks:
        exec(block, names)
