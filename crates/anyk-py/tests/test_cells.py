"""Build, solve and check cells of every problem."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import anyk

OPTIONS = {"urllc-power": {"max_bandwidth_hz": 20e6}}
KINDS = {
    "urllc": anyk.Urllc,
    "urllc-power": anyk.UrllcPower,
    "qos-power": anyk.QosPower,
    "equal-bandwidth": anyk.EqualBandwidth,
    "interference": anyk.Interference,
    "link-scheduling": anyk.LinkScheduling,
}


def test_the_golden_cell() -> None:
    cell = anyk.Urllc(distances_m=[60, 90, 120, 180, 240])
    best = cell.solve()
    assert best.status == "optimal"
    assert best.duality_gap is not None and 0 <= best.duality_gap < 1e-8
    # The expected value is from an independent optimizer, as in the library's tests.
    assert best.total_bandwidth_hz == pytest.approx(778_450.15, abs=0.01)
    assert best.total_power_w == pytest.approx(cell.max_power_w, rel=1e-9)
    judged = cell.judge(best)
    assert judged.is_feasible and judged.kkt_residual < 1e-8 and abs(judged.gap_percent) < 1e-9


@pytest.mark.parametrize("problem", list(anyk.problems()))
def test_every_problem_is_sampled_solved_and_judged(problem: str) -> None:
    batch = anyk.sample(problem, 6, count=4, seed=5, **OPTIONS.get(problem, {}))
    assert len(batch) == 4 and batch.sizes == [6] * 4 and batch.problem == problem
    answers = batch.solve()
    for cell, answer in zip(batch, answers):
        alone = cell.solve()
        for name, common in cell.amounts():
            assert np.array_equal(np.asarray(getattr(alone, name)), np.asarray(getattr(answer, name)))
        verdict = cell.judge(answer)
        assert verdict.is_feasible, verdict
        assert abs(verdict.gap_percent) < 1e-6
        # The order of the users does not change what they get.
        order = [3, 1, 5, 0, 2, 4]
        moved = cell.reordered(order).solve()
        first = cell.amounts()[0][0]
        assert np.allclose(getattr(moved, first), getattr(alone, first)[order], rtol=1e-9)


@pytest.mark.parametrize("problem", list(KINDS))
def test_every_problem_has_a_class(problem: str) -> None:
    drawn = anyk.sample(problem, 5, seed=2, **OPTIONS.get(problem, {}))[0]
    cell = KINDS[problem](gains=drawn.gains, **OPTIONS.get(problem, {}))
    assert cell.problem == problem and len(cell) == 5
    first = cell.amounts()[0][0]
    assert np.allclose(getattr(cell.solve(), first), getattr(drawn.solve(), first), rtol=1e-9)
    assert set(KINDS) | {"separable"} == set(anyk.problems())


def test_all_ways_to_say_where_users_are_agree() -> None:
    distances = np.array([60.0, 90.0, 240.0])
    cell = anyk.Urllc(distances)
    total = cell.solve().total_bandwidth_hz
    gains_db = 10 * np.log10(cell.gains)
    for same in (
        anyk.Urllc(gains=cell.gains),
        anyk.Urllc(gains_db=gains_db),
        anyk.Urllc(path_losses_db=-gains_db),
        # α = SNR·N_0·B/P
        anyk.Urllc(
            snrs_db=gains_db + 30 - (-173 + 10 * np.log10(1e6)),
            reference_power_dbm=30,
            reference_bandwidth_hz=1e6,
        ),
        anyk.Urllc(rsrps_dbm=gains_db + 15, reference_power_dbm=15),
    ):
        assert same.solve().total_bandwidth_hz == pytest.approx(total, rel=1e-10)


def test_classes_of_users_count() -> None:
    plain = anyk.Urllc([100.0, 150.0]).solve()
    strict = anyk.Urllc([100.0, 150.0], epsilon=[1e-5, 1e-9]).solve()
    assert strict.bandwidth_hz[1] > plain.bandwidth_hz[1]
    assert anyk.Urllc([100.0, 150.0], epsilon=1e-9).solve().total_bandwidth_hz > strict.total_bandwidth_hz
    mixed = anyk.Urllc([100.0, 150.0], packet_bits=[160, 320], arrival_rate=0.2)
    assert list(mixed.packet_bits) == [160.0, 320.0] and list(mixed.arrival_rate) == [0.2, 0.2]


def test_a_batch_is_ragged_or_not() -> None:
    rng = np.random.default_rng(1)
    square = rng.uniform(50, 250, (7, 5))
    answers = anyk.cells("urllc", distances_m=square).solve()
    assert answers.power_w.shape == (7, 5) and bool(answers.served.all())
    rows = [rng.uniform(50, 250, size) for size in (1, 9, 3)]
    ragged = anyk.cells("urllc", distances_m=rows, epsilon=1e-6)
    found = ragged.solve()
    assert [len(part) for part in found.power_w] == [1, 9, 3] and found.sizes == [1, 9, 3]
    assert found.flat("power_w").size == 13 and found.duality_gap.max() < 1e-8
    for index, row in enumerate(rows):
        alone = anyk.Urllc(row, epsilon=1e-6).solve()
        assert np.array_equal(alone.power_w, found.power_w[index])
        assert np.array_equal(found[index].bandwidth_hz, alone.bandwidth_hz)
    assert np.array_equal(found[-1].power_w, found[2].power_w)
    with pytest.raises(IndexError):
        found[3]
    assert len(list(ragged)) == 3


def test_an_infeasible_cell_says_who_can_be_served() -> None:
    cell = anyk.Urllc([60.0, 70.0, 249.0], max_power_dbm=5)
    with pytest.raises(anyk.Infeasible, match="takes at least") as why:
        cell.solve()
    assert why.value.admissible == [0, 1] and why.value.dropped == [2]
    assert why.value.required_power_w > 10 ** (5 / 10) / 1000
    part = anyk.Urllc(cell.gains[why.value.admissible] * 0 + np.array([60.0, 70.0]), max_power_dbm=5)
    assert part.solve().status == "optimal"
    batch = anyk.cells("urllc", distances_m=[[60.0], [249.0] * 3], max_power_dbm=5)
    with pytest.raises(anyk.Infeasible) as why:
        batch.solve()
    assert why.value.cell == 1
    found = batch.solve(infeasible="zero")
    assert list(found.served) == [True, False] and found.status == ["optimal", "infeasible"]
    assert not found.power_w[1].any()
    with pytest.raises(anyk.Infeasible):
        found[1]


def test_the_judge_sees_what_is_wrong() -> None:
    cell = anyk.Urllc([60.0, 90.0])
    best = cell.solve()
    starved = cell.judge({"power_w": best.power_w, "bandwidth_hz": best.bandwidth_hz * [1.0, 0.5]})
    assert starved.status == "misses" and starved.availability == 0.5
    assert starved.missed[0]["user"] == 1 and starved.missed[0]["value"] > starved.missed[0]["target"]
    assert cell.judge((best.power_w * 2, best.bandwidth_hz)).status == "over-budget"
    common = anyk.EqualBandwidth([60.0, 90.0], rate_bps=1e5)
    answer = common.solve()
    assert isinstance(answer.bandwidth_hz, float)
    assert common.judge((answer.power_w, answer.bandwidth_hz)).is_feasible
    assert common.judge((answer.power_w, [answer.bandwidth_hz] * 2)).is_feasible


def test_methods_by_name() -> None:
    cell = anyk.Urllc([60.0, 240.0])
    equal = cell.solve("equal-power")
    assert equal.status == "heuristic" and np.allclose(equal.power_w, cell.max_power_w / 2)
    with pytest.raises(anyk.InputError, match="expected one of optimum, equal-power"):
        cell.solve("best")
    links = anyk.sample("interference", 8, seed=1)[0]
    assert anyk.LinkScheduling(links.gains).solve("exact").status == "optimal"
    rates = {name: links.judge(links.solve(name)).value for name in ("wmmse", "full-power", "exact", "greedy")}
    assert rates["exact"] >= rates["greedy"] and rates["wmmse"] >= rates["full-power"]


def test_an_option_names_the_method() -> None:
    gains = anyk.sample("interference", 5, seed=1)[0].gains
    named = anyk.Interference(gains, method="greedy").solve()
    assert np.array_equal(named.power, anyk.Interference(gains).solve("greedy").power)


def test_path_losses_that_are_drawn() -> None:
    batch = anyk.sample("urllc", 5, seed=1, path_loss="uma", carrier_ghz=3.5)
    assert batch[0].solve().status == "optimal"


def test_cells_can_be_pickled() -> None:
    for problem in KINDS:
        cell = anyk.sample(problem, 4, seed=3, **OPTIONS.get(problem, {}))[0]
        again = pickle.loads(pickle.dumps(cell))
        first = cell.amounts()[0][0]
        assert np.allclose(getattr(again.solve(), first), getattr(cell.solve(), first), rtol=1e-9)


def test_files_of_the_program_are_read() -> None:
    text = b'{"users":[{"id":"a","distance_m":60},{"id":"b","distance_m":90,"epsilon":1e-6}]}'
    (cell,) = anyk.read("urllc", text)
    assert cell.epsilon.tolist() == [1e-5, 1e-6]
    (links,) = anyk.read("interference", b"[[1,0.1],[0.2,0.9]]")
    assert links.gains.tolist() == [[1.0, 0.1], [0.2, 0.9]]


def test_random_cells_depend_on_their_seed_alone() -> None:
    one, two = anyk.sample("urllc", 5, count=3, seed=9), anyk.sample("urllc", 5, count=3, seed=9)
    other = anyk.sample("urllc", 5, count=3, seed=10)
    assert all(np.array_equal(a.gains, b.gains) for a, b in zip(one, two))
    assert not np.array_equal(one[0].gains, other[0].gains)


def test_required_bandwidth_is_that_of_the_optimum() -> None:
    cell = anyk.Urllc([60.0, 90.0, 240.0])
    best = cell.solve()
    bandwidth, slope = anyk.required_bandwidth(best.power_w * cell.gains)
    assert np.allclose(bandwidth, best.bandwidth_hz, rtol=1e-9)
    # By the KKT conditions, the marginal value of power is the same for all users.
    assert np.allclose(-slope * cell.gains, best.price, rtol=1e-6)
    least = anyk.least_received_w()
    with pytest.raises(anyk.InputError, match=r"received_w\[1\]"):
        anyk.required_bandwidth([1.0, 0.5 * least])
