"""Under hostile use, nothing hangs, nothing is silently wrong, and errors say what is expected."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import anyk


def run(code: str, *, cores: int | None = None, seconds: float = 10) -> str:
    """Return the output of a program, or ``hangs`` if it does not end in time."""
    limit = "" if cores is None else f"import os; os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:{cores}])\n"
    try:
        found = subprocess.run([sys.executable, "-c", limit + code], capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return "hangs"
    return found.stdout.strip() or found.stderr.strip()[-300:]


needs_cores = pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system cannot restrict a process to some cores")


@needs_cores
@pytest.mark.parametrize("cores", [1, 2])
def test_a_policy_may_ask_anyk_for_work_on_all_cores(cores: int) -> None:
    """Calls of a policy to anyk must not wait for the threads that wait for the policy."""
    code = f"""
import anyk
def judged(cell):
    best = cell.solve()
    cell.judge(best)
    return best
def nested(cell):
    anyk.evaluate({{"inner": judged}}, problem="urllc", sizes=[2], samples=1, progress=False)
    return cell.solve()
policy = {"nested" if cores > 1 else "judged"}
found = anyk.evaluate({{"mine": policy}}, problem="urllc", sizes=[2], samples=1, progress=False)
print(found.rows[0]["availability"])
"""
    assert run(code, cores=cores, seconds=3) == "1.0"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_fork_solves_cells_of_many_classes() -> None:
    """More than 32 service classes use a thread pool, and a forked process does not have that of its parent."""
    code = """
import anyk, numpy as np, os, sys, threading
def use(seed):
    drawn = np.random.default_rng(seed)
    cell = anyk.Urllc(drawn.uniform(60, 100, 40), epsilon=10 ** drawn.uniform(-7, -4, 40), max_power_dbm=60)
    return cell.solve().status
use(1)
pid = os.fork()
if pid == 0:
    threading.Timer(3, lambda: os._exit(9)).start()
    os._exit(0 if use(2) == "optimal" else 3)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
    assert run(code) == "0"


def test_work_that_was_stopped_does_not_hold_up_the_next_call() -> None:
    code = """
import anyk, os, signal, threading, time
threading.Timer(0.4, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    anyk.diagnose("urllc-power", users=1_500_000, progress=False)
except KeyboardInterrupt:
    pass
start = time.time()
anyk.sample("urllc", 5)
print(time.time() - start < 0.5, flush=True)
os._exit(0)
"""
    assert run(code, seconds=4) == "True"


def test_ctrl_c_stops_one_cell_of_many_classes() -> None:
    """The time for one cell does not depend only on the number of users: many service classes, or links, take seconds."""
    code = """
import anyk, numpy as np, os, signal, threading, time
drawn = np.random.default_rng(1)
cell = anyk.Urllc(drawn.uniform(60, 100, 6000), epsilon=10 ** drawn.uniform(-7, -4, 6000), max_power_dbm=75)
asked = []
def stop():
    asked.append(time.time())
    os.kill(os.getpid(), signal.SIGINT)
threading.Timer(0.3, stop).start()
try:
    cell.solve()
    print("ended before")
except KeyboardInterrupt:
    print(time.time() - asked[0] < 0.5, flush=True)
    os._exit(0)
"""
    assert run(code, seconds=6) in ("True", "ended before")


def test_a_diagnosis_asks_about_the_cells_of_each_size() -> None:
    """The band of urllc-power grows with the number of users, both in a diagnosis and in a comparison."""
    bands: dict[int, float] = {}

    def policy(cell: anyk.Cell) -> Any:
        bands.setdefault(len(cell), cell.max_bandwidth_hz)
        return cell.solve("equal-bandwidth")

    anyk.evaluate({"mine": policy}, problem="urllc-power", sizes=[2, 20], samples=1, progress=False)
    compared = dict(bands)
    bands.clear()
    try:
        anyk.diagnose(policy, problem="urllc-power", sizes=[2, 20], users=100, progress=False)
    except anyk.InputError:
        pass
    assert bands == compared


