"""Gains and users from other packages: Sionna, DeepMIMO, pandas and Arrow."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np

from . import _anyk
from ._anyk import Batch, InputError
from ._arrays import Floats
from ._cells import _CLASS, _PLACES, Option
from ._names import hint
from ._problems import ProblemName


def _complex(name: str, value: Any) -> np.ndarray[Any, Any]:
    """Convert amplitudes, complex or a pair of real and imaginary parts, to an array."""
    if isinstance(value, (tuple, list)) and len(value) == 2 and hasattr(value[0], "shape"):
        parts = [np.asarray(part) for part in value]
        if any(part.dtype.kind not in "iuf" for part in parts) or parts[0].shape != parts[1].shape:
            shapes = " and ".join(f"{part.shape} of {part.dtype}" for part in parts)
            raise InputError(
                f"{name} is a pair of arrays, {shapes}; the real and the imaginary part must be real numbers of the same shape"
            )
        return parts[0].astype(np.float64) + 1j * parts[1].astype(np.float64)
    if getattr(value, "requires_grad", False):
        value = value.detach()
    try:
        array = np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as why:
        raise InputError(f"{name} is not an array: {why}") from why
    if isinstance(value, np.ma.MaskedArray) and np.any(np.ma.getmaskarray(value)):
        raise InputError(f"{name} has masked values, expected amplitudes")
    if array.dtype.kind not in "fc":
        raise InputError(f"{name} has the dtype {array.dtype}, expected complex or real amplitudes (floating point)")
    if 0 in array.shape:
        raise InputError(f"{name} has the shape {array.shape}, expected at least one entry along every axis")
    return array


def gains_of_sionna(a: Any, *, mean_over_antennas: bool = True) -> Floats:
    """Compute power gains from the path coefficients of Sionna.

    The gain between a transmitter and a receiver is the sum over paths of ``|a|²``, averaged over time steps and
    pairs of antennas. Pass ``gains[:, 0]``, the users of the first base station, to :class:`anyk.Urllc`, or a square
    matrix to :class:`anyk.Interference`. Users without a path have a gain of 0; remove them, because the problems
    reject it.

    Parameters
    ----------
    a
        Path coefficients in one of these shapes:

        - Sionna RT 1.x, ``paths.a`` (a pair of real and imaginary parts) or ``paths.cir()[0]``:
          ``[num_rx, num_rx_ant, num_tx, num_tx_ant, num_paths]``, optionally with ``num_time_steps`` as the last axis.
        - Sionna PHY channel models, ``a`` of ``cir``:
          ``[batch, num_rx, num_rx_ant, num_tx, num_tx_ant, num_paths, num_time_steps]``.

    mean_over_antennas
        Whether to average over pairs of antennas; otherwise they are summed.

    Returns
    -------
    numpy.ndarray
        Power gains, ``[num_rx, num_tx]`` or ``[batch, num_rx, num_tx]``.

    Raises
    ------
    InputError
        If the shape is another one, or an entry is not finite.
    """
    array = _complex("a", a)
    if array.ndim not in (5, 6, 7):
        raise InputError(
            f"a has the shape {array.shape}, expected [num_rx, num_rx_ant, num_tx, num_tx_ant, num_paths], "
            "optionally followed by num_time_steps, or with batch first and num_time_steps last"
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
    """Compute power gains from a DeepMIMO channel.

    The gain of a user is the mean of ``|h|²`` over subcarriers and pairs of antennas. Users without a path have a
    gain of 0; remove them, because the problems reject it.

    Parameters
    ----------
    channel
        Channel in the frequency domain, ``[num_users, num_rx_ant, num_tx_ant, num_subcarriers]``:
        ``dataset[0]["user"]["channel"]`` of versions 2 and 3, or ``dataset.channel`` of version 4.

    mean_over_antennas
        Whether to average over pairs of antennas; otherwise they are summed.

    Returns
    -------
    numpy.ndarray
        Power gains, ``[num_users]``.

    Raises
    ------
    InputError
        If the shape is another one, or an entry is not finite.
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


