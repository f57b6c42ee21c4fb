"""Gains and users from where people have them: Sionna, DeepMIMO, pandas, Arrow."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from . import _anyk
from ._anyk import Batch, InputError
from ._arrays import Floats
from ._cells import _CLASS, _PLACES, Option


def _complex(name: str, value: Any) -> np.ndarray[Any, Any]:
    """An array of amplitudes: complex, or real and imaginary parts as a pair."""
    if isinstance(value, (tuple, list)) and len(value) == 2 and hasattr(value[0], "shape"):
        parts = [np.asarray(part) for part in value]
        if any(part.dtype.kind not in "iuf" for part in parts) or parts[0].shape != parts[1].shape:
            raise InputError(f"{name} is a pair, expected real and imaginary parts of one shape")
        return parts[0].astype(np.float64) + 1j * parts[1].astype(np.float64)
    if getattr(value, "requires_grad", False):
        value = value.detach()
    try:
        array = np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as why:
        raise InputError(f"{name} is no array: {why}") from why
    if isinstance(value, np.ma.MaskedArray) and np.any(np.ma.getmaskarray(value)):
        raise InputError(f"{name} has masked values, expected amplitudes")
    if array.dtype.kind not in "fc":
        raise InputError(f"{name} has the dtype {array.dtype}, expected complex amplitudes")
    if 0 in array.shape:
        raise InputError(f"{name} has the shape {array.shape}, expected at least one of everything")
    return array


def gains_of_sionna(a: Any, *, mean_over_antennas: bool = True) -> Floats:
    """Power gains from the path coefficients ``a`` of Sionna.

    Shapes that are taken, as Sionna has them:

    - Sionna RT 1.x, ``paths.a`` (a pair of real and imaginary parts) or ``paths.cir()[0]``:
      ``[num_rx, num_rx_ant, num_tx, num_tx_ant, num_paths]`` or with ``num_time_steps`` as the last axis.
    - Sionna PHY channel models, ``a`` of ``cir``:
      ``[batch, num_rx, num_rx_ant, num_tx, num_tx_ant, num_paths, num_time_steps]``.

    The gain of a receiver and a transmitter is the sum over paths of ``|a|²``, averaged over time steps and over pairs
    of antennas (summed over them with ``mean_over_antennas=False``). The result is ``[num_rx, num_tx]``, or
    ``[batch, num_rx, num_tx]``: ``gains[:, 0]`` are the users of the first base station, for :class:`anyk.Urllc`, and a
    square matrix goes into :class:`anyk.Interference`. Users without a path have a gain of 0, which no problem takes:
    leave them out.
    """
    array = _complex("a", a)
    if array.ndim not in (5, 6, 7):
        raise InputError(
            f"a has the shape {array.shape}, expected [num_rx, num_rx_ant, num_tx, num_tx_ant, num_paths], with "
            "num_time_steps, or with batch before and num_time_steps after"
        )
    power = np.abs(array).astype(np.float64) ** 2
    _finite("a", power)
    if power.ndim == 6:
        power = power.mean(axis=-1)
    elif power.ndim == 7:
        power = power.mean(axis=-1)
    # [..., rx, rx_ant, tx, tx_ant, paths]
    power = power.sum(axis=-1)
    antennas = (-3, -1)
    return np.ascontiguousarray(power.mean(axis=antennas) if mean_over_antennas else power.sum(axis=antennas))


def gains_of_deepmimo(channel: Any, *, mean_over_antennas: bool = True) -> Floats:
    """Power gains from a channel of DeepMIMO: ``[num_users, num_rx_ant, num_tx_ant, num_subcarriers]``, as
    ``dataset[0]["user"]["channel"]`` of version 2 and 3, and ``dataset.channel`` of version 4 have it (in time domain
    the last axis are paths).

    In frequency domain, the gain of a user is the mean over subcarriers of ``|h|²``, averaged over pairs of antennas
    (summed with ``mean_over_antennas=False``). Users without a path have a gain of 0, which no problem takes: leave them
    out.
    """
    array = _complex("channel", channel)
    if array.ndim != 4:
        raise InputError(
            f"channel has the shape {array.shape}, expected [num_users, num_rx_ant, num_tx_ant, num_subcarriers]"
        )
    power = np.abs(array).astype(np.float64) ** 2
    _finite("channel", power)
    power = power.mean(axis=-1)
    return np.ascontiguousarray(power.mean(axis=(1, 2)) if mean_over_antennas else power.sum(axis=(1, 2)))


def _finite(name: str, power: Floats) -> None:
    if not bool(np.isfinite(power).all()):
        raise InputError(f"{name} has values that are not finite, expected amplitudes")


def from_table(table: Any, *, problem: str = "urllc", cell: str = "cell", **options: Option) -> Batch:
    """Cells from a table of users: a ``pandas.DataFrame``, a ``pyarrow.Table`` or ``RecordBatch``, or a mapping of
    columns.

    One of the columns ``distance_m``, ``gain``, ``gain_db``, ``path_loss_db`` or ``snr_db`` says where users are (their
    plurals are taken, too); ``epsilon``, ``packet_bits`` and ``arrival_rate`` are their classes, and the column ``cell``
    tells cells apart, in the order in which they first appear. Without it, all users are of one cell. Other columns are
    left alone, unless they are parameters of the problem, such as ``max_power_dbm``. A parameter with the same value in all
    rows of a cell applies to that cell, whatever the options say; other cells may have other values. A parameter that
    differs within a cell, or belongs to another problem, raises :class:`InputError`.

    Rows may have any order: ``answers.to_pandas()`` has the table's index, and ``answers.flat("power_w")`` the order of its
    rows, so that ``table.join(anyk.from_table(table).solve().to_pandas())`` gives every user its own power.
    """
    names = _column_names(table)
    singular = {column: plural for plural, column in _PLACES.items()}
    found: dict[str, Any] = {}
    for name in names:
        plural = singular.get(name, name if name in _PLACES else None)
        if plural in found:
            raise InputError(f"the table has {name} in two forms, expected one")
        if plural is not None:
            found[plural] = _column(table, name)
    if len(found) != 1:
        known = ", ".join(singular)
        raise InputError(f"the table has {len(found)} of the columns {known}, expected one of them")
    for name in _CLASS:
        if name in names:
            found[name] = _column(table, name)
    for name, values in found.items():
        if values.dtype.kind not in "iuf":
            raise InputError(f"the column {name} has the dtype {values.dtype}, expected numbers")
    first = next(iter(found.values()))
    users = first.size
    own = (cell, *singular, *_PLACES, *_CLASS)
    parameters = {
        name: _column(table, name)
        for name in names
        if name not in own and _anyk.is_parameter(problem, name, "power_w" in names, options)
    }
    whole = {**found, **parameters, **({cell: _column(table, cell)} if cell in names else {})}
    for name, values in whole.items():
        if values.shape != (users,) or values.ndim != 1:
            raise InputError(f"the column {name} has the shape {values.shape}, expected ({users},): one for each user")
    if users == 0:
        raise InputError("the table has no users, expected at least one")
    if cell not in names:
        by_cell, sizes = np.arange(users), [users]
    else:
        try:
            _, first, group = np.unique(whole[cell], return_index=True, return_inverse=True)
        except TypeError as why:
            raise InputError(f"the column {cell} has values that cannot be told apart: {why}") from why
        order = np.argsort(np.argsort(first))[group.reshape(-1)]
        by_cell, sizes = np.argsort(order, kind="stable"), np.bincount(order).tolist()
    arrays = {_PLACES.get(name, name): values[by_cell].astype(np.float64) for name, values in found.items()}
    fields = {name: _texts(values) for name, values in parameters.items()}
    index = table.index if _is_of(table, "pandas") else None
    return Batch.of_table(problem, arrays, sizes, options, by_cell.tolist(), fields, index)


def _texts(values: np.ndarray[Any, Any]) -> list[str]:
    """The values of a column as JSON."""
    if values.dtype.kind not in "biuf":
        return [_text(value) for value in values.tolist()]
    different, place = np.unique(values, return_inverse=True)
    texts = [_text(value) for value in different.tolist()]
    return [texts[at] for at in place.reshape(-1).tolist()]


def _text(value: Any) -> str:
    # A table has no other way to say that a row says nothing.
    if _is_absent(value):
        return "null"
    # pandas makes whole numbers real where one is absent.
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        value = int(value)
    return json.dumps(value, default=str)


def _is_absent(value: Any) -> bool:
    """Whether a value is None, NaN, NaT or NA."""
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True
    except ValueError:
        return False


def _is_of(table: Any, package: str) -> bool:
    # A column may be called like anything that one could ask for.
    return type(table).__module__.split(".")[0] == package


def _column_names(table: Any) -> list[str]:
    if _is_of(table, "pyarrow"):
        names = table.schema.names
    elif hasattr(table, "keys"):
        names = table.keys()
    else:
        kind = type(table).__name__
        raise InputError(f"the table is of the type {kind}, expected pandas, Arrow, or a mapping of columns")
    return [str(name) for name in names]


def _column(table: Any, name: str) -> np.ndarray[Any, Any]:
    column = table.column(name) if _is_of(table, "pyarrow") else table[name]
    if hasattr(column, "to_numpy"):
        try:
            return np.asarray(column.to_numpy())
        except Exception:
            # An Arrow array with gaps cannot be had without a copy.
            return np.asarray(column.to_numpy(zero_copy_only=False))
    return np.asarray(column)
