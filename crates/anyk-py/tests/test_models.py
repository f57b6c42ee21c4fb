"""Train, write, read, apply and calibrate models."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest

import anyk

# Short training runs, because the tests check the interface and not the models.
SMALL: dict[str, dict[str, object]] = {
    "urllc": {"method": "price"},
    "urllc-power": {},
    "qos-power": {"samples": 200},
    "equal-bandwidth": {"samples": 200, "rate_bps": 1e5},
    "interference": {"scenario": "d2d", "train_k": 10, "samples": 50, "steps": 50},
    "link-scheduling": {"scenario": "d2d", "train_k": 10, "samples": 50, "steps": 50},
    "separable": {"samples": 500},
}
OF_CELLS: dict[str, dict[str, object]] = {
    "urllc-power": {"max_bandwidth_hz": 5e6},
    "equal-bandwidth": {"rate_bps": 1e5},
}


@pytest.mark.parametrize("problem", list(anyk.problems()))
def test_every_problem_is_trained_written_and_read(problem: str, tmp_path: Path) -> None:
    model = anyk.train(problem, progress=False, **SMALL[problem])
    assert model.problem in (problem, "interference") and model.report
    model.save(tmp_path / "model.safetensors")
    again = anyk.load(tmp_path / "model.safetensors")
    assert again.to_bytes() == model.to_bytes()
    assert pickle.loads(pickle.dumps(model)).to_bytes() == model.to_bytes()
    batch = anyk.sample(problem if problem != "link-scheduling" else "interference", 7, count=3, seed=4, **OF_CELLS.get(problem, {}))
    together = model.allocate(batch)
    for cell, answer in zip(batch, together):
        alone = again.allocate(cell)
        for name, _ in cell.amounts():
            assert np.array_equal(np.asarray(getattr(alone, name)), np.asarray(getattr(answer, name)))
        assert alone.status == "learned" and alone.duality_gap is None
        cell.judge(alone)
    table = model.evaluate([2, 5], samples=4, progress=False)
    assert [row["k"] for row in table] == [2, 5]


def test_price_policy_is_at_the_optimum_at_any_size(price_policy: anyk.Model) -> None:
    for size in (1, 10, 300):
        cell = anyk.sample("urllc", size, seed=1)[0]
        verdict = cell.judge(price_policy.allocate(cell))
        assert verdict.is_feasible and verdict.gap_percent < 0.01
    assert price_policy(cell).status == "learned"


def test_a_name_of_version_0_2_is_accepted(price_policy: anyk.Model) -> None:
    former = anyk.train("urllc", method="any-gnn", train_k=10, progress=False)
    assert former.to_bytes() == price_policy.to_bytes()
    [methods] = [option["of"] for option in anyk.options("urllc", "train") if option["name"] == "method"]
    assert "price" in methods and "any-gnn" not in methods
    for option in ({"train_ranges": "wide"}, {"output": "softmax"}):
        with pytest.raises(anyk.InputError, match="|".join(option)):
            anyk.train("urllc", method="price", **option)


def test_certify_makes_up_for_what_is_missing() -> None:
    model = anyk.train("urllc", method="m-gnn", progress=False, samples=200, epsilon_d=1e-5)
    cell = anyk.sample("urllc", 40, seed=1)[0]
    assert cell.judge(model.allocate(cell)).availability < 1
    assert cell.judge(model.allocate(cell, certify=True)).availability == 1
    # If the budget cannot serve the users, certification reports the same as the solver.
    with pytest.raises(anyk.Infeasible) as why:
        model.allocate(anyk.Urllc(gains_db=[-160.0, -90.0]), certify=True)
    assert why.value.admissible == [1]
    # The model supports one service class and one budget.
    with pytest.raises(anyk.InputError, match='user "0" has its own service class, .* that the model was trained for'):
        model.allocate(anyk.Urllc([60.0, 90.0], epsilon=1e-6))
    with pytest.raises(anyk.InputError, match="max_power_dbm is 30, .* which the model was trained for"):
        model.allocate(anyk.Urllc([60.0, 90.0], max_power_dbm=30))


def test_a_calibrated_model_promises(price_policy: anyk.Model) -> None:
    model = anyk.train("urllc", method="p-gnn", progress=False, samples=200)
    kept = model.calibrate([10], cells=600, beta=0.01)
    assert kept.report["beta"] == 0.01 and kept.report["margin"] > 0
    with pytest.raises(anyk.InputError, match="beta"):
        model.calibrate([10], beta=2.0)
    links = anyk.train("interference", progress=False, **SMALL["interference"])
    with pytest.raises(anyk.InputError, match="cannot calibrate"):
        links.calibrate([10])


def test_a_model_is_for_its_own_problem(price_policy: anyk.Model) -> None:
    with pytest.raises(anyk.InputError, match="another problem"):
        price_policy.allocate(anyk.QosPower([60.0]))
    with pytest.raises(anyk.InputError, match="differ"):
        price_policy.allocate([anyk.Urllc([60.0]), anyk.QosPower([60.0])])


def test_an_interrupted_run_writes_nothing(tmp_path: Path) -> None:
    settings = {"method": "p-gnn", "samples": 1000, "seed": 3}
    out = tmp_path / "model.safetensors"
    seen: list[tuple[str, int, int]] = []

    def stop(what: str, done: int, of: int) -> bool:
        seen.append((what, done, of))
        return True

    with pytest.raises(KeyboardInterrupt, match="interrupted at step"):
        anyk.train("urllc", out=out, progress=stop, **settings)
    assert seen and not list(tmp_path.iterdir())
    model = anyk.train("urllc", out=out, progress=False, **settings)
    assert model.to_bytes() == out.read_bytes()


def test_a_file_that_is_no_model_is_kept(price_policy: anyk.Model, tmp_path: Path) -> None:
    mine = tmp_path / "mine.txt"
    mine.write_text("a measurement")
    for write in (lambda: price_policy.save(mine), lambda: anyk.train("urllc", method="price", out=mine)):
        with pytest.raises(anyk.InputError, match="mine.txt: the file exists; pass force=True to overwrite it"):
            write()
    assert mine.read_text() == "a measurement"
    price_policy.save(mine, force=True)
    price_policy.save(mine)
    assert anyk.load(mine).to_bytes() == price_policy.to_bytes()


def test_an_exception_of_a_callback_ends_the_training() -> None:
    def fail(what: str, done: int, of: int) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        anyk.train("urllc", method="p-gnn", progress=fail)


def test_models_warn_beyond_the_size_that_they_were_validated_at(price_policy: anyk.Model) -> None:
    folder = Path(__file__).parents[2] / "anyk-cli" / "tests" / "data" / "models-0.2"
    model = anyk.load(folder / "urllc-m-gnn.safetensors")
    assert model.validated_k == 10 and price_policy.validated_k is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.allocate(anyk.sample("urllc", 10, count=2))
        model.evaluate([1, 10], samples=1, progress=False)
        price_policy.allocate(anyk.sample("urllc", 11)[0])
    says = "validated up to K = 10, not for K = 11"
    with pytest.warns(UserWarning, match=says):
        model.allocate(anyk.sample("urllc", 11)[0])
    with pytest.warns(UserWarning, match=says):
        model.allocate(anyk.sample("urllc", 11, count=2))
    with pytest.warns(UserWarning, match=says):
        model.evaluate([1, 11], samples=1, progress=False)
    with pytest.warns(UserWarning, match=says):
        anyk.evaluate({"mine": model}, sizes=[1, 11], samples=1, progress=False)
