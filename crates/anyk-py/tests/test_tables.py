"""Tables of users: parameters in columns, and results in the order of the rows."""

from __future__ import annotations

import json
import pickle
import re
from typing import Any

import numpy as np
import pytest

import anyk

# Options that select a solver or a file, and so are not parameters of a cell.
NO_PARAMETERS = {"config", "method", "no_check", "trace"}
USERS = {"distance_m": [60.0, 90.0]}


def parameters(problem: str) -> dict[str, str]:
    """Return the parameters of a problem and of all cells, each with a value other than its default."""
    rows = anyk.options("urllc", "solve") + anyk.options("urllc", "sample") + anyk.options(problem, "solve")
    of_sample = {"k", "count", "seed", "format"}
    names = {row["name"].replace("-", "_") for row in rows} - NO_PARAMETERS - of_sample
    names |= {"rate_bps", "max_bandwidth_hz", "noise", "p_max", "max_power", "max_power_w", "cell.antennas", "slope_db"}
    return {name: "rma-nlos" if name in ("path_loss", "cost") else 7.25 for name in names}


@pytest.mark.parametrize("problem", ["urllc", "urllc-power", "qos-power", "equal-bandwidth", "separable"])
def test_no_parameter_in_a_table_is_ignored(problem: str) -> None:
    options: dict[str, Any] = {"max_bandwidth_hz": 2e6} if problem == "urllc-power" else {}
    plain = amounts(anyk.from_table(USERS, problem=problem, **options))
    for name, value in parameters(problem).items():
        for spelling in {name, name.upper()} - {"EPSILON", "PACKET_BITS", "ARRIVAL_RATE"}:
            try:
                found = amounts(anyk.from_table({**USERS, spelling: [value, value]}, problem=problem, **options))
            except anyk.Infeasible:
                continue
            except anyk.InputError as why:
                # A service class is rejected as a whole, and a limit may depend on the value.
                assert any(known in str(why).lower() for known in (name.split(".")[-1], "class", "7.25", "rma-nlos"))
            else:
                assert found != plain, f"{problem}: {spelling} is ignored"


def amounts(batch: anyk.Batch) -> list[Any]:
    """Return the allocations and the budgets, because a budget that is not reached does not change an allocation."""
    answers = batch.solve()
    budgets = {name: value for name, value in batch[0].inputs().items() if isinstance(value, float)}
    return [budgets, *(answers.flat(name).tolist() for name, _ in batch[0].amounts())]


def test_values_in_effect_are_accepted() -> None:
    table = {**USERS, "max_power_dbm": [40, 40], "antennas": ["", 4], "path_loss": [None, "log-distance"], "site": [7, 8]}
    batch = anyk.from_table(table, max_power_dbm=40, antennas=4)
    expected = anyk.Urllc(USERS["distance_m"], max_power_dbm=40, antennas=4).solve()
    assert np.array_equal(batch.solve().flat("power_w"), expected.power_w)
    for value in (np.nan, 43.0, np.float32(43), np.int8(43)):
        anyk.from_table({**USERS, "max_power_dbm": np.array([43.0, value])})
    # Dates and other values that are not numbers.
    for odd in (np.array(["2020-01-01"] * 2, dtype="datetime64[D]"), [b"43"] * 2, [[43.0], 43.0], [True, True]):
        with pytest.raises(anyk.InputError, match="the table: row 0: max_power_dbm is"):
            anyk.from_table({**USERS, "max_power_dbm": np.array(odd, dtype=object)})
    for shape in (20, [20]):
        with pytest.raises(anyk.InputError, match="the column max_power_dbm has the shape"):
            anyk.from_table({**USERS, "max_power_dbm": shape})


