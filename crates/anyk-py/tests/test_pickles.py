"""Cells and answers survive pickles bit by bit; batches can be sliced and filtered."""

from __future__ import annotations

import multiprocessing
import pickle
import sys
from typing import Any

import numpy as np
import pytest

import anyk

OPTIONS: dict[str, dict[str, Any]] = {"urllc-power": {"max_bandwidth_hz": 5e6}}


def again(what: Any) -> Any:
    return pickle.loads(pickle.dumps(what))


def assert_same(one: anyk.Allocation, two: anyk.Allocation) -> None:
    facts = [(found.status, found.duality_gap, found.price, found.iterations, found.warning) for found in (one, two)]
    assert facts[0] == facts[1]
    pairs = [(one.as_dict()[name], two.as_dict()[name]) for name in one.as_dict()]
    assert pairs and all(np.array_equal(a, b) for a, b in pairs)


@pytest.mark.parametrize("problem", anyk.problems())
def test_cells_and_answers_of_every_problem(problem: str) -> None:
    batch = anyk.sample(problem, 5, count=3, seed=3, **OPTIONS.get(problem, {}))
    answers = batch.solve()
    for index in range(3):
        assert_same(again(batch[index]).solve(), answers[index])
        assert_same(again(batch).solve()[index], answers[index])
        assert_same(again(answers)[index], answers[index])
        assert_same(again(answers[index]), answers[index])
    assert again(batch).problem == again(batch[0]).problem == problem


def test_a_subclass_keeps_its_type() -> None:
    cell = again(anyk.Urllc([60.0, 90.0], epsilon=[1e-5, 1e-7], max_power_dbm=40))
    assert type(cell) is anyk.Urllc and cell.epsilon.tolist() == [1e-5, 1e-7] and cell.options == {"max_power_dbm": "40"}


def test_a_table_keeps_its_rows_and_parameters() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(
        {
            "cell": ["a", "b", "a", "b", "c"],
            "distance_m": [60.0, 70.0, 80.0, 90.0, 100.0],
            "max_power_dbm": [40.0, 30, 40, 30, np.nan],
        },
        index=list("vwxyz"),
    )
    batch = anyk.from_table(table)
    twice = again(again(batch))
    assert [cell.options for cell in twice] == [{"max_power_dbm": "40"}, {"max_power_dbm": "30"}, {}]
    whole = batch.solve().to_pandas()
    assert twice.solve().to_pandas().equals(whole) and again(batch.solve()).to_pandas().equals(whole)
    assert batch[1:].solve().to_pandas().equals(whole.loc[list("wyz")])
    assert batch[::-1].solve().to_pandas().equals(whole)
    assert batch.solve()[1:].to_pandas().equals(whole.loc[list("wyz")])
    assert batch[[2, 0]].solve().flat("power_w").tolist() == whole.loc[list("vxz"), "power_w"].tolist()


def test_users_without_a_class_keep_the_default() -> None:
    text = b'{"users":[{"id":"a","distance_m":60},{"id":"b","distance_m":90,"epsilon":1e-6}]}'
    batch = again(anyk.read("urllc", text))
    assert batch[0].epsilon.tolist() == [1e-5, 1e-6]


def test_an_unserved_cell_says_why() -> None:
    cells = anyk.cells("urllc", distances_m=[[60.0], [249.0] * 3], max_power_dbm=5)
    answers = again(cells.solve(infeasible="zero"))
    assert answers.served.tolist() == [True, False]
    with pytest.raises(anyk.Infeasible) as why:
        answers[1]
    assert why.value.required_power_w > 10 ** (5 / 10) / 1000


