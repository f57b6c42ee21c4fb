"""Problems of your own: minimise Σ_k w_k c(α_k x_k) subject to Σ_k x_k ≤ X."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Union

import numpy as np
from numpy.typing import ArrayLike

from . import _anyk
from ._anyk import Allocation, Cell, InputError
from ._arrays import Floats, numbers

if TYPE_CHECKING:
    from typing_extensions import Self


class Cost:
    """A decreasing, convex cost c(u) of one user, tabulated with a bound on the error.

    ``cost`` is a vectorised function of u, or samples of one: an array (N, 2) of pairs (u, c), or the two as a tuple. A
    function is asked on ``[low, high]``; under ``low`` nothing serves a user, and beyond ``high`` the cost is taken as
    flat. An :class:`anyk.InputError` says where it is not decreasing or not convex.

    >>> cost = Cost(lambda u: -np.log1p(u), high=1e4)
    >>> bool(abs(cost.marginal(9.0) - 0.1) < 1e-9)
    True
    """

    __slots__ = ("_cost",)

    def __init__(self, cost: CostLike, *, low: float = 0.0, high: float | None = None) -> None:
        self._cost: _anyk.Cost
        if isinstance(cost, Cost):
            self._cost = cost._cost
        elif callable(cost):
            if high is None:
                raise InputError("high is missing, expected the largest u = αx at which the cost is to be known")
            self._cost = _anyk.Cost.of_function(_vectorised(cost), float(low), float(high))
        else:
            u, c = _samples(cost)
            self._cost = _anyk.Cost.of_samples(u, c)

    def __call__(self, u: ArrayLike) -> Floats:
        """c(u): infinite under the range, flat beyond it."""
        array = numbers("u", u)
        return self._cost._value(array.reshape(-1)).reshape(array.shape)

    def marginal(self, u: ArrayLike) -> Floats:
        """−c'(u): what a little more is worth."""
        array = numbers("u", u)
        return self._cost._marginal(array.reshape(-1)).reshape(array.shape)

    def response(self, price: ArrayLike) -> Floats:
        """The u that minimises c(u) + price·u."""
        array = numbers("price", price)
        return self._cost._response(array.reshape(-1)).reshape(array.shape)

    @property
    def range(self) -> tuple[float, float]:
        """The least and the most of u that the table holds."""
        return self._cost.range

    @property
    def error_bound(self) -> float:
        """Bound on the relative error of the value. It holds for every convex function through the same points."""
        return self._cost.error_bound

    @property
    def between_samples(self) -> float | None:
        """Of samples, how far another convex cost through them may be, relative to their range."""
        return self._cost.between_samples

    def __repr__(self) -> str:
        return repr(self._cost)


CostLike = Union[Callable[[Floats], ArrayLike], Cost, ArrayLike]


def _vectorised(cost: Callable[[Floats], ArrayLike]) -> Callable[[Floats], Floats]:
    def ask(u: Floats) -> Floats:
        # A cost may be infinite where u is too little; NumPy need not warn of it.
        with np.errstate(all="ignore"):
            found = numbers("cost", cost(u))
        if found.shape != u.shape:
            raise InputError(
                f"the cost has the shape {found.shape} for u of the shape {u.shape}, expected the same: a vectorised function"
            )
        return found

    return ask


def _samples(cost: Any) -> tuple[Floats, Floats]:
    if isinstance(cost, tuple) and len(cost) == 2:
        u, c = numbers("u", cost[0]).reshape(-1), numbers("c", cost[1]).reshape(-1)
    else:
        array = numbers("cost", cost)
        if array.ndim != 2 or array.shape[1] != 2:
            raise InputError(
                f"cost has the shape {array.shape}, expected a function, pairs (u, c) as (N, 2), or two arrays as a tuple"
            )
        u, c = array[:, 0].copy(), array[:, 1].copy()
    if u.size != c.size:
        raise InputError(f"the samples have {u.size} places and {c.size} costs, expected as many")
    return u, c


class Separable(Cell):
    """Minimise Σ_k w_k c(α_k x_k) subject to Σ_k x_k ≤ X, x ≥ 0: water-filling, proportional fairness, energy, …

    ``cost`` is a vectorised function of u = αx, samples of one, a :class:`Cost`, or a list of these, in which case
    ``classes`` says which of them each user has. It must be decreasing and convex, which is checked. ``weights`` has
    one number for each user, 1e-12 to 1e12 (default: 1). ``solve`` is exact at any number of users, with a duality gap;
    :func:`anyk.train` makes a policy for any number of users.

    >>> problem = Separable(lambda u: -np.log1p(u), gains=[2.0, 1.0, 0.1], budget=1.0)
    >>> problem.solve().x.round(4).tolist()
    [0.75, 0.25, 0.0]
    """

    _costs: list[_anyk.Cost]
    _classes: list[int]

    def __new__(
        cls,
        cost: CostLike | Sequence[CostLike],
        *,
        gains: ArrayLike,
        budget: float,
        classes: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        low: float = 0.0,
    ) -> Self:
        alpha = numbers("gains", gains)
        if alpha.ndim != 1:
            raise InputError(f"gains have the shape {alpha.shape}, expected one number for each user")
        arrays = {"gains": alpha}
        if weights is not None:
            arrays["weights"] = numbers("weights", weights)
            if arrays["weights"].shape != alpha.shape:
                shape = arrays["weights"].shape
                raise InputError(f"weights have the shape {shape}, expected ({alpha.size},): one for each user")
        total = float(budget)
        of_user, count = _classes(classes, alpha.size)
        several = isinstance(cost, list) and classes is not None
        given: list[Any] = list(cost) if several else [cost]  # type: ignore[arg-type]
        if count > len(given):
            raise InputError(f"classes go up to {count - 1}, expected a cost for each: there are {len(given)}")
        # Up to twice what one user could get of all: policies for one user are asked a little beyond.
        high = 2.0 * total * float(alpha.max()) if alpha.size and np.isfinite(alpha).all() and total > 0 else 1.0
        costs = [Cost(one, low=low, high=max(high, 2.0 * low))._cost for one in given]
        problem = super().__new__(cls, "separable", arrays, {}, costs, of_user, total)
        problem._costs = costs
        problem._classes = of_user
        return problem

    def solve(self, method: str | None = None) -> Allocation:
        """The exact optimum, or ``"equal-shares"``: ``x``, ``duality_gap``, ``price``."""
        return super().solve(method)

    def with_gains(
        self, gains: ArrayLike, budget: float | None = None, weights: ArrayLike | None = None
    ) -> Separable:
        """The same cost with other users, of weight 1 without ``weights``: nothing is tabulated again. For one class of
        users."""
        if len(self._costs) != 1:
            raise InputError("there are several costs, expected one: say which users have which")
        cost = object.__new__(Cost)
        cost._cost = self._costs[0]
        total = float(self.budget if budget is None else budget)
        return Separable(cost, gains=gains, budget=total, weights=weights)

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a Separable holds a table of your function and cannot be pickled; make it where it is used")


def _classes(classes: ArrayLike | None, size: int) -> tuple[list[int], int]:
    if classes is None:
        return [0] * size, 1
    array = numbers("classes", classes)
    if array.shape != (size,):
        raise InputError(f"classes have the shape {array.shape}, expected ({size},): one for each user")
    if not bool(np.all((array >= 0) & (array == np.floor(array)) & (array < 2**31))):
        raise InputError("classes: expected whole numbers from 0")
    found = [int(one) for one in array]
    return found, max(found, default=0) + 1
