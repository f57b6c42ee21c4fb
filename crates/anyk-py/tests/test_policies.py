"""User-defined policies: comparison with the optimum, and diagnosis."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import anyk


def equal_power(cell: anyk.Cell) -> tuple[Any, Any]:
    size = len(cell)
    power = np.full(size, cell.max_power_w / size)
    return power, anyk.required_bandwidth(power * cell.gains)[0]


def test_a_function_stands_beside_the_optimum(price_policy: anyk.Model) -> None:
    table = anyk.evaluate(
        {"mine": equal_power, "price": price_policy, "optimum": None}, problem="urllc", sizes=[2, 20], samples=10, progress=False
    )
    rows = {(row["policy"], row["k"]): row for row in table}
    assert set(name for name, _ in rows) == {"mine", "price", "optimum", "equal-power"}
    for size in (2, 20):
        mine, ours = rows["mine", size], rows["equal-power", size]
        assert mine["gap_percent"] == pytest.approx(ours["gap_percent"], rel=1e-6)
        assert mine["availability"] == 1 and mine["reorder_change"] < 1e-9 and mine["microseconds"] > 0
        assert rows["price", size]["gap_percent"] < 0.01 and rows["optimum", size]["gap_percent"] == 0
        assert mine["gap_standard_error"] > 0
    assert "urllc" in str(table) and "mine" in table._repr_html_()
    assert table["k"] == [2, 20] * 4


def test_one_that_answers_many_cells_at_once_is_the_same() -> None:
    calls: list[int] = []

    @anyk.batched
    def many(cells: list[anyk.Cell]) -> list[Any]:
        calls.append(len(cells))
        return [equal_power(cell) for cell in cells]

    table = anyk.evaluate({"one": equal_power, "many": many}, problem="urllc", sizes=[5], samples=12, progress=False)
    one, two = (next(row for row in table if row["policy"] == name) for name in ("one", "many"))
    assert one["gap_percent"] == two["gap_percent"] and calls[0] == 12


def test_a_model_is_refused_in_a_cell_that_it_does_not_know() -> None:
    model = anyk.train("urllc", method="p-gnn", samples=100, progress=False)
    with pytest.raises(anyk.InputError, match="max_power_dbm is 30, expected 43, which m was trained for"):
        anyk.evaluate({"m": model}, problem="urllc", sizes=[3], samples=3, max_power_dbm=30, progress=False)


def test_what_a_policy_may_return() -> None:
    def as_dict(cell: anyk.Cell) -> Any:
        power, bandwidth = equal_power(cell)
        return {"bandwidth_hz": bandwidth.tolist(), "power_w": power.astype(np.float64)}

    def as_allocation(cell: anyk.Cell) -> Any:
        return cell.solve("equal-power")

    table = anyk.evaluate({"a": as_dict, "b": as_allocation}, problem="urllc", sizes=[4], samples=5, progress=False)
    gaps = [row["gap_percent"] for row in table if row["policy"] in "ab"]
    assert gaps[0] == pytest.approx(gaps[1], rel=1e-9)


def test_what_is_no_answer_is_counted_and_told() -> None:
    def short(cell: anyk.Cell) -> Any:
        return [1.0], [1e5]

    def none(cell: anyk.Cell) -> Any:
        raise anyk.Infeasible("not today")

    def nan(cell: anyk.Cell) -> Any:
        return np.full(len(cell), np.nan), np.full(len(cell), 1e5)

    def ordered(cell: anyk.Cell) -> Any:
        share = np.arange(1, len(cell) + 1)
        power = cell.max_power_w * share / share.sum()
        return power, np.full(len(cell), 1e6)

    table = anyk.evaluate(
        {"short": short, "none": none, "nan": nan, "ordered": ordered}, problem="urllc", sizes=[3], samples=6, progress=False
    )
    rows = {row["policy"]: row for row in table}
    for name, says in [("short", r"shape \(1,\), expected \(3,\)"), ("none", "not today"), ("nan", "expected a finite number")]:
        assert rows[name]["failed"] == 6 and rows[name]["availability"] == 0
        told = [failure["why"] for failure in table.failures if failure["policy"] == name]
        assert told and all(pytest.importorskip("re").search(says, why) for why in told)
    assert rows["ordered"]["reorder_change"] > 0.1


def test_allocations_over_the_budget_are_told() -> None:
    def greedy(cell: anyk.Cell) -> Any:
        power, bandwidth = equal_power(cell)
        return (power * (1 + 1e-7 * (len(cell) > 2))), bandwidth

    table = anyk.evaluate({"greedy": greedy}, problem="urllc", sizes=[2, 3], samples=6, progress=False)
    for shown in (str(table), table._repr_html_()):
        assert shown.count("exceed the budget") == 1 and "greedy, K = 3: 6 allocations exceed the budget" in shown


def test_a_module_of_tensors_is_no_policy() -> None:
    class Network:
        def state_dict(self) -> Any: ...

        def __call__(self, cell: Any) -> Any:
            return cell.unsqueeze(0)

    for call in (anyk.evaluate, anyk.diagnose):
        with pytest.raises(anyk.InputError, match="the module Network cannot take a cell: .* Wrap it in a function"):
            call(Network(), problem="urllc", progress=False)  # type: ignore[operator]


def test_an_exception_of_a_policy_is_the_callers() -> None:
    def broken(cell: anyk.Cell) -> Any:
        raise ZeroDivisionError("my own fault")

    with pytest.raises(ZeroDivisionError, match="my own fault"):
        anyk.evaluate({"mine": broken}, problem="urllc", sizes=[3], samples=3, progress=False)
    with pytest.raises(ZeroDivisionError):
        anyk.diagnose(broken, problem="urllc", progress=False)


def test_other_problems_take_functions_too() -> None:
    def on(cell: anyk.Cell) -> Any:
        return cell.max_power

    table = anyk.evaluate({"on": on}, problem="interference", sizes=[3, 6], samples=5, scenario="d2d", progress=False)
    on_rows = [row for row in table if row["policy"] == "on"]
    full = [row for row in table if row["policy"] == "full-power"]
    assert [row["gap_percent"] for row in on_rows] == pytest.approx([row["gap_percent"] for row in full])

    def in_band(cell: anyk.Cell) -> Any:
        return cell.solve("equal-bandwidth")

    table = anyk.evaluate({"mine": in_band}, problem="urllc-power", sizes=[2, 5], samples=4, progress=False)
    assert all(row["availability"] == 1 for row in table)


def test_a_diagnosis_names_the_law() -> None:
    found = anyk.diagnose(equal_power, problem="urllc", progress=False)
    assert "1/K" in found.size_law and found.recommended == "mean + softmax" and found.equivariant.startswith("yes")
    assert "size law" in str(found) and found.tables
    # The powers share a budget, so the fits of all candidates include that of the price layer.
    assert "price layer" in str(found)
    bandwidth = anyk.diagnose(equal_power, problem="urllc", quantity="bandwidth", progress=False)
    assert bandwidth.size_invariant.startswith("no")
    assert "price layer" not in str(bandwidth)
    built_in = anyk.diagnose("urllc-power", users=4000, progress=False)
    assert built_in.recommended == "price layer" and built_in.details["diagnosis"]
    with pytest.raises(anyk.InputError, match="expected one of power_w, bandwidth_hz"):
        anyk.diagnose(equal_power, problem="urllc", quantity="colour")


def test_a_diagnosis_of_samples(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    k = np.repeat([2, 5, 10, 20, 50], [2000] * 5)
    x = rng.exponential(size=k.size)
    instance = np.concatenate([np.arange(2000) // size + 10_000 * size for size in (2, 5, 10, 20, 50)])
    samples = {"k": k, "x": x, "y": np.sqrt(x), "instance": instance}
    found = anyk.diagnose(samples, progress=False)
    assert found.size_invariant.startswith("yes")
    np.savez(tmp_path / "samples.npz", **samples)
    with np.load(tmp_path / "samples.npz") as archive:
        assert str(anyk.diagnose(archive, progress=False)) == str(found)
    table = pytest.importorskip("pandas").DataFrame(samples)
    assert str(anyk.diagnose(table, progress=False)) == str(found)


def test_progress_is_told() -> None:
    seen = []
    anyk.evaluate({"mine": equal_power}, problem="urllc", sizes=[50, 100], samples=100, progress=lambda *how: seen.append(how))
    assert seen and seen[-1][2] >= seen[-1][1] >= 0


def test_a_bar_needs_a_total() -> None:
    from anyk._progress import _Bar

    made = []

    class Tqdm:
        def __init__(self, **how: Any) -> None:
            made.append(how["total"])
            self.n = 0

        update = close = write = lambda *_: None

    bar = _Bar(Tqdm)
    for done, of in ((0, 0), (3, 0), (3, 9), (6, 9)):
        bar("work", done, of, ["a message"])
    assert made == [9]


def test_studies_are_tables() -> None:
    assert "table3" in anyk.studies()
    found = anyk.study("fig1", progress=False)
    table = found[0]
    assert len(table) > 2 and table.columns and table.chart is not None
    # Numbers have all digits; the text is that of the program.
    mean, deviation = table["mean y_k ± standard deviation, x_k = 1"][0]
    assert f" {mean:.4f} ± {deviation:.4f} " in str(table) and mean != round(mean, 4)
    assert table["K"][0] == 2
    assert table.claims[0]["holds"] and "\n[reproduces] Figure 1: of two policies" in str(table)
    frame = pytest.importorskip("pandas").DataFrame
    assert isinstance(found.to_pandas(), frame)
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    assert found.plot().get_xlabel()
