"""Cells: the instances of the built-in problems, with users or with links that share a band."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Sequence
from typing import Any, Union

import numpy as np
from numpy.typing import ArrayLike
from typing import TYPE_CHECKING

from . import _anyk
from ._anyk import Batch, Cell, InputError
from ._arrays import Floats, numbers
from ._names import hint
from ._problems import ProblemName, Verb
from ._tables import Table

if TYPE_CHECKING:
    from typing_extensions import Self

Option = Union[float, int, str, bool, None, Sequence[float], "os.PathLike[str]"]
"""An option of a problem: a number, a string, a switch, a list, or a file."""

# Keyword arguments for the users, and the names of the columns in files.
_PLACES = {
    "distances_m": "distance_m",
    "gains": "gain",
    "gains_db": "gain_db",
    "path_losses_db": "path_loss_db",
    "snrs_db": "snr_db",
    "rsrps_dbm": "rsrp_dbm",
}
_CLASS = ("epsilon", "packet_bits", "arrival_rate")


def _users(arrays: dict[str, Any], options: dict[str, Any]) -> dict[str, Floats]:
    """Return the given arrays of users by the names of their columns, and check their shapes."""
    columns = {}
    for name, value in arrays.items():
        if value is None:
            continue
        array = numbers(name, value)
        if array.ndim > 1:
            raise InputError(
                f"{name} has the shape {array.shape}, expected one number for each user; anyk.cells takes many cells"
            )
        if array.size == 0:
            raise InputError(f"{name} is empty, expected at least one user")
        columns[_PLACES.get(name, name)] = array
    users = columns[_PLACES[_place(arrays, options)]].size
    for name, array in columns.items():
        if array.size not in (1, users):
            raise InputError(f"{name} has {array.size} numbers, expected {users}: one for each user, or one for all")
    return columns


def _place(given: dict[str, Any], others: Iterable[str] = ()) -> str:
    """Return the name of the argument for the gains; raise :class:`InputError` unless exactly one is given.

    One of ``others``, the names of other arguments, may be a misspelled one.
    """
    places = [name for name in _PLACES if given.get(name) is not None]
    if len(places) > 1:
        raise InputError(f"{' and '.join(places)} are given, expected only one of them")
    if not places:
        near = next(filter(None, (hint(name, _PLACES) for name in others)), "")
        raise InputError(f"none of {', '.join(_PLACES)} is given, expected one of them{near}")
    return places[0]


class _Users(Cell):
    """Base class of cells with users, whose gains come from one of several arguments."""

    _problem = ""

    def __new__(
        cls,
        distances_m: ArrayLike | None = None,
        *,
        gains: ArrayLike | None = None,
        gains_db: ArrayLike | None = None,
        path_losses_db: ArrayLike | None = None,
        snrs_db: ArrayLike | None = None,
        rsrps_dbm: ArrayLike | None = None,
        epsilon: ArrayLike | None = None,
        packet_bits: ArrayLike | None = None,
        arrival_rate: ArrayLike | None = None,
        **options: Option,
    ) -> Self:
        arrays = _users(
            {
                "distances_m": distances_m,
                "gains": gains,
                "gains_db": gains_db,
                "path_losses_db": path_losses_db,
                "snrs_db": snrs_db,
                "rsrps_dbm": rsrps_dbm,
                "epsilon": epsilon,
                "packet_bits": packet_bits,
                "arrival_rate": arrival_rate,
            },
            options,
        )
        return super().__new__(cls, cls._problem, arrays, options)


class Urllc(_Users):
    """URLLC with minimum total bandwidth under a power budget: problem (P1) of the paper.

    Pass exactly one of ``distances_m``, ``gains``, ``gains_db``, ``path_losses_db``, ``snrs_db`` and ``rsrps_dbm``.

    Parameters
    ----------
    distances_m
        Distances from the base station, in m.

    gains
        Channel gains, as power ratios.

    gains_db
        Channel gains, in dB.

    path_losses_db
        Path losses, in dB.

    snrs_db
        Signal-to-noise ratios, in dB. They also need ``reference_power_dbm`` and ``reference_bandwidth_hz``.

    rsrps_dbm
        Received powers of the reference signal (RSRP), in dBm. They also need ``reference_power_dbm``, the transmit
        power of the reference signal per resource element.

    epsilon
        Maximum packet loss: one number for all users, or one for each.

    packet_bits
        Packet size in bits: one number for all users, or one for each.

    arrival_rate
        Mean number of packets per frame: one number for all users, or one for each.

    **options
        Options of the cell, such as ``max_power_dbm=40``; ``anyk.options("urllc", "solve")`` lists them.

    Raises
    ------
    InputError
        If an argument is missing, has the wrong shape or is out of range.

    Examples
    --------
    >>> cell = Urllc(distances_m=[60.0, 90.0, 240.0])
    >>> cell.solve().status
    'optimal'
    """

    _problem = "urllc"


class UrllcPower(_Users):
    """URLLC with minimum total power in a given band.

    Takes the same arguments as :class:`Urllc`. The option ``max_bandwidth_hz``, the band, is required. If you also
    set ``max_power_dbm`` and the users do not fit both budgets, ``solve`` raises :class:`Infeasible` with the largest
    set of users that does.
    """

    _problem = "urllc-power"


class QosPower(_Users):
    """Minimum total power at a given rate and bandwidth: problem (P5) of the paper, a closed form.

    Takes the gains as in :class:`Urllc`, but no service class. Every user gets the rate ``rate_bps`` over the bandwidth
    ``bandwidth_hz`` (both 1e6 by default). The power has no budget.
    """

    _problem = "qos-power"


class EqualBandwidth(_Users):
    """Minimum bandwidth, equal for all users, at a given rate: problem (P6) of the paper, a closed form.

    Takes the gains as in :class:`Urllc`, but no service class. Every user gets the rate ``rate_bps`` (1e6 by default).
    The ``bandwidth_hz`` of an allocation is one number.
    """

    _problem = "equal-bandwidth"


class _Links(Cell):
    _problem = ""

    def __new__(
        cls,
        gains: ArrayLike,
        *,
        max_power: ArrayLike | None = None,
        noise: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        **options: Option,
    ) -> Self:
        given = {"gains": gains, "max_power": max_power, "noise": noise, "weights": weights}
        arrays = {name: numbers(name, value) for name, value in given.items() if value is not None}
        return super().__new__(cls, cls._problem, arrays, options)


class Interference(_Links):
    """Powers of links that share a band, with maximum sum rate.

    ``solve()`` runs WMMSE from full power, which finds a local optimum. ``solve("fplinq")``, ``solve("greedy")`` and,
    for up to 20 links, ``solve("exact")`` find schedules.

    Parameters
    ----------
    gains
        K×K matrix of power gains: row k has the gains to receiver k, column j those from transmitter j.

    max_power
        Maximum power: one number for all links, or one for each (default: 1).

    noise
        Noise power, in the unit of ``max_power``: one number for all links, or one for each (default: 1).

    weights
        Weights in the sum rate: one number for all links, or one for each (default: 1).

    **options
        Other options; ``anyk.options("interference", "solve")`` lists them.

    Raises
    ------
    InputError
        If an argument has the wrong shape or is out of range.
    """

    _problem = "interference"


class LinkScheduling(_Links):
    """Choice of the links in a band that transmit, with maximum sum rate.

    Takes the same arguments as :class:`Interference`. ``solve()`` runs FPLinQ; ``solve("exact")`` finds the best
    schedule of up to 20 links.
    """

    _problem = "link-scheduling"


def cells(problem: ProblemName, **given: Any) -> Batch:
    """Build many cells of a problem, to solve or allocate them in parallel.

    The result can be indexed, sliced (``batch[:10]``), filtered by a boolean mask, and pickled.

    Parameters
    ----------
    problem
        Name of the problem, such as ``"urllc"``.

    **given
        Arguments of the problem's class. An array of users has one row per cell, (N, K), or is a list of arrays of any
        lengths. Gains of links are (N, K, K) or a list of matrices. Options are the same for all cells.

    Raises
    ------
    InputError
        If an argument has the wrong shape or is out of range.

    Examples
    --------
    >>> batch = cells("urllc", distances_m=np.full((3, 5), 100.0))
    >>> batch.solve().power_w.shape
    (3, 5)
    """
    if problem in ("interference", "link-scheduling"):
        arrays = {name: given.pop(name) for name in ("gains", "max_power", "noise", "weights") if name in given}
        if "gains" not in arrays:
            near = next(filter(None, (hint(name, ["gains"]) for name in given)), "")
            raise InputError(f"gains are missing, expected matrices, (N, K, K){near}")
        kind = Interference if problem == "interference" else LinkScheduling
        gains = arrays.pop("gains")
        if not isinstance(gains, (list, tuple)):
            gains = numbers("gains", gains)
            if gains.ndim != 3:
                raise InputError(f"gains have the shape {gains.shape}, expected matrices, (N, K, K)")
        matrices = [numbers("gains", matrix) for matrix in gains]
        return Batch.of_cells([kind(matrix, **arrays, **given) for matrix in matrices])
    place = _place(given, given)
    rows, sizes = _rows(place, given.pop(place))
    columns = {_PLACES[place]: rows}
    for name in _CLASS:
        value = given.pop(name, None)
        if value is None:
            continue
        if isinstance(value, (list, tuple)) and value and not np.isscalar(value[0]):
            flat, own = _rows(name, value)
            if own != sizes:
                raise InputError(f"{name} and {place} have different numbers of users, expected equal numbers")
            columns[name] = flat
            continue
        array = numbers(name, value)
        same = len(set(sizes)) == 1
        if array.size == 1 and array.ndim <= 1:
            columns[name] = array.reshape(-1)
        elif same and array.shape == (sizes[0],):
            columns[name] = np.tile(array, len(sizes))
        elif same and array.shape == (len(sizes), sizes[0]):
            columns[name] = array.reshape(-1)
        else:
            expected = "one number, one for each user, or a list of arrays like those of the users"
            raise InputError(f"{name} has the shape {array.shape}, expected {expected}")
    return Batch.of_arrays(problem, columns, sizes, given)


def batch_of(cells: Cell | Batch | Sequence[Cell]) -> Batch:
    """Return a cell, a batch or a list of cells as a batch."""
    if isinstance(cells, Batch):
        return cells
    if isinstance(cells, Cell):
        return Batch.of_cells([cells])
    if isinstance(cells, (str, bytes)) or not np.iterable(cells) or not all(isinstance(cell, Cell) for cell in cells):
        raise InputError(
            "cells: expected a cell, a list of cells or a Batch, such as anyk.Urllc(…), or anyk.from_table(…) for a table"
        )
    return Batch.of_cells(list(cells))


def _rows(name: str, value: Any) -> tuple[Floats, list[int]]:
    """Return all rows one after another, and the length of each."""
    if isinstance(value, (list, tuple)):
        parts = [numbers(name, part) for part in value]
        for index, part in enumerate(parts):
            if part.ndim != 1:
                raise InputError(f"{name}[{index}] has the shape {part.shape}, expected one number for each user")
            if part.size == 0:
                raise InputError(f"{name}[{index}] is empty, expected at least one user")
        if not parts:
            raise InputError(f"{name} is empty, expected at least one cell")
        return np.concatenate(parts), [part.size for part in parts]
    array = numbers(name, value)
    if array.ndim != 2:
        raise InputError(f"{name} has the shape {array.shape}, expected one row per cell: (N, K)")
    if array.size == 0:
        raise InputError(f"{name} has the shape {array.shape}, expected at least one cell and one user")
    return array.reshape(-1), [array.shape[1]] * array.shape[0]


def sample(problem: ProblemName, k: int, count: int = 1, seed: int = 0, **given: Option) -> Batch:
    """Draw ``count`` random cells with ``k`` users or links each.

    The result is a batch even if ``count`` is 1: ``sample("urllc", 5)[0]`` is a cell.

    Parameters
    ----------
    problem
        Name of the problem.

    k
        Number of users or links in each cell.

    count
        Number of cells.

    seed
        Seed of the random cells: the same seed gives the same cells.

    **given
        Options of the cell, and those of ``anyk sample``: for users ``cell_radius_m``, ``path_loss``, ``shadowing``
        and others, for links ``scenario="dense"`` or ``"d2d"``.

    Raises
    ------
    InputError
        If the problem has no such option, or a value is out of range.
    """
    of_sample = {name: value for name, value in given.items() if name in _names(problem, "sample")}
    of_cell = {name: value for name, value in given.items() if name in _names(problem, "assess")}
    for name in given:
        if name not in of_sample and name not in of_cell:
            known = {"k", "count", "seed", *_names(problem, "sample"), *_names(problem, "assess")}
            raise InputError(f"{name} does not apply to cells of {problem}; remove it{hint(name, known)}")
    return _anyk.sample(problem, {**of_sample, "k": k, "count": count, "seed": seed}, of_cell)


@functools.lru_cache(maxsize=None)
def _names(problem: str, verb: str) -> frozenset[str]:
    return frozenset(row["name"] for row in _anyk.options_of(problem, verb))


def read(problem: ProblemName, source: str | bytes | os.PathLike[str], **options: Option) -> Batch:
    """Read cells from a file in a format of the program.

    Parameters
    ----------
    problem
        Name of the problem.

    source
        Name of a file, or its content as bytes: users as JSON, JSON lines or CSV, gains of links as JSON or ``.npy``.

    **options
        Options of the cells.

    Raises
    ------
    InputError
        If the content is not valid input of the problem.
    """
    if isinstance(source, bytes):
        return _anyk.read_cells(problem, source, options)
    with open(source, "rb") as file:
        return _anyk.read_cells(problem, file.read(), options)


def problems() -> dict[str, str]:
    """Return the names of all problems with their descriptions."""
    return {name: about for name, about, _, _, _ in _anyk.problems()}


class Options(list[dict[str, Any]]):
    """List of options, printed as a table."""

    def _table(self) -> Table:
        def row(option: dict[str, Any]) -> dict[str, Any]:
            return {**option, "of": short(", ".join(option["of"])), "default": short(option["default"])}

        def short(text: str) -> str:
            return text if len(text) <= 40 else text[:39] + "…"

        return Table(["name", "kind", "of", "default", "help"], [row(option) for option in self])

    def __repr__(self) -> str:
        return str(self._table())

    def _repr_html_(self) -> str:
        return self._table()._repr_html_()


def options(problem: ProblemName, verb: Verb = "solve") -> Options:
    """Return the options of a command for a problem.

    Parameters
    ----------
    problem
        Name of the problem.

    verb
        ``"solve"``, ``"sample"``, ``"train"``, ``"evaluate"``, ``"allocate"`` or ``"calibrate"``.

    Returns
    -------
    list of dict
        The options, printed as a table. The keys are ``name``, ``kind`` (``number``, ``text``, ``switch``, …), ``of`` (the possible values or the unit),
        ``help`` and ``default`` (empty if there is none).
    """
    return Options(_anyk.options_of(problem, verb))


def required_bandwidth(received_w: ArrayLike, **options: Option) -> tuple[Floats, Floats]:
    """Return the minimum bandwidths b(u) that meet the QoS at received powers u, and their derivatives.

    The bandwidths are rounded up by the error bound of the table (relative, about 1e-12).

    Parameters
    ----------
    received_w
        Received powers u in W.

    **options
        Options of the cell, such as ``epsilon=1e-6``.

    Returns
    -------
    bandwidth_hz
        b(u) in Hz, with the shape of ``received_w``.

    slope_hz_per_w
        Derivative of b in Hz/W.

    Raises
    ------
    InputError
        If a power is below :func:`least_received_w`, so that no bandwidth is enough.
    """
    array = numbers("received_w", received_w)
    bandwidth, slope = _anyk.required_bandwidth(array.reshape(-1), options)
    return bandwidth.reshape(array.shape), slope.reshape(array.shape)


def least_received_w(**options: Option) -> float:
    """Return the smallest received power in W that some bandwidth can serve; options are those of the cell."""
    return _anyk.least_received_w(options)