def test_a_parameter_applies_to_its_cell() -> None:
    table = {
        "cell": ["a", "b", "a", "b", "c"],
        "distance_m": [60.0, 70.0, 80.0, 90.0, 100.0],
        "max_power_dbm": [40.0, 30, 40, 30, np.nan],
        "antennas": [4.0, 2, 4, 2, np.nan],
    }
    batch = anyk.from_table(table, max_power_dbm=43)
    cells = [
        anyk.Urllc([60.0, 80.0], max_power_dbm=40, antennas=4),
        anyk.Urllc([70.0, 90.0], max_power_dbm=30, antennas=2),
        anyk.Urllc([100.0]),
    ]
    for solve in (lambda cells: cells.solve(), lambda cells: cells.solve("equal-power")):
        for found, expected in zip(solve(batch), map(solve, cells)):
            assert np.array_equal(found.power_w, expected.power_w)
            assert np.array_equal(found.bandwidth_hz, expected.bandwidth_hz)
    assert [cell.max_power_w for cell in batch] == [cell.max_power_w for cell in cells]
    assert batch[1].options == {"max_power_dbm": "30", "antennas": "2"}
    again = pickle.loads(pickle.dumps(batch[1]))
    assert again.judge(batch.solve()[1]).is_feasible and again.max_power_w == batch[1].max_power_w
    both = anyk.from_table({**USERS, "max_power_dbm": [40, 40], "max_power_w": [10, 10]})
    assert both[0].max_power_w == pytest.approx(10)
    assert batch[1].judge(batch.solve()[1]).gap_percent == 0
    # Each problem has its own parameters.
    rates = anyk.from_table({**USERS, "cell": [1, 2], "rate_bps": [1e5, 1e6]}, problem="qos-power").solve()
    assert rates[0].power_w[0] == anyk.QosPower([60.0], rate_bps=1e5).solve().power_w[0]
    costs = anyk.from_table({**USERS, "cell": [1, 2], "cost": ["delay", "mmse"]}, problem="separable")
    assert [cell.options["cost"] for cell in costs] == ["delay", "mmse"]
    band = {**USERS, "cell": [1, 2], "max_bandwidth_hz": [1e6, 2e6]}
    assert [cell.max_bandwidth_hz for cell in anyk.from_table(band, problem="urllc-power")] == [1e6, 2e6]


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        (
            {"max_power_dbm": [43.0, 20.5]},
            "the table: row 1: max_power_dbm is 20.5, expected 43, the value in effect: it is a parameter of the whole cell",
        ),
        ({"max_power_dbm": [40, None]}, "row 0: max_power_dbm is 40, expected 43, the value in effect"),
        ({"max_power_dbm": [400, 400]}, "the table: max_power_dbm is 400, expected"),
        ({"rate_bps": [1e6, 1e6]}, "row 0: rate_bps is 1000000, but this problem does not have this parameter"),
        ({"shadowing": [8, 8]}, "it is a parameter of random users, and has no effect on these"),
        ({"max_power_dbm": [40, 40], "max_power_w": [20, 20]}, "expected max_power_dbm 40, as elsewhere in the file"),
        ({"distance_m": [60.0, -1.0]}, "the table: row 1: distance_m is -1, expected"),
        ({"distance_m": [60.0, np.nan]}, "the table: row 1: distance_m is NaN, expected"),
    ],
    ids=["differs", "one row", "out of range", "other problem", "no effect", "twice", "distance", "nan"],
)
def test_parameters_that_cannot_apply_are_refused(columns: dict[str, Any], says: str) -> None:
    with pytest.raises(anyk.InputError, match=re.escape(says)):
        anyk.from_table({**USERS, **columns})


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        *[({name: [1, 2]}, f"the column {name!r} looks like 'cell'") for name in ("cell_id", "cells", "Cell", "cell_name", "CellID")],
        ({"cell": ["a", None]}, "row 1: cell is missing"),
        ({"cell": [np.nan, 2.0]}, "row 0: cell is missing"),
        ({"packet_bit": [800, 800]}, "the column 'packet_bit' looks like a typo of 'packet_bits'"),
        ({"max_power_dbn": [40, 40]}, "max_power_dbn looks like a typo of max_power_dbm"),
        ({"gain_db_": [-90, -90]}, "the column 'gain_db_' looks like a typo of 'gain_db'"),
    ],
)
def test_a_misspelled_column_is_not_ignored(columns: dict[str, Any], says: str) -> None:
    with pytest.raises(anyk.InputError, match=re.escape(says)):
        anyk.from_table({**USERS, **columns})


def test_other_columns_do_not_matter() -> None:
    # A table that answers were joined to, and columns of other programs.
    other = {"power_w": [1.0, 1.0], "bandwidth_hz": [1e5, 1e5], "status": ["a", "b"], "site": [1, None], "user": [1, 2]}
    assert anyk.from_table({**USERS, **other}).sizes == [2]
    assert anyk.from_table({**USERS, "cell_id": [1, 2]}, cell="cell_id").sizes == [1, 1]
    assert anyk.from_table({**USERS, "cell_id": [1, 2], "cell": [1, 1]}).sizes == [2]
    with pytest.raises(anyk.InputError, match="the table has no column 'sites'.*Did you mean site?"):
        anyk.from_table({**USERS, **other}, cell="sites")