def from_table(table: Any, *, problem: ProblemName = "urllc", cell: str = "cell", **options: Option) -> Batch:
    """Build cells from a table with one row per user.

    The table needs exactly one of the columns ``distance_m``, ``gain``, ``gain_db``, ``path_loss_db``, ``snr_db`` and
    ``rsrp_dbm``, or of their plurals. It can have ``epsilon``, ``packet_bits`` and ``arrival_rate``, the service
    class. Cells are in the order in which they first appear; without a column for the cell, all users are in one cell.
    AnyK rejects a column whose name looks like a typo of one of these, and a row without a cell.

    A column with the name of a parameter of the problem, such as ``max_power_dbm``, sets the parameter of each cell and
    takes precedence over the options. All rows of a cell must have the same value. Other columns are ignored.

    The rows can be in any order. ``flat`` of the result has the order of the rows and ``to_pandas`` has the index of
    the table, so ``table.join(anyk.from_table(table).solve().to_pandas())`` adds every user's allocation.

    Parameters
    ----------
    table
        A ``pandas.DataFrame``, a ``pyarrow.Table`` or ``RecordBatch``, or a mapping of columns.

    problem
        Name of the problem.

    cell
        Name of the column that identifies the cell of a user. A name other than ``cell`` must be in the table.

    **options
        Options of the cells.

    Raises
    ------
    InputError
        If a column is missing or misspelled, has the wrong length or invalid values, or if a parameter differs within
        a cell or belongs to another problem.
    """
    names = _column_names(table)
    singular = {column: plural for plural, column in _PLACES.items()}
    found: dict[str, Any] = {}
    for name in names:
        plural = singular.get(name, name if name in _PLACES else None)
        if plural in found:
            raise InputError(f"the table has both {_PLACES[plural]} and {plural}; keep one of them")
        if plural is not None:
            found[plural] = _column(table, name)
    if len(found) != 1:
        known = ", ".join(singular)
        hints = (hint(name, singular) for name in names) if not found else ()
        near = next(filter(None, hints), "")
        raise InputError(f"the table has {len(found)} of the columns {known}, expected one of them{near}")
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
    others = [name for name in names if name not in own and name not in parameters]
    for name in others:
        meant = _anyk.slip_of(name, [*singular, *_CLASS])
        if meant is not None:
            raise InputError(f"the column {name!r} looks like a typo of {meant!r}, expected that name")
    if cell not in names:
        _check_cell(cell, names)
    whole = {**found, **parameters, **({cell: _column(table, cell)} if cell in names else {})}
    for name, values in whole.items():
        if values.shape != (users,) or values.ndim != 1:
            raise InputError(f"the column {name} has the shape {values.shape}, expected ({users},): one for each user")
    if users == 0:
        raise InputError("the table has no users, expected at least one")
    if cell not in names:
        by_cell, sizes = np.arange(users), [users]
    else:
        may_lack = whole[cell].dtype.kind not in "biuSU"
        for row, name in enumerate(whole[cell] if may_lack else ()):
            if _is_absent(name):
                raise InputError(f"the table: row {row}: {cell} is missing, expected the name of the user's cell")
        try:
            _, first, group = np.unique(whole[cell], return_index=True, return_inverse=True)
        except TypeError as why:
            raise InputError(f"the column {cell} has values that cannot be sorted: {why}") from why
        order = np.argsort(np.argsort(first))[group.reshape(-1)]
        by_cell, sizes = np.argsort(order, kind="stable"), np.bincount(order).tolist()
    arrays = {_PLACES.get(name, name): values[by_cell].astype(np.float64) for name, values in found.items()}
    # AnyK does not read the values of other columns, but rejects names that look like those of parameters.
    fields = {name: _texts(values) for name, values in parameters.items()}
    fields.update({name: [] for name in others})
    index = table.index if _is_of(table, "pandas") else None
    return Batch.of_table(problem, arrays, sizes, options, by_cell.tolist(), fields, index)


def _check_cell(cell: str, names: list[str]) -> None:
    """Reject a table whose cells would be merged into one because the column ``cell`` has another name."""
    if cell != "cell":
        raise InputError(f"the table has no column {cell!r}, which separates the cells{hint(cell, names)}")
    for name in names:
        if _LIKE_CELL.fullmatch(name) or _anyk.slip_of(name, [cell]) is not None:
            raise InputError(
                f"the column {name!r} looks like {cell!r}, which separates the cells; rename it, or pass cell={name!r}"
            )


_LIKE_CELL = re.compile(r" *cells?[-_ ]?(ids?|names?|index|idx|no|nr|num|number)? *", re.IGNORECASE)


def _texts(values: np.ndarray[Any, Any]) -> list[str]:
    """Return the values of a column as JSON."""
    if values.dtype.kind not in "biuf":
        return [_text(value) for value in values.tolist()]
    different, place = np.unique(values, return_inverse=True)
    texts = [_text(value) for value in different.tolist()]
    return [texts[at] for at in place.reshape(-1).tolist()]


def _text(value: Any) -> str:
    # A missing entry of a table means that the row does not set the parameter.
    if _is_absent(value):
        return "null"
    # pandas converts integers to floats if an entry of the column is missing.
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        value = int(value)
    return json.dumps(value, default=str)


def _is_absent(value: Any) -> bool:
    """Return whether a value is None, NaN, NaT or NA."""
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True
    except ValueError:
        return False


def _is_of(table: Any, package: str) -> bool:
    # Check the type, not attributes: a column can have the name of any attribute.
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
            # An Arrow array with missing entries needs a copy.
            return np.asarray(column.to_numpy(zero_copy_only=False))
    return np.asarray(column)