def test_a_user_defined_problem_keeps_its_table() -> None:
    gains = [2.0, 1.0, 0.1]
    one = anyk.Separable(lambda u: -np.log1p(u), gains=gains, budget=1.0, weights=[1.0, 2.0, 3.0])
    two = anyk.Separable([lambda u: -np.log1p(u), lambda u: np.exp(-u)], gains=gains, budget=2.0, classes=[0, 1, 0])
    samples = anyk.Cost(np.array([[0.0, 1.0], [1.0, 0.4], [2.0, 0.1]]))
    for problem in (one, two, anyk.Separable(samples, gains=gains, budget=1.0)):
        found = again(problem)
        assert isinstance(found, anyk.Separable)
        assert_same(found.solve(), problem.solve())
        assert found.judge(problem.solve()).value == problem.judge(problem.solve()).value
    assert again(samples).between_samples == samples.between_samples is not None
    assert again(one).with_gains([1.0, 2.0]).solve().x.tolist() == one.with_gains([1.0, 2.0]).solve().x.tolist()
    many = anyk.Batch.of_cells([one.with_gains(np.arange(1.0, 5 + count)) for count in range(20)])
    assert np.array_equal(again(many).solve().flat("x"), many.solve().flat("x"))
    # The pickle contains the shared cost once.
    assert pickle.dumps(many).count(b"_restore_cost") == pickle.dumps(one).count(b"_restore_cost") == 1
    table = again(one)._costs[0].__reduce__()[1][0].tobytes()
    assert pickle.dumps(many).count(table) == 1


def solved(cell: anyk.Cell) -> anyk.Allocation:
    return cell.solve()


@pytest.mark.skipif(sys.platform != "linux", reason="starts processes by fork")
def test_a_pool_returns_answers() -> None:
    batch = anyk.sample("urllc", 4, count=6, seed=1)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        found = pool.map(solved, list(batch))
        parts = pool.map(anyk.Batch.solve, [batch[:3], batch[3:]])
    expected = batch.solve()
    for index in range(6):
        assert_same(found[index], expected[index])
        assert_same(parts[index // 3][index % 3], expected[index])


def test_parts_of_a_batch() -> None:
    batch = anyk.cells("urllc", distances_m=[[60.0] * size for size in (1, 2, 3, 4)])
    assert batch[:2].sizes == [1, 2] and batch[-1:].sizes == [4] and batch[::-2].sizes == [4, 2]
    assert batch[np.array([True, False, True, False])].sizes == [1, 3] and batch[np.array([-1, 0])].sizes == [4, 1]
    assert len(batch[np.int64(2)]) == 3 and [len(cell) for cell in batch] == [1, 2, 3, 4]
    answers = batch.solve()
    assert answers[::-2].sizes == [4, 2] and answers[np.array([False, True, True, False])].sizes == [2, 3]
    for selection in (slice(1, 3), [3, 1], np.array([True, False, False, True])):
        assert answers[selection].flat("power_w").tolist() == batch[selection].solve().flat("power_w").tolist()
    for wrong, error, says in [
        (False, TypeError, "the cell index is False, expected an integer, a slice"),
        (np.True_, TypeError, "expected an integer, a slice"),
        (4, IndexError, "the cell index is 4, but the number of cells is 4"),
        ([True], IndexError, "the mask has 1 entries, but the number of cells is 4"),
        ("a", TypeError, "the cell index is 'a', expected an integer, a slice"),
        (slice(9, None), anyk.InputError, "the selection has no cells"),
    ]:
        for of in (batch, answers):
            with pytest.raises(error, match=says):
                of[wrong]


def test_answers_are_read_only() -> None:
    answers = anyk.sample("interference", 4, count=2, seed=1).solve()
    first = answers[0]
    for array in (first.power, first.rates_bits, answers.power, answers.flat("power"), answers.total_rates_bits, answers.served):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_links_have_rates() -> None:
    batch = anyk.sample("interference", 4, count=2, seed=1)
    answers = batch.solve()
    links, answer = batch[1], answers[1]
    signal = np.diag(links.gains) * answer.power
    rates = np.log2(1 + signal / (links.noise + links.gains @ answer.power - signal))
    assert np.allclose(answer.rates_bits, rates, rtol=1e-12)
    assert answer.total_rates_bits == pytest.approx(links.judge(answer).value, rel=1e-12)
    assert answers.total_rates_bits[1] == pytest.approx(answer.total_rates_bits, rel=1e-12)
    assert not hasattr(anyk.Urllc([60.0]).solve(), "rates_bits")
