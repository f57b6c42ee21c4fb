"""User-defined problems: minimize Σ_k w_k c(α_k x_k) subject to Σ_k x_k ≤ X."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Union

import numpy as np
from numpy.typing import ArrayLike

from . import _anyk
from ._anyk import Allocation, Cell, InputError
from ._arrays import Floats, numbers
from ._names import hint
from ._problems import SolverName

if TYPE_CHECKING:
    from typing_extensions import Self


class Cost:
    """Decreasing, convex cost c(u) of one user, tabulated with an error bound.

    Parameters
    ----------
    cost
        A vectorized function of u, or samples: an array (N, 2) of pairs (u, c), or a tuple of two arrays.

    low
        Smallest u that serves a user; the cost is infinite below it. Only for a function.

    high
        Largest u at which the function is evaluated; the cost is constant above it. Required for a function.

    Raises
    ------
    InputError
        If the cost is not finite, decreasing and convex. The message names the points that show it.

    Examples
    --------
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
                raise InputError("high is missing, expected the largest u = αx at which the cost is needed")
            self._cost = _anyk.Cost.of_function(_vectorised(cost), float(low), float(high))
        else:
            u, c = _samples(cost)
            self._cost = _anyk.Cost.of_samples(u, c)

    def __call__(self, u: ArrayLike) -> Floats:
        """Return c(u): infinite below the range, constant above it."""
        array = numbers("u", u)
        return self._cost._value(array.reshape(-1)).reshape(array.shape)

    def marginal(self, u: ArrayLike) -> Floats:
        """Return the marginal value −c'(u)."""
        array = numbers("u", u)
        return self._cost._marginal(array.reshape(-1)).reshape(array.shape)

    def response(self, price: ArrayLike) -> Floats:
        """Return the u that minimizes c(u) + price·u."""
        array = numbers("price", price)
        return self._cost._response(array.reshape(-1)).reshape(array.shape)

    @property
    def range(self) -> tuple[float, float]:
        """Minimum and maximum u of the table."""
        return self._cost.range

    @property
    def error_bound(self) -> float:
        """Bound on the relative error of the values; it holds for every convex function through the same points."""
        return self._cost.error_bound

    @property
    def between_samples(self) -> float | None:
        """Maximum difference to any other convex cost through the same samples, relative to the range of their values.

        None for a function.
        """
        return self._cost.between_samples

    def __reduce__(self) -> tuple[Any, ...]:
        return wrapped, (self._cost,)

    def __repr__(self) -> str:
        return repr(self._cost)


CostLike = Union[Callable[[Floats], ArrayLike], Cost, ArrayLike]


