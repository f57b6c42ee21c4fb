"""Instances of the problems: users of a cell, or links that share a band."""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from typing import Any, Union

import numpy as np
from numpy.typing import ArrayLike
from typing import TYPE_CHECKING

from . import _anyk
from ._anyk import Batch, Cell, InputError
from ._arrays import Floats, numbers

if TYPE_CHECKING:
    from typing_extensions import Self

Option = Union[float, int, str, bool, None, Sequence[float], "os.PathLike[str]"]
"""An option of a problem: a number, a text, a switch, a list, or a file."""

# What people call arrays of users, and what files call the columns.
_PLACES = {
    "distances_m": "distance_m",
    "gains": "gain",
    "gains_db": "gain_db",
    "path_losses_db": "path_loss_db",
    "snrs_db": "snr_db",
}
_CLASS = ("epsilon", "packet_bits", "arrival_rate")


def _users(arrays: dict[str, Any]) -> dict[str, Floats]:
    """The columns of users that were given."""
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
    users = columns[_PLACES[_place(arrays)]].size
    for name, array in columns.items():
        if array.size not in (1, users):
            raise InputError(f"{name} has {array.size} numbers, expected {users}: one for each user, or one for all")
    return columns


def _place(given: dict[str, Any]) -> str:
    """The one array that says where users are."""
    places = [name for name in _PLACES if given.get(name) is not None]
    if len(places) > 1:
        raise InputError(f"{' and '.join(places)} are given, expected only one of them")
    if not places:
        raise InputError(f"none of {', '.join(_PLACES)} is given, expected one of them")
    return places[0]


class _Users(Cell):
    """Users of a cell, given by where they are."""

    _problem = ""

    def __new__(
        cls,
        distances_m: ArrayLike | None = None,
        *,
        gains: ArrayLike | None = None,
        gains_db: ArrayLike | None = None,
        path_losses_db: ArrayLike | None = None,
        snrs_db: ArrayLike | None = None,
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
                "epsilon": epsilon,
                "packet_bits": packet_bits,
                "arrival_rate": arrival_rate,
            }
        )
        return super().__new__(cls, cls._problem, arrays, options)


class Urllc(_Users):
    """Power and bandwidth for URLLC, the least total bandwidth: problem (P1) of the paper.

    Users are given by one of ``distances_m`` (m), ``gains`` (power ratios), ``gains_db``, ``path_losses_db`` (dB) or
    ``snrs_db`` (dB, with ``reference_power_dbm`` and ``reference_bandwidth_hz``). ``epsilon``, ``packet_bits`` and
    ``arrival_rate`` are their service classes, one for all or one for each. Everything else about the cell is an option
    (``anyk.options("urllc", "solve")`` lists them), such as ``max_power_dbm=40``.
    """

    _problem = "urllc"


class UrllcPower(_Users):
    """Power and bandwidth for URLLC in a given band, the least total power: the mirror of :class:`Urllc`.

    Users are given as there. ``max_bandwidth_hz``, the band, has no default. With ``max_power_dbm`` as well, users that
    do not fit both budgets raise :class:`Infeasible`, which has the largest set that does.
    """

    _problem = "urllc-power"


class QosPower(_Users):
    """Power at a rate over a given bandwidth, the least total: problem (P5) of the paper, a closed form.

    Users are given as for :class:`Urllc`, without service classes: all get ``rate_bps`` over ``bandwidth_hz`` each (1e6
    unless said otherwise). There is no budget.
    """

    _problem = "qos-power"


