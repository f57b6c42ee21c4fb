"""Misspelled names get a hint, at run time and from type checkers; objects show their numbers."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

import anyk
from anyk._problems import MethodName, ProblemName, SolverName

CELL = anyk.Urllc([60.0, 90.0])
OWN = anyk.Separable(lambda u: -np.log1p(u), gains=[1.0, 2.0], budget=1.0)


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        (lambda: anyk.Urllc(distance_m=[60.0]), "distances_m"),
        (lambda: anyk.cells("urllc", distance_m=[[60.0]]), "distances_m"),
        (lambda: anyk.Urllc([60.0], max_power_w=3), "max_power_dbm"),
        (lambda: anyk.Interference(np.eye(2), wieghts=[1, 1]), "weights"),
        (lambda: anyk.train("urllc", trian_k=5), "train_k"),
        (lambda: anyk.train("urllc", method="pgnn"), "p-gnn"),
        (lambda: anyk.train("urlc"), "urllc"),
        (lambda: anyk.sample("urllc", 3, cuont=2), "count"),
        (lambda: anyk.sample("urllc", 3, n=2), "count"),
        (lambda: anyk.evaluate(lambda cell: cell, problem="urllc", sampels=2), "samples"),
        (lambda: anyk.evaluate(lambda cell: cell, problem="urllc", K=[1, 2]), "sizes"),
        (lambda: anyk.evaluate(lambda cell: cell, problem=OWN, K=[1, 2]), "sizes"),
        (lambda: anyk.evaluate(lambda cell: cell, problem="urllc", count=2), "samples"),
        (lambda: anyk.diagnose(lambda cell: cell, problem="urllc", k=3), "sizes"),
        (lambda: anyk.evaluate({"equal-pover": None}, problem="urllc"), "equal-power"),
        (lambda: anyk.diagnose("urllc-pwer"), "urllc-power"),
        (lambda: anyk.diagnose(lambda cell: cell, problem="urllc", quantity="pwoer"), "power"),
        (lambda: anyk.study("prise"), "price"),
        (lambda: anyk.sweep({"problem": "urlc", "policies": "optimum", "k": 1}), "urllc"),
        (lambda: CELL.solve("optimal"), "optimum"),
        (lambda: CELL.solve().powr_w, "power_w"),
        (lambda: anyk.sample("urllc", 2, 2).solve().powr_w, "power_w"),
        (lambda: CELL.gain, "gains"),
        (lambda: anyk.Separable(lambda u: -u, gains=[1.0], budget=1, weigths=[1]), "weights"),
        (lambda: anyk.from_table({"distances": [60.0]}), "distance_m"),
    ],
)
def test_a_similar_name_is_suggested(wrong: Callable[[], Any], meant: str) -> None:
    with pytest.raises((anyk.InputError, AttributeError)) as why:
        wrong()
    assert str(why.value).endswith(f"Did you mean {meant}?")
    assert str(why.value).lower().count("did you mean") == 1


def test_other_names_get_no_hint() -> None:
    for wrong in (lambda: anyk.Urllc([60.0], colour=3), lambda: CELL.solve().colour, lambda: anyk.train("x")):
        with pytest.raises((anyk.InputError, AttributeError)) as why:
            wrong()
        assert "Did you mean" not in str(why.value)


def test_a_model_that_does_not_exist() -> None:
    for call in (anyk.evaluate, anyk.diagnose, anyk.load):
        with pytest.raises(FileNotFoundError, match=r"No such file or directory: 'nosuch\.safetensors'"):
            call("nosuch.safetensors")  # type: ignore[operator]


def test_types_name_all_problems_and_methods() -> None:
    assert list(get_args(ProblemName)) == list(anyk.problems())
    trained = [anyk.options(problem, "train") for problem in anyk.problems()]
    methods = {name for options in trained for row in options if row["name"] == "method" for name in row["of"]}
    assert set(get_args(MethodName)) == methods | {"any-gnn"}
    baselines = {name for row in anyk._anyk.problems() for name, _ in row[4]}
    assert set(get_args(SolverName)) == baselines | {"equal-shares"}


def test_type_checkers_find_typos(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    code = tmp_path / "typos.py"
    lines = [
        "import anyk",
        "answer = anyk.Urllc([60.0]).solve()",
        "answer.power_w.sum()",
        "answer.powr_w",
        'anyk.train("urllc", method="price")',
        'anyk.train("urlc")',
        'anyk.train("urllc", method="pgnn")',
    ]
    code.write_text("\n".join(lines))
    command = [sys.executable, "-m", "mypy", "--no-error-summary", "--cache-dir", str(tmp_path / "cache"), str(code)]
    # mypy reads the sources of the package; the version of Python has no effect on these errors.
    package = str(Path(anyk.__file__).parents[1])
    found = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env={"MYPYPATH": package, "PATH": ""})
    own = [line for line in found.stdout.splitlines() if line.startswith("typos.py:") and ": error:" in line]
    assert [line.split(":")[1] for line in own] == ["4", "6", "7"], found.stdout + found.stderr
    assert 'maybe "power_w"' in own[0]


def test_objects_show_numbers() -> None:
    answer = CELL.solve()
    batch = anyk.cells("urllc", distances_m=[[60.0] * size for size in range(1, 15)])
    for shown, parts in [
        (answer, ["optimal", f"{answer.power_w[1]:.5g}", f"total_bandwidth_hz {answer.total_bandwidth_hz:.5g}"]),
        (CELL, ["K = 2", f"{CELL.gains[0]:.5g}", "max_power_w 19.953"]),
        (batch, ["14 cells", f"{batch[0].gains[0]:.5g}", "… and 4 more"]),
        (batch.solve(), ["14 served", "total_power_w", "… and 4 more"]),
        (anyk.sample("interference", 3)[0].solve(), ["total_rates_bits", "rates_bits"]),
        (anyk.EqualBandwidth([60.0, 90.0], rate_bps=1e5).solve(), ["bandwidth_hz"]),
        (anyk.options("urllc", "solve"), ["max_power_dbm", "43"]),
        (anyk.Separable(lambda u: -np.log1p(u), gains=[1.0, 2.0], budget=1.0), ["budget 1"]),
    ]:
        for part in parts:
            assert part in repr(shown) and part in shown._repr_html_(), (part, repr(shown))


def test_a_model_shows_its_cell(price_policy: anyk.Model) -> None:
    assert "max_power_dbm 43" in repr(price_policy) and "<td>max_power_dbm</td><td>43</td>" in price_policy._repr_html_()
    model = anyk.train("equal-bandwidth", method="m-gnn", samples=100, progress=False)
    assert f"validated_k {model.validated_k}" in repr(model)


@pytest.mark.parametrize(
    ("cost", "given", "says"),
    [
        (lambda u: np.log1p(u), {}, "to maximize a utility, pass its negative"),
        (lambda u: -np.log1p(u), {"budget": [1.0, 2.0]}, "budget has 2 numbers, expected one: .* use anyk.UrllcPower"),
        (lambda u: -np.log1p(u), {"caps": [1.0]}, "caps is not an argument of Separable. To limit a user to x ≤ m"),
        (lambda u: -np.log1p(u), {"maximize": True}, "pass its negative as the cost"),
        (lambda u: math.exp(-u), {}, "the cost cannot take an array: .* use NumPy, such as np.exp instead of math.exp"),
        (lambda u: -u if u < 1 else -1, {}, "the cost cannot take an array: .* np.where instead of if"),
    ],
)
def test_a_separable_problem_says_what_to_do_instead(cost: Any, given: dict[str, Any], says: str) -> None:
    with pytest.raises(anyk.InputError, match=says):
        anyk.Separable(cost, **{"gains": [1.0], "budget": 1.0, **given})


def test_a_cap_is_a_cost_that_ends() -> None:
    # The advice of the error: x ≤ 0.5 at a gain of 2 is u ≤ 1.
    capped = anyk.Separable(
        [lambda u: -np.log1p(np.minimum(u, 1.0)), lambda u: -np.log1p(u)], gains=[2.0, 1.0], budget=3.0, classes=[0, 1]
    )
    assert np.allclose(capped.solve().x, [0.5, 2.5], rtol=1e-6)