def test_a_config_that_was_edited_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "cell.toml"
    found = []
    for power in (43.0, 40.0):
        path.write_text(f"[cell]\nmax_power_dbm = {power}\n")
        found.append(anyk.Urllc([60.0], config=path).max_power_w)
    assert found[0] == pytest.approx(2 * found[1], rel=0.01)


def test_classes_of_cells_of_different_sizes_are_not_taken_from_a_matrix() -> None:
    """A (3, 2) matrix has six numbers, like cells of 2, 3 and 1 users, but would mix up the classes of users."""
    with pytest.raises(anyk.InputError, match="epsilon"):
        anyk.cells("urllc", distances_m=[[60.0] * 2, [60.0] * 3, [60.0]], epsilon=np.full((3, 2), 1e-5))
    with pytest.raises(anyk.InputError, match="epsilon"):
        anyk.cells("urllc", distances_m=np.full((2, 3), 60.0), epsilon=np.full((3, 2, 1), 1e-5))


@pytest.mark.parametrize(
    "table",
    [
        {"distance_m": [60.0, 70.0, 80.0], "cell": [0, 1]},
        {"distance_m": [60.0, 70.0, 80.0], "cell": [0, 1, 1, 1]},
        {"distance_m": [60.0, 70.0], "epsilon": [1e-5, 1e-6, 1e-7]},
        {"distance_m": [60.0, 70.0], "epsilon": [1e-5]},
        {"distance_m": [60.0, 70.0], "cell": np.array(["a", None], dtype=object)},
        {"distance_m": [60.0], "distances_m": [70.0]},
        {"distance_m": 60.0},
    ],
    ids=["few cells", "many cells", "many classes", "few classes", "no cell", "twice", "no column"],
)
def test_tables_of_columns_that_do_not_fit_are_refused(table: dict[str, Any]) -> None:
    """A column ``cell`` of the wrong length must not drop users."""
    with pytest.raises(anyk.InputError):
        anyk.from_table(table)


def test_no_gain_and_no_slope_is_silently_nan() -> None:
    for call in (
        lambda: anyk.required_bandwidth(1e300),
        lambda: anyk.gains_of_deepmimo(np.zeros((2, 1, 1, 0), complex)),
        lambda: anyk.gains_of_sionna(np.zeros((2, 1, 1, 1, 3, 0), complex)),
    ):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = call()
        except anyk.InputError:
            continue
        assert all(np.isfinite(part).all() for part in (found if isinstance(found, tuple) else (found,)))


def test_a_model_of_another_problem_is_refused(price_policy: anyk.Model) -> None:
    with pytest.raises(anyk.InputError):
        anyk.evaluate({"mine": price_policy}, problem="interference", sizes=[2], samples=2, progress=False)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1.0, 1e308])
def test_amounts_that_are_none_fail_with_a_reason(value: float) -> None:
    found = anyk.evaluate(
        {"mine": lambda cell: ([value] * len(cell),) * 2}, problem="urllc", sizes=[2], samples=2, progress=False
    )
    assert found.rows[0]["failed"] == 2 and "expected" in found.failures[0]["why"]


class Odd(BaseException):
    pass


@pytest.mark.parametrize("kind", [Odd, KeyboardInterrupt])
def test_what_a_policy_raises_arrives(kind: type[BaseException]) -> None:
    def policy(cell: anyk.Cell) -> Any:
        raise kind

    for _ in range(2):
        with pytest.raises(kind):
            anyk.evaluate({"mine": policy}, problem="urllc", sizes=[2], samples=2, progress=False)
        with pytest.raises(kind):
            anyk.diagnose(policy, problem="urllc", users=100, progress=False)


def test_a_policy_cannot_change_a_cell() -> None:
    def policy(cell: anyk.Cell) -> Any:
        for values in cell.inputs().values():
            if isinstance(values, np.ndarray):
                values[:] = np.nan
        return cell.solve()

    found = anyk.evaluate({"mine": policy}, problem="urllc", sizes=[3], samples=3, progress=False)
    assert found.rows[0]["gap_percent"] == 0