def _vectorised(cost: Callable[[Floats], ArrayLike]) -> Callable[[Floats], Floats]:
    def ask(u: Floats) -> Floats:
        # A cost can be infinite if u is too small; suppress NumPy's warnings about it.
        with np.errstate(all="ignore"):
            try:
                values = cost(u)
            except (TypeError, ValueError) as why:
                # Functions of module math and conditions such as `u > 1` fail for an array.
                if "array" not in str(why):
                    raise
                raise InputError(
                    f"the cost cannot take an array: {why}. It gets an array of many u; use NumPy, such as np.exp "
                    "instead of math.exp and np.where instead of if"
                ) from why
            found = numbers("cost", values)
        if found.shape != u.shape:
            raise InputError(
                f"the cost has the shape {found.shape} for u of the shape {u.shape}, expected a vectorized function"
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
        raise InputError(f"the samples have {u.size} values of u and {c.size} of c, expected one value of c for each u")
    return u, c


class Separable(Cell):
    """Minimize Σ_k w_k c(α_k x_k) subject to Σ_k x_k ≤ X, x ≥ 0: water-filling, proportional fairness, energy, …

    ``solve`` returns the exact optimum for any number of users, with a duality gap. :func:`anyk.train` makes a policy
    for any number of users, and :func:`anyk.evaluate` compares policies. A pickle contains the table of the cost, not
    your function.

    Parameters
    ----------
    cost
        Decreasing, convex cost c: a vectorized function of u = αx, samples as in :class:`Cost`, a :class:`Cost`, or a
        list of these together with ``classes``.

    gains
        Gains α_k, one for each user.

    budget
        Budget X.

    classes
        Index of each user's cost in the list.

    weights
        Weights w_k, one for each user, from 1e-12 to 1e12 (default: 1).

    low
        Smallest u that serves a user, as in :class:`Cost`.

    Raises
    ------
    InputError
        If the cost is not decreasing and convex, or another argument has the wrong shape or is out of range.

    Examples
    --------
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
        **other: Any,
    ) -> Self:
        if other:
            raise InputError(_stray(next(iter(other))))
        alpha = numbers("gains", gains)
        if alpha.ndim != 1:
            raise InputError(f"gains have the shape {alpha.shape}, expected one number for each user")
        arrays = {"gains": alpha}
        if weights is not None:
            arrays["weights"] = numbers("weights", weights)
            if arrays["weights"].shape != alpha.shape:
                shape = arrays["weights"].shape
                raise InputError(f"weights have the shape {shape}, expected ({alpha.size},): one for each user")
        total = _budget(budget)
        of_user, count = _classes(classes, alpha.size)
        several = isinstance(cost, list) and classes is not None
        given: list[Any] = list(cost) if several else [cost]  # type: ignore[arg-type]
        if count > len(given):
            raise InputError(f"the largest class is {count - 1}, expected a cost for each class, but got {len(given)}")
        # Tabulate up to twice the largest possible u, because a policy can evaluate the cost beyond that u.
        high = 2.0 * total * float(alpha.max()) if alpha.size and np.isfinite(alpha).all() and total > 0 else 1.0
        costs = [Cost(one, low=low, high=max(high, 2.0 * low))._cost for one in given]
        problem = super().__new__(cls, "separable", arrays, {}, costs, of_user, total)
        problem._costs = costs
        problem._classes = of_user
        return problem

    def solve(self, method: SolverName | None = None) -> Allocation:
        """Return the exact optimum, or with ``"equal-shares"`` the baseline; the amounts are ``x``."""
        return super().solve(method)

    def with_gains(
        self, gains: ArrayLike, budget: float | None = None, weights: ArrayLike | None = None
    ) -> Separable:
        """Return a problem with the same cost and other users, without tabulating the cost again.

        The new weights are 1 by default. Raises :class:`InputError` if the problem has several costs.
        """
        if len(self._costs) != 1:
            raise InputError("the problem has several costs, expected one; build a new Separable with classes")
        total = float(self.budget if budget is None else budget)
        return Separable(wrapped(self._costs[0]), gains=gains, budget=total, weights=weights)


def wrapped(cost: _anyk.Cost) -> Cost:
    """Return a cost of the compiled module as a :class:`Cost`."""
    found = object.__new__(Cost)
    found._cost = cost
    return found


_SECOND_RESOURCE = (
    "To account for a second resource, include it in the cost, for example the bandwidth b(u) that a user with the "
    "received power u requires. For a power and a bandwidth budget, use anyk.UrllcPower"
)


def _budget(budget: Any) -> float:
    array = numbers("budget", budget)
    if array.size != 1:
        raise InputError(
            f"budget has {array.size} numbers, expected one: a Separable splits one resource. {_SECOND_RESOURCE}"
        )
    return float(array.reshape(-1)[0])


def _stray(name: str) -> str:
    """Return the message for an argument that :class:`Separable` does not have."""
    if name in ("cap", "caps", "upper", "bounds", "max_x", "x_max"):
        return (
            f"{name} is not an argument of Separable. To limit a user to x ≤ m, use a cost that is constant from u = α·m, "
            "such as lambda u: cost(np.minimum(u, α·m)); for different limits, pass a list of costs and classes"
        )
    if name in ("budgets", "constraints"):
        return (
            f"{name} is not an argument of Separable, which splits one budget. {_SECOND_RESOURCE}"
        )
    if name in ("maximize", "utility", "sense"):
        return f"{name} is not an argument of Separable. To maximize a utility, pass its negative as the cost"
    return f"{name} is not an argument of Separable{hint(name, _ARGUMENTS)}"


_ARGUMENTS = ("cost", "gains", "budget", "classes", "weights", "low")


def _classes(classes: ArrayLike | None, size: int) -> tuple[list[int], int]:
    if classes is None:
        return [0] * size, 1
    array = numbers("classes", classes)
    if array.shape != (size,):
        raise InputError(f"classes have the shape {array.shape}, expected ({size},): one for each user")
    if not bool(np.all((array >= 0) & (array == np.floor(array)) & (array < 2**31))):
        raise InputError("classes has invalid values, expected non-negative integers")
    found = [int(one) for one in array]
    return found, max(found, default=0) + 1