class EqualBandwidth(_Users):
    """Power and one bandwidth for all users, the least bandwidth at a rate: problem (P6) of the paper, a closed form.

    Users are given as for :class:`Urllc`, without service classes: all get ``rate_bps`` (1e6 unless said otherwise). The
    answer's ``bandwidth_hz`` is one number.
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
    """Powers of links that share a band, the largest sum rate.

    ``solve()`` is WMMSE from full power, a local optimum; ``solve("fplinq")``, ``solve("greedy")`` and, for up to 20 links,
    ``solve("exact")`` find schedules.

    ``gains`` is K×K: row k is what receiver k hears, column j what transmitter j causes. ``max_power``, ``noise`` and
    ``weights`` are one number, or one for each link; 1 unless said otherwise.
    """

    _problem = "interference"


class LinkScheduling(_Links):
    """Which of the links that share a band are on, the largest sum rate; links are given as for :class:`Interference`.

    ``solve()`` is FPLinQ; ``solve("exact")`` finds the best schedule of up to 20 links.
    """

    _problem = "link-scheduling"


def cells(problem: str, **given: Any) -> Batch:
    """Many cells of a problem, to be solved or allocated at once on all cores.

    Arrays of users have a row for each cell, (N, K), or are lists of arrays of any lengths; gains of links are (N, K, K)
    or a list of matrices. Other names are options, the same for all cells.

    >>> batch = cells("urllc", distances_m=np.full((3, 5), 100.0))
    >>> batch.solve().power_w.shape
    (3, 5)
    """
    if problem in ("interference", "link-scheduling"):
        arrays = {name: given.pop(name) for name in ("gains", "max_power", "noise", "weights") if name in given}
        if "gains" not in arrays:
            raise InputError("gains are missing, expected matrices, (N, K, K)")
        kind = Interference if problem == "interference" else LinkScheduling
        gains = arrays.pop("gains")
        if not isinstance(gains, (list, tuple)):
            gains = numbers("gains", gains)
            if gains.ndim != 3:
                raise InputError(f"gains have the shape {gains.shape}, expected matrices, (N, K, K)")
        matrices = [numbers("gains", matrix) for matrix in gains]
        return Batch.of_cells([kind(matrix, **arrays, **given) for matrix in matrices])
    place = _place(given)
    rows, sizes = _rows(place, given.pop(place))
    columns = {_PLACES[place]: rows}
    for name in _CLASS:
        value = given.pop(name, None)
        if value is None:
            continue
        if isinstance(value, (list, tuple)) and value and not np.isscalar(value[0]):
            flat, own = _rows(name, value)
            if own != sizes:
                raise InputError(f"{name} has other numbers of users than {place}, expected the same")
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


def _rows(name: str, value: Any) -> tuple[Floats, list[int]]:
    """All rows one after the other, and the length of each."""
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
        raise InputError(f"{name} has the shape {array.shape}, expected a row for each cell: (N, K)")
    if array.size == 0:
        raise InputError(f"{name} has the shape {array.shape}, expected at least one cell and one user")
    return array.reshape(-1), [array.shape[1]] * array.shape[0]


def sample(problem: str, k: int, count: int = 1, seed: int = 0, **given: Option) -> Batch:
    """Random cells of a problem: ``count`` of them with ``k`` users each, the same for the same seed.

    Options are those of ``anyk sample`` (where users are: ``cell_radius_m``, ``path_loss``, ``shadowing``; for links
    ``scenario="dense"`` or ``"d2d"``) and those of the cell. The result is a batch even of one: ``sample("urllc", 5)[0]``
    is a cell.
    """
    of_sample = {name: value for name, value in given.items() if name in _names(problem, "sample")}
    of_cell = {name: value for name, value in given.items() if name in _names(problem, "assess")}
    for name in given:
        if name not in of_sample and name not in of_cell:
            raise InputError(f"{name} has no meaning for cells of {problem}; leave it out")
    # Where users are is of no interest once they are there.
    return _anyk.sample(problem, {**of_sample, "k": k, "count": count, "seed": seed}, of_cell)


@functools.lru_cache(maxsize=None)
def _names(problem: str, verb: str) -> frozenset[str]:
    return frozenset(row["name"] for row in _anyk.options_of(problem, verb))


def read(problem: str, source: str | bytes | os.PathLike[str], **options: Option) -> Batch:
    """Cells from a file that the program reads: users as JSON, JSON lines or CSV, gains of links as JSON or ``.npy``.

    ``source`` is the name of a file, or the content of one as bytes.
    """
    if isinstance(source, bytes):
        return _anyk.read_cells(problem, source, options)
    with open(source, "rb") as file:
        return _anyk.read_cells(problem, file.read(), options)


def _rebuild(problem: str, arrays: dict[str, Any], options: dict[str, Any]) -> Cell:
    """A cell from what was pickled."""
    return _again(problem, {_PLACES.get(name, name): value for name, value in arrays.items()}, options)


def _rebuild_links(problem: str, arrays: dict[str, Any], options: dict[str, Any]) -> Cell:
    return _again(problem, arrays, options)


def _again(problem: str, arrays: dict[str, Any], options: dict[str, Any]) -> Cell:
    own: dict[str, type[Cell]] = {
        kind._problem: kind
        for kind in (Urllc, UrllcPower, QosPower, EqualBandwidth, Interference, LinkScheduling)
    }
    return Cell.__new__(own.get(problem, Cell), problem, arrays, options)


def problems() -> dict[str, str]:
    """The problems there are, by name, each with what it allocates."""
    return {name: about for name, about, _, _, _ in _anyk.problems()}


def options(problem: str, verb: str = "solve") -> list[dict[str, Any]]:
    """The options of ``solve``, ``sample``, ``train``, ``evaluate``, ``allocate`` or ``calibrate`` for a problem.

    Each is a dict: ``name``, ``kind`` (``number``, ``text``, ``switch``, …), ``of`` (the values that it may have, or what
    they are), ``help`` and ``default`` (empty where it has none).
    """
    return _anyk.options_of(problem, verb)


def required_bandwidth(received_w: ArrayLike, **options: Option) -> tuple[Floats, Floats]:
    """The least bandwidth b(u) in Hz that a received power u in W needs, and its derivative in Hz/W.

    Bandwidths are rounded up by the certified error of the table (about 1e-12), so that the QoS really holds.
    Options are those of a cell, such as ``epsilon=1e-6``. Raises :class:`InputError` where no bandwidth would do
    (under :func:`least_received_w`).
    """
    array = numbers("received_w", received_w)
    bandwidth, slope = _anyk.required_bandwidth(array.reshape(-1), options)
    return bandwidth.reshape(array.shape), slope.reshape(array.shape)


def least_received_w(**options: Option) -> float:
    """The received power in W under which no bandwidth serves a user; options are those of a cell."""
    return _anyk.least_received_w(options)
