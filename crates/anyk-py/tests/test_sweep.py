"""Sweeps on this machine: one table for every form of a specification, and errors before the start."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import anyk

SPEC: dict[str, Any] = {
    "problem": "urllc",
    "policies": ["m-gnn", "equal-power"],
    "k": [1, 10],
    "samples": 1500,
    "seeds": range(1, 3),
    "options": {"max_power_dbm": np.array([40, 43])},
    "train": {"samples": 40},
}
TEXT = """
problem = "urllc"
policies = ["m-gnn", "equal-power"]
k = "1,10"
samples = 1500
seeds = "1..2"
[options]
max-power-dbm = [40, 43]
[train]
samples = 40
"""


def test_every_form_of_a_specification_has_the_same_table(tmp_path: Path) -> None:
    table = anyk.sweep(SPEC, progress=False)
    text = TEXT.replace('"m-gnn", ', "")[: TEXT.index("[train]") - len('"m-gnn", ')]
    file = tmp_path / "spec.toml"
    file.write_text(text)
    for spec in (text, file, str(file)):
        assert anyk.sweep(spec, progress=False).rows == table.rows[-4:]
    assert len(table) == 2 * 2 * 2 + 2 * 2
    assert table["seed"] == [1, 1, 2, 2] * 2 + [None] * 4
    assert table["max_power_dbm"][:5] == [40, 40, 40, 40, 43]
    assert set(table["k"]) == {1, 10} and not table.failures
    assert all(row["instances"] == 1500 and row["problem"] == "urllc" for row in table)
    assert "max_power_dbm" in str(table) and "status" not in table.columns


def test_a_table_can_be_saved_and_drawn(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("matplotlib").use("Agg")
    table = anyk.sweep({**SPEC, "policies": "equal-power", "train": {}, "samples": 20}, progress=False)
    table.to_pandas().to_parquet(tmp_path / "table.parquet")
    table.to_csv(tmp_path / "table.csv")
    lines = (tmp_path / "table.csv").read_text().splitlines()
    assert lines[0].startswith("problem,policy,max_power_dbm,seed,k,instances") and len(lines) == 1 + len(table)
    axes = table.plot()
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == ["equal-power, max_power_dbm 40", "equal-power, max_power_dbm 43"]


def test_an_interrupted_sweep_continues(tmp_path: Path) -> None:
    whole = anyk.sweep(SPEC, progress=False)
    with pytest.raises(KeyboardInterrupt):
        anyk.sweep(SPEC, out=tmp_path / "out", progress=lambda what, done, of: done >= 2)
    done: list[int] = []
    again = anyk.sweep(SPEC, out=tmp_path / "out", progress=lambda what, known, of: done.append(known))
    assert again.rows == whole.rows
    # A complete folder computes nothing, and another sweep does not use it.
    assert anyk.sweep(SPEC, out=tmp_path / "out", progress=False).rows == whole.rows
    with pytest.raises(anyk.InputError, match="another folder"):
        anyk.sweep({**SPEC, "samples": 3}, out=tmp_path / "out", progress=False)


def test_failures_are_rows() -> None:
    table = anyk.sweep({**SPEC, "samples": 5, "options": {"max_power_dbm": [-60, 43]}}, progress=False)
    assert len(table.failures) == 4 and "status" in table.columns
    assert all("power budget" in row["status"] and row["value"] is None for row in table.failures)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"polices": []}, "polices is unknown; did you mean policies"),
        ({"problem": "urlc"}, "problem is urlc, expected one of urllc"),
        ({"policies": ["pgnn"]}, "did you mean p-gnn"),
        ({"options": {"max_power_dmb": 3}}, "max_power_dmb is unknown; did you mean max_power_dbm"),
        ({"k": [0]}, "k is 0, expected numbers from 1"),
        ({"samples": float("nan")}, "spec cannot be written as JSON"),
        ({"train": {"epsilon_d": [1e-6, 2.0]}}, "epsilon_d is 2, expected"),
        ({"k": lambda: 3}, "a value is of the type function"),
    ],
)
def test_bad_specifications_are_rejected(change: dict[str, Any], says: str) -> None:
    with pytest.raises(anyk.InputError, match=says):
        anyk.sweep({**SPEC, **change}, progress=False)


def test_bad_arguments_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(anyk.InputError, match="backend is 'slurm', expected 'local' or 'ray'"):
        anyk.sweep(SPEC, backend="slurm")
    with pytest.raises(anyk.InputError, match="address applies only to"):
        anyk.sweep(SPEC, address="auto")
    with pytest.raises(FileNotFoundError):
        anyk.sweep("nosuch.toml")
    with pytest.raises(anyk.InputError, match="spec is of the type int"):
        anyk.sweep(3)  # type: ignore[arg-type]
    (tmp_path / "latin.toml").write_bytes(b"problem = '\xe9'")
    with pytest.raises(anyk.InputError, match="not UTF-8"):
        anyk.sweep(tmp_path / "latin.toml")


def test_ray_is_optional() -> None:
    code = "import sys; sys.modules['ray'] = None; import anyk; anyk.sweep({'problem': 'urllc', 'policies': 'optimum', 'k': 1}, backend='ray')"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert 'pip install "anyk[ray]"' in found.stderr.splitlines()[-1]