def test_files_read_from_python_obey_the_same_rule() -> None:
    cell = {"max_power_dbm": 20, "users": [{"distance_m": 60}]}
    (found,) = anyk.read("urllc", json.dumps(cell).encode(), max_power_dbm=30)
    assert found.max_power_w == anyk.Urllc([60.0], max_power_dbm=20).max_power_w
    cell = {"max_power_dbm": "high", "users": [{"distance_m": 60}]}
    with pytest.raises(anyk.InputError, match="max_power_dbm is \"high\", expected a number; this field"):
        anyk.read("urllc", json.dumps(cell).encode())


MIXED = {"cell": ["a", "b", "a", "b", "c"], "distance_m": [60.0, 70.0, 80.0, 90.0, 100.0]}


def alone(problem: str = "urllc") -> list[float]:
    """Return the power of each row of MIXED, solved cell by cell."""
    powers = {}
    for name in "abc":
        rows = [row for row, cell in enumerate(MIXED["cell"]) if cell == name]
        found = anyk.cells(problem, distances_m=[[MIXED["distance_m"][row] for row in rows]]).solve()
        powers.update(zip(rows, found.flat("power_w").tolist()))
    return [powers[row] for row in range(5)]


def test_answers_have_the_order_of_the_rows() -> None:
    answers = anyk.from_table(MIXED).solve()
    assert answers.flat("power_w").tolist() == alone()
    # Cells are in the order in which they first appear.
    assert answers[1].power_w.tolist() == [alone()[1], alone()[3]]
    assert [part.size for part in answers.power_w] == [2, 2, 1]
    assert anyk.from_table(MIXED)[0].solve().power_w.tolist() == [alone()[0], alone()[2]]


def test_answers_as_a_table_keep_the_index() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(MIXED, index=["u5", "u4", "u3", "u2", "u1"])
    found = anyk.from_table(table).solve().to_pandas()
    assert found.index.equals(table.index)
    assert list(found.columns) == ["power_w", "bandwidth_hz", "status"]
    assert found["power_w"].tolist() == alone()
    joined = table.join(found)
    assert joined.loc["u4", "power_w"] == alone()[1]
    # An amount that all users of a cell share appears in the row of each of them.
    shared = anyk.from_table(table, problem="equal-bandwidth").solve()
    found = shared.to_pandas()
    assert found["power_w"].tolist() == alone("equal-bandwidth")
    assert found["bandwidth_hz"].tolist() == [shared.bandwidth_hz[cell] for cell in (0, 1, 0, 1, 2)]
    # Without a table, users are identified by their positions.
    found = anyk.cells("urllc", distances_m=[[60.0, 80.0], [70.0]]).solve().to_pandas()
    assert list(found.index) == [(0, 0), (0, 1), (1, 0)] and found.index.names == ["cell", "user"]
    # A cell that is not served has amounts of 0 and the status infeasible.
    far = anyk.from_table({"cell": [1, 2, 1], "gain_db": [-100.0, -199.0, -100.0]})
    found = far.solve(infeasible="zero").to_pandas()
    assert found["status"].tolist() == ["optimal", "infeasible", "optimal"] and found["power_w"][1] == 0


def test_an_answer_as_a_table() -> None:
    pytest.importorskip("pandas")
    for cells in (anyk.from_table(MIXED), anyk.from_table(MIXED, problem="equal-bandwidth")):
        answers = cells.solve()
        found = answers[1].to_pandas()
        assert list(found.columns) == list(answers.to_pandas().columns) and found.index.name == "user"
        assert np.array_equal(found.to_numpy(), answers[[1]].to_pandas().to_numpy())


def test_models_answer_in_the_order_of_the_rows(price_policy: anyk.Model) -> None:
    by_row = price_policy.allocate(anyk.from_table(MIXED)).flat("power_w")
    one = price_policy.allocate(anyk.from_table({"distance_m": [70.0, 90.0]}))
    assert by_row[[1, 3]] == pytest.approx(one.flat("power_w"))


@pytest.mark.parametrize("value", [[40, 43], np.array([40, 43]), np.array([40.0, 43.0])], ids=["list", "whole", "real"])
def test_an_option_for_each_cell_is_refused(value: Any) -> None:
    with pytest.raises(anyk.InputError, match="max_power_dbm is 40,43, expected a number"):
        anyk.cells("urllc", distances_m=np.full((2, 3), 60.0), max_power_dbm=value)
    assert len(anyk.Urllc([60.0], max_power_dbm=np.array(40), antennas=np.int64(4))) == 1
