"""Policies on the caller's cells and on user-defined problems."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import anyk


def equal_power(cell: anyk.Cell) -> tuple[Any, Any]:
    power = np.full(len(cell), cell.max_power_w / len(cell))
    return power, anyk.required_bandwidth(power * cell.gains)[0]


def equal_shares(cell: anyk.Cell) -> Any:
    return np.full(len(cell), cell.budget / len(cell))


def water(u: Any) -> Any:
    return -np.log1p(u)


def drawn(sizes: tuple[int, ...], count: int) -> anyk.Batch:
    return anyk.Batch.of_cells([cell for k in sizes for cell in anyk.sample("urllc", k, count=count, seed=7)])


def test_given_cells_are_judged_like_random_ones(price_policy: anyk.Model) -> None:
    policies: dict[str, Any] = {"mine": equal_power, "price": price_policy}
    given = anyk.evaluate(policies, cells=drawn((2, 20), 10), progress=False)
    random = anyk.evaluate(policies, problem="urllc", sizes=[2, 20], samples=10, progress=False)
    for one, two in zip(given, random):
        assert {**one, "microseconds": 0} == {**two, "microseconds": 0}
    assert "20 given cells" in given.title and "seed" not in given.title


def test_cells_come_in_any_form() -> None:
    cells = [anyk.Urllc([60.0, 90.0]), anyk.Urllc([70.0])]
    table = anyk.evaluate(equal_power, cells=cells, progress=False)
    assert [row["k"] for row in table if row["policy"] == "equal_power"] == [1, 2]
    rows = anyk.from_table({"distance_m": [60.0, 90.0], "cell": [1, 2], "max_power_dbm": [40, 30]})
    assert anyk.evaluate(equal_power, cells=rows, progress=False)["instances"] == [2] * 3
    assert len(anyk.evaluate(equal_power, cells=cells[0], progress=False)) == 3
    for given, says in [
        ({"sizes": [3]}, "sizes applies to random cells, but cells are given; remove sizes or cells"),
        ({"samples": 3}, "samples applies to random cells"),
        ({"seed": 3}, "seed applies to random cells"),
        ({"max_power_dbm": 3}, "max_power_dbm applies to random cells"),
        ({"problem": "interference"}, "problem is 'interference', but the cells are of urllc"),
    ]:
        with pytest.raises(anyk.InputError, match=says):
            anyk.evaluate(equal_power, cells=cells, **given)
    with pytest.raises(anyk.InputError, match="cells: expected a cell, a list of cells or a Batch"):
        anyk.evaluate(equal_power, cells=[1])
    model = anyk.train("urllc", method="p-gnn", samples=100, max_power_dbm=40, progress=False)
    with pytest.raises(anyk.InputError, match="max_power_dbm is 43, expected 40, which m was trained for"):
        anyk.evaluate({"m": model}, cells=cells)


def test_failures_with_one_reason_are_counted() -> None:
    def none(cell: anyk.Cell) -> Any:
        raise anyk.Infeasible("not today")

    table = anyk.evaluate({"none": none}, problem="urllc", sizes=[3], samples=6, progress=False)
    (failure,) = table.failures
    assert failure["count"] == 6 and failure["why"] == "not today"
    assert str(table).count("not today") == 1 and "6 cells, first cell 1 of seed 7" in str(table)
    given = anyk.evaluate({"none": none}, cells=[anyk.Urllc([60.0])], progress=False)
    assert "none at K = 1: cell 0: not today" in str(given)


def test_a_separable_problem_is_evaluated_and_diagnosed() -> None:
    problem = anyk.Separable(water, gains=[2.0, 1.0, 0.1], budget=10.0)
    model = anyk.train(problem, progress=False)
    table = anyk.evaluate({"half": equal_shares, "m": model}, problem=problem, sizes=[2, 10], samples=20, progress=False)
    rows = {(row["policy"], row["k"]): row for row in table}
    assert rows["half", 10]["gap_percent"] == pytest.approx(rows["equal-shares", 10]["gap_percent"]) and rows["half", 10]["gap_percent"] > 1
    assert rows["m", 10]["gap_percent"] < 0.1 and abs(rows["optimum", 10]["gap_percent"]) < 1e-9
    mixed = [problem, problem.with_gains([1.0, 5.0]), anyk.Separable(lambda u: np.exp(-u), gains=[1.0], budget=2.0)]
    given = anyk.evaluate({"half": equal_shares}, cells=mixed, progress=False)
    assert [row["k"] for row in given if row["policy"] == "half"] == [1, 2, 3]
    with pytest.raises(anyk.InputError, match="max_power_dbm does not apply to a separable problem"):
        anyk.evaluate(equal_shares, problem=problem, max_power_dbm=3)
    found = anyk.diagnose(equal_shares, problem=problem, progress=False)
    assert "1/K" in found.size_law


def test_given_cells_are_diagnosed(price_policy: anyk.Model) -> None:
    cells = drawn((2, 5, 20, 50), 60)
    found = anyk.diagnose(equal_power, cells=cells, progress=False)
    assert "1/K" in found.size_law and "given cells" in found.policy
    assert "K = 2, 5, 20, 50" in found.samples and "too few" not in found.samples
    assert anyk.diagnose(price_policy, cells=cells, progress=False).size_law
    more = anyk.Batch.of_cells([*cells, anyk.Urllc([60.0] * 3)])
    assert "1 other K have too few cells" in anyk.diagnose(equal_power, cells=more, progress=False).samples
    with pytest.raises(anyk.InputError, match="needs at least two values of K, .* 0 of 1 values have enough"):
        anyk.diagnose(equal_power, cells=[anyk.Urllc([60.0, 90.0])])
    with pytest.raises(anyk.InputError, match="seed applies to random cells"):
        anyk.diagnose(equal_power, cells=cells, seed=3)
    with pytest.raises(anyk.InputError, match="cells: expected a function of a cell or a model"):
        anyk.diagnose("urllc-power", cells=cells)


def test_round_off_is_printed_as_zero() -> None:
    cell = anyk.Urllc([60.0, 90.0, 240.0])
    table = anyk.evaluate({"mine": lambda cell: cell.solve()}, cells=[cell], progress=False)
    assert table.rows[0]["worst_gap_percent"] is not None
    printed = str(table)
    assert "e-1" not in printed.split("size law")[0] and "-0" not in printed.replace("e-0", "")
    assert "equal to the reference" in repr(cell.judge(cell.solve()))
