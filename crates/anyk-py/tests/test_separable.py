"""User-defined problems, compared with closed forms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import anyk


def waterfilled(gains: Any, budget: float) -> Any:
    """Maximize Σ ln(1 + α x) by water-filling with sorted levels, as in textbooks."""
    inverse = np.sort(1.0 / gains)
    levels = (budget + np.cumsum(inverse)) / np.arange(1, inverse.size + 1)
    used = np.nonzero(levels > inverse)[0].max()
    return np.maximum(levels[used] - 1.0 / gains, 0.0)


def rate(u: Any) -> Any:
    return -np.log1p(u)


@pytest.mark.parametrize("size", [1, 2, 10, 200, 3000])
def test_water_filling_with_its_zeros(size: int) -> None:
    gains = np.random.default_rng(size).exponential(size=size)
    best = anyk.Separable(rate, gains=gains, budget=3.0).solve()
    exact = waterfilled(gains, 3.0)
    assert best.status == "optimal" and 0 <= best.duality_gap < 1e-7
    assert best.x.sum() == pytest.approx(3.0, rel=1e-9)
    assert np.allclose(best.x, exact, atol=1e-6 * exact.max())
    if size >= 10:
        assert (best.x == 0).any()
    assert rate(gains * best.x).sum() == pytest.approx(rate(gains * exact).sum(), rel=1e-9)


def test_proportional_fairness() -> None:
    """Maximize Σ ln r_k with r_k = ln(1 + α x): at the optimum, x_k solves 1/((1+u) ln(1+u)) = ν/α."""
    gains = np.random.default_rng(0).exponential(size=30) + 0.05

    def fair(u: Any) -> Any:
        return -np.log(np.log1p(u))

    best = anyk.Separable(fair, gains=gains, budget=5.0).solve()
    u = gains * best.x
    worth = gains / ((1 + u) * np.log1p(u))
    assert best.duality_gap < 1e-7 and best.x.sum() == pytest.approx(5.0, rel=1e-9)
    assert np.allclose(worth, best.price, rtol=1e-5)


def test_energy_at_a_deadline() -> None:
    """Minimize energy over time shares: one nat in a time t takes t·(e^{1/t} − 1)/h, as for a user of weight w = 1/h.

    The cost c(u) = u(e^{1/u} − 1) falls to 1. With equal channels, equal time shares are optimal.
    """

    def energy(u: Any) -> Any:
        return u * np.expm1(1.0 / u)

    same = anyk.Separable(energy, gains=np.ones(8), budget=4.0).solve()
    assert np.allclose(same.x, 0.5, rtol=1e-6)
    gains = np.array([0.5, 1.0, 2.0])
    best = anyk.Separable(energy, gains=gains, budget=3.0).solve()
    u = gains * best.x
    worth = gains * (np.exp(1 / u) / u - np.expm1(1 / u))
    assert np.allclose(worth, best.price, rtol=1e-5) and best.duality_gap < 1e-7


def test_p1_is_a_special_case() -> None:
    cell = anyk.sample("urllc", 20, seed=4)[0]
    least = anyk.least_received_w()

    def bandwidth(u: Any) -> Any:
        found = np.full(u.shape, np.inf)
        enough = u > least * (1 + 1e-9)
        found[enough] = anyk.required_bandwidth(u[enough])[0]
        return found

    own = anyk.Separable(bandwidth, gains=cell.gains, budget=cell.max_power_w, low=least).solve()
    best = cell.solve()
    assert np.allclose(own.x, best.power_w, rtol=1e-4)
    total = anyk.required_bandwidth(own.x * cell.gains)[0].sum()
    assert total == pytest.approx(best.total_bandwidth_hz, rel=1e-8)


def test_p5_is_a_special_case() -> None:
    """If power is left over, every user gets exactly what its rate requires, because the cost is constant above it."""
    cell = anyk.QosPower(distances_m=[60.0, 120.0, 200.0], rate_bps=1e6, bandwidth_hz=1e6)
    best = cell.solve()
    needed = (best.power_w * cell.gains)[0]

    def shortfall(u: Any) -> Any:
        # Missing received power.
        return np.maximum(1.0 - u / needed, 0.0)

    own = anyk.Separable(shortfall, gains=cell.gains, budget=2 * best.total_power_w).solve()
    assert np.allclose(own.x, best.power_w, rtol=1e-6)


def test_classes_have_costs_of_their_own() -> None:
    gains = np.array([1.0, 1.0, 2.0, 2.0])
    weighted = anyk.Separable(
        [rate, lambda u: -3 * np.log1p(u)], gains=gains, budget=4.0, classes=[0, 1, 0, 1]
    ).solve()
    # Weighted water-filling: x = w·level − 1/α.
    weights = np.array([1.0, 3.0, 1.0, 3.0])
    level = (4.0 + (1 / gains).sum()) / weights.sum()
    exact = weights * level - 1 / gains
    assert exact.min() > 0 or (weighted.x == 0).any()
    if exact.min() > 0:
        assert np.allclose(weighted.x, exact, rtol=1e-6)


def test_weighted_water_filling() -> None:
    """A user of weight w gets x = (w/ν − 1/α)+, with the price ν at which the amounts sum to the budget."""
    gains, weights = np.array([2.0, 1.0, 0.1, 0.5]), np.array([1.0, 2.0, 1.0, 4.0])
    problem = anyk.Separable(rate, gains=gains, budget=4.0, weights=weights)
    assert problem.weights.tolist() == weights.tolist()
    best = problem.solve()
    # By hand: the third user gets nothing, 7/ν = 4 + 1/2 + 1 + 2, and ν = 14/15.
    assert best.price == pytest.approx(14 / 15, rel=1e-6)
    assert np.allclose(best.x, np.maximum(weights * 15 / 14 - 1 / gains, 0.0), atol=1e-6)
    assert best.x[2] == 0.0 and best.duality_gap < 1e-7
    verdict = problem.judge(best)
    assert verdict.is_feasible and abs(verdict.gap_percent) < 1e-6
    assert verdict.value == pytest.approx((weights * rate(gains * best.x)).sum(), rel=1e-9)
    assert problem.judge(anyk.Separable(rate, gains=gains, budget=4.0).solve()).gap_percent > 1
    assert np.allclose(problem.reordered([2, 0, 3, 1]).solve().x, best.x[[2, 0, 3, 1]], atol=1e-9)
    assert np.array_equal(problem.with_gains(gains, weights=weights).solve().x, best.x)
    # A common factor of all weights changes only the price.
    tenfold = anyk.Separable(rate, gains=gains, budget=4.0, weights=10 * weights).solve()
    assert np.allclose(tenfold.x, best.x, atol=1e-6) and tenfold.price == pytest.approx(10 * best.price, rel=1e-6)


def test_weights_of_1_change_no_bit() -> None:
    gains = np.random.default_rng(3).exponential(size=50)
    plain = anyk.Separable(rate, gains=gains, budget=3.0)
    model = anyk.train(plain, progress=False)
    for weights in (np.ones(50), [1] * 50):
        weighted = plain.with_gains(gains, weights=weights)
        for ours, theirs in ((weighted.solve(), plain.solve()), (model.allocate(weighted), model.allocate(plain))):
            assert np.array_equal(ours.x, theirs.x) and ours.price == theirs.price
            assert weighted.judge(ours).value == plain.judge(theirs).value
    assert plain.weights.tolist() == [1.0] * 50


def test_samples_are_a_cost_too() -> None:
    u = np.linspace(0, 40, 400)
    pairs = np.stack([u, rate(u)], axis=1)
    gains = np.array([2.0, 1.0, 0.5])
    exact = waterfilled(gains, 5.0)
    for cost in (pairs, (u, rate(u)), pairs[::-1].copy(), pairs.tolist()):
        best = anyk.Separable(cost, gains=gains, budget=5.0).solve()
        assert np.allclose(best.x, exact, rtol=0.02)
    table = anyk.Cost(pairs)
    assert table.between_samples is not None and table.between_samples < 1e-2
    function = anyk.Cost(rate, high=40.0)
    assert function.between_samples is None and function.error_bound < 1e-7
    places = np.array([0.0, 0.5, 7.0])
    assert np.allclose(function(places), rate(places), atol=1e-9)
    assert np.allclose(function.marginal(places), 1 / (1 + places), rtol=1e-7)
    assert np.allclose(function.response([0.5, 1.0, 2.0]), [1.0, 0.0, 0.0], atol=1e-7)


def test_a_kink_between_the_points_of_the_table_is_found() -> None:
    cost = anyk.Cost(lambda u: np.maximum(0, 0.39112170409597075 - u), high=99.79870850573602)
    assert np.allclose(cost([0.3898388]), 0.39112170409597075 - 0.3898388, rtol=1e-9)


@pytest.mark.parametrize(
    ("cost", "says"),
    [
        (lambda u: u, "decreas"),
        (lambda u: np.cos(u), "convex|decreas"),
        (lambda u: -np.maximum(u - 1.0, 0.0), "convex"),
        (lambda u: u * np.nan, "finite"),
        (lambda u: 0 * u, "decreas|constant|flat"),
        (lambda u: 1.0, "vectorized"),
        (lambda u: u[:1], "vectorized"),
        (lambda u: ["a"] * u.size, "cost"),
        (np.zeros((3, 3)), "pairs"),
        (([0.0, 1.0], [1.0]), "one value of c for each u"),
        (([0.0, 1.0, 2.0], [3.0, 2.0, 0.5]), "convex"),
        (([0.0, 0.0, 2.0], [3.0, 2.0, 1.5]), "."),
    ],
)
def test_what_is_no_cost_is_refused(cost: Any, says: str) -> None:
    with pytest.raises(anyk.InputError, match=says):
        anyk.Separable(cost, gains=[1.0, 2.0], budget=5.0)


def test_an_exception_of_the_cost_is_the_callers() -> None:
    def broken(u: Any) -> Any:
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        anyk.Separable(broken, gains=[1.0], budget=1.0)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"gains": [], "budget": 1.0}, "the number of users is 0, expected at least 1"),
        ({"gains": [1.0, np.nan], "budget": 1.0}, "gain is NaN"),
        ({"gains": [1.0, -1.0], "budget": 1.0}, "gain is -1"),
        ({"gains": [1.0], "budget": 0.0}, "budget is 0"),
        ({"gains": [1.0], "budget": float("nan")}, "budget is NaN"),
        ({"gains": [[1.0]], "budget": 1.0}, "shape"),
        ({"gains": [1.0], "budget": 1.0, "classes": [1]}, "a cost for each"),
        ({"gains": [1.0], "budget": 1.0, "classes": [0.5]}, "non-negative integers"),
        ({"gains": [1.0], "budget": 1.0, "classes": [0, 0]}, r"expected \(1,\)"),
        ({"gains": [1.0, 2.0], "budget": 1.0, "weights": [1.0]}, r"weights have the shape \(1,\), expected \(2,\)"),
        ({"gains": [1.0], "budget": 1.0, "weights": 1.0}, r"weights have the shape \(\), expected \(1,\)"),
        ({"gains": [1.0, 2.0], "budget": 1.0, "weights": [1.0, np.nan]}, "weight is NaN, expected 1e-12 to 1e12"),
        ({"gains": [1.0, 2.0], "budget": 1.0, "weights": [-1.0, 1.0]}, "weight is -1, expected 1e-12 to 1e12"),
        ({"gains": [1.0], "budget": 1.0, "weights": [0.0]}, "weight is 0, expected 1e-12 to 1e12"),
        ({"gains": [1.0], "budget": 1.0, "weights": [np.inf]}, "weight is inf, expected 1e-12 to 1e12"),
        ({"gains": [1.0], "budget": 1.0, "weights": [1e13]}, "weight is 1.*, expected 1e-12 to 1e12"),
        ({"gains": [1.0], "budget": 1.0, "weights": ["a"]}, "weights"),
    ],
)
def test_bad_users_are_refused(given: dict[str, Any], says: str) -> None:
    with pytest.raises(anyk.InputError, match=says):
        anyk.Separable(rate, **given)


def test_it_is_judged_like_any_other_problem() -> None:
    problem = anyk.Separable(rate, gains=[2.0, 1.0, 0.1], budget=1.0)
    assert problem.problem == "separable" and len(problem) == 3 and problem.budget == 1.0
    best, equal = problem.solve(), problem.solve("equal-shares")
    assert best.x.round(6).tolist() == [0.75, 0.25, 0.0]
    verdict = problem.judge(best)
    assert verdict.is_feasible and abs(verdict.gap_percent) < 1e-6
    assert problem.judge(equal).gap_percent > 1
    assert problem.judge(best.x * 2).status == "over-budget"
    moved = problem.reordered([2, 0, 1]).solve()
    assert np.allclose(moved.x, best.x[[2, 0, 1]], atol=1e-9)
    other = problem.with_gains([1.0] * 4, budget=8.0)
    assert np.allclose(other.solve().x, 2.0)


def test_the_price_policy_of_ones_own_problem(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    problem = anyk.Separable(rate, gains=rng.uniform(0.1, 10, 10), budget=10.0)
    model = anyk.train(problem, progress=False, out=tmp_path / "own.safetensors")
    assert model.problem == "separable" and model.report["train_seconds"] < 10
    assert model.report["gap_percent"] < 0.1 and "warning" not in model.report
    again = anyk.load(tmp_path / "own.safetensors")
    for size in (1, 10, 100, 1000):
        for weights in (None, rng.uniform(0.2, 5, size)):
            other = problem.with_gains(rng.uniform(0.1, 10, size), weights=weights)
            answer = again.allocate(other)
            verdict = other.judge(answer)
            assert verdict.is_feasible and answer.x.sum() == pytest.approx(10.0, rel=1e-6)
            assert verdict.gap_percent < 0.1
    for name in ("price", "any-gnn"):
        assert anyk.train(problem, method=name, progress=False).to_bytes() == model.to_bytes()
    with pytest.raises(anyk.InputError, match="colour does not apply"):
        anyk.train(problem, colour="red")
    with pytest.raises(anyk.InputError, match="method is p-gnn, expected price"):
        anyk.train(problem, method="p-gnn")


def test_many_classes_have_one_policy() -> None:
    sizes = np.logspace(-2, 2, 100)
    costs = [lambda u, w=w: -w * np.log1p(u / w) for w in sizes]
    gains = np.geomspace(0.1, 10.0, 100)
    problem = anyk.Separable(costs, gains=gains, budget=20.0, classes=list(range(100)))
    model = anyk.train(problem, seed=1)
    assert problem.judge(model.allocate(problem)).gap_percent < 0.1
