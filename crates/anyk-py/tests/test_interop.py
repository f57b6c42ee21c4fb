"""Arrays and tables in the layouts of other packages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import anyk


def amplitudes(rng: np.random.Generator, *shape: int) -> Any:
    return (rng.normal(size=shape) + 1j * rng.normal(size=shape)) * 1e-5


def test_paths_of_sionna() -> None:
    rng = np.random.default_rng(0)
    # Sionna RT: [num_rx, num_rx_ant, num_tx, num_tx_ant, num_paths]
    a = amplitudes(rng, 6, 2, 3, 4, 7)
    gains = anyk.gains_of_sionna(a)
    assert gains.shape == (6, 3)
    by_hand = np.mean([np.sum(np.abs(a[2, r, 1, t]) ** 2) for r in range(2) for t in range(4)])
    assert gains[2, 1] == pytest.approx(by_hand, rel=1e-12)
    assert np.allclose(anyk.gains_of_sionna(a, mean_over_antennas=False), 8 * gains)
    # A pair of real and imaginary parts, as in version 1, and single precision.
    assert np.allclose(anyk.gains_of_sionna((a.real, a.imag)), gains)
    assert np.allclose(anyk.gains_of_sionna(a.astype(np.complex64)), gains, rtol=1e-5)
    # With time steps, and from the channel models: [batch, rx, rx_ant, tx, tx_ant, paths, steps]
    steps = np.stack([a, a], axis=-1)
    assert np.allclose(anyk.gains_of_sionna(steps), gains)
    assert np.allclose(anyk.gains_of_sionna(steps[None]), gains[None])
    assert anyk.Urllc(gains=gains[:, 0]).solve().status == "optimal"
    assert anyk.Interference(anyk.gains_of_sionna(a[:3]) * 1e10).solve().power.shape == (3,)
    with pytest.raises(anyk.InputError, match="expected .num_rx"):
        anyk.gains_of_sionna(a[0, 0])
    with pytest.raises(anyk.InputError, match="not finite"):
        anyk.gains_of_sionna(a * np.nan)
    with pytest.raises(anyk.InputError, match="dtype"):
        anyk.gains_of_sionna(np.array(["a"]))


def test_channels_of_deepmimo() -> None:
    rng = np.random.default_rng(0)
    channel = amplitudes(rng, 5, 1, 8, 64)
    gains = anyk.gains_of_deepmimo(channel)
    assert gains.shape == (5,) and gains[3] == pytest.approx(np.mean(np.abs(channel[3]) ** 2))
    assert anyk.Urllc(gains=gains).solve().status == "optimal"
    with pytest.raises(anyk.InputError, match="expected .num_users"):
        anyk.gains_of_deepmimo(channel[0])


COLUMNS = {
    "cell": ["b", "a", "b", "a", "b"],
    "name": ["u", "v", "w", "x", "y"],
    "distance_m": [60.0, 70.0, 80.0, 90.0, 100.0],
    "epsilon": [1e-5, 1e-5, 1e-6, 1e-5, 1e-5],
}


def check(batch: anyk.Batch) -> None:
    assert batch.sizes == [3, 2]
    by_hand = anyk.Urllc([60.0, 80.0, 100.0], epsilon=[1e-5, 1e-6, 1e-5]).solve()
    assert np.array_equal(batch.solve()[0].power_w, by_hand.power_w)


def test_tables_of_users() -> None:
    check(anyk.from_table({name: np.array(values) for name, values in COLUMNS.items()}))
    (one,) = anyk.from_table({"gain_db": [-100.0, -110.0]}, max_power_dbm=40)
    assert len(one) == 2 and one.max_power_w == pytest.approx(10.0)
    for table, says in [
        ({"colour": [1]}, "0 of the columns"),
        ({"gain": [1e-9], "gain_db": [-90.0]}, "2 of the columns"),
        ({"gain_db": []}, "no users"),
        ({"gain_db": ["a"]}, "expected numbers"),
        (3, "expected pandas"),
    ]:
        with pytest.raises(anyk.InputError, match=says):
            anyk.from_table(table)


def test_tables_of_pandas() -> None:
    pandas = pytest.importorskip("pandas")
    check(anyk.from_table(pandas.DataFrame(COLUMNS)))
    assert anyk.Urllc(pandas.Series([60.0, 90.0])).solve().status == "optimal"


def test_tables_of_arrow() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    check(anyk.from_table(pyarrow.table(COLUMNS)))
    check(anyk.from_table(pyarrow.RecordBatch.from_pydict(COLUMNS)))
