"""Price layer: splits a budget with the size law of an optimum, for any number of users."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn

from anyk.torch import _masks
from anyk.torch.response import PriceResponse

#: Tolerance of the search for ``|ln(sum/slack)|``. The last Newton step reduces the error to about its square.
_TOLERANCE = {torch.float64: 1e-8, torch.float32: 1e-5}
#: Largest accepted ``|ln(sum/slack)|`` after the last step. If it is larger, the response does not reach the budget.
_LARGEST_MISS = 1e-3
#: Maximum number of steps of the search.
_STEPS = 100
#: Limit of the first step of the search; it doubles with each step.
_STRIDE = 16.0
#: Share of the budget that the minimum amounts must leave. With less, rounding errors determine the price.
_SMALLEST_SLACK = 1e-12


class PriceLayer(nn.Module):
    """Output layer whose amounts sum to a budget, with one price for all users.

    ``x_k = m_k + s_k·e^{ψ(ln ν + o_k)}`` with the price ``ν`` such that ``Σ_k x_k = X``.

    ``ψ`` is a strictly decreasing response that all users share, ``o_k`` is the offset of a user, ``m_k ≥ 0`` its
    minimum amount, ``s_k > 0`` the unit of the amount above it, and ``X`` the budget. The optimum of
    ``min Σ_k c(x_k)`` under a budget has this form (KKT conditions). ``ψ`` does not depend on ``K``, so a response that
    was learned with ten users also applies to a thousand. With a softmax, in contrast, the *ratios* between the amounts
    of two users stay those of the training size.

    **Gradient.** Newton's method within a bracket finds the price without gradients. One more Newton step, along
    fixed tangents, runs with gradients. It does not move the price, and its derivative is that of the implicit
    function theorem, ``dν = −(∂F/∂ν)⁻¹ dF``. With this step, unlike with an ``autograd.Function``, autograd finds the
    parameters of any module ``ψ`` by itself. First derivatives are exact; the layer does not support second
    derivatives.

    The search and the split use double precision for every dtype of the inputs (single precision on devices without
    double). A response other than :class:`PriceResponse` gets ``t`` in the dtype of its parameters.

    Parameters
    ----------
    response
        ``ψ``: a :class:`PriceResponse`, or any strictly decreasing elementwise module on ``(..., K)``. It gets the
        ``context``, if there is one, as its second argument.

    budget
        ``X``, if it is the same for all cells.

    check
        Whether to check the inputs and the price; this reads from the device twice per call.

    Examples
    --------
    >>> layer = PriceLayer(PriceResponse(), budget=20.0)
    >>> x = layer(torch.zeros(3, 50), least=torch.full((3, 50), 0.1))
    >>> x.sum(-1).allclose(torch.tensor(20.0))
    True
    """

    def __init__(self, response: nn.Module | None = None, budget: float | None = None, check: bool = True) -> None:
        super().__init__()
        self.response = PriceResponse() if response is None else response
        self.budget = budget
        self.check = check

    def forward(
        self,
        offsets: Tensor,
        budget: Tensor | float | None = None,
        least: Tensor | None = None,
        scale: Tensor | None = None,
        context: Tensor | None = None,
        mask: Tensor | None = None,
    ) -> Tensor:
        """Return the amounts ``x_k``, ``(..., K)``, which exceed ``m_k`` and sum to the budget; 0 for masked entries.

        Parameters
        ----------
        offsets
            ``o_k``, ``(batch, K)``, or ``(K,)`` for one cell.

        budget
            ``X`` of each cell, ``(batch,)``, or one number for all (default: that of the layer).

        least
            ``m_k``, ``(..., K)``, in the unit of the budget (default: 0).

        scale
            ``s_k``, ``(..., K)``, in the unit of the budget (default: 1).

        context
            Context of the response, ``(..., K, context)`` or a shape that broadcasts to it.

        mask
            Boolean ``(..., K)``, True for users. Masked entries can have any value, including NaN.

        Raises
        ------
        ValueError
            If the minimum amounts use up the budget, an input is NaN or out of range, or the response is not strictly
            decreasing.
        """
        return self.split(offsets, budget, least, scale, context, mask)[0]

    def split(
        self,
        offsets: Tensor,
        budget: Tensor | float | None = None,
        least: Tensor | None = None,
        scale: Tensor | None = None,
        context: Tensor | None = None,
        mask: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Return the amounts ``x_k`` and the differences ``x_k − m_k``.

        A difference is exact even if it is small compared with ``x_k``. The arguments are those of :meth:`forward`.
        """
        mask = _masks.checked(mask, offsets.shape, "the offsets")
        dtype = torch.float32 if offsets.device.type == "mps" else torch.float64

        def of_users(values: Tensor | None, name: str, default: float) -> Tensor:
            if values is None:
                return torch.full_like(offsets, default, dtype=dtype)
            if values.shape != offsets.shape:
                expected = f"{tuple(offsets.shape)}, that of the offsets"
                raise ValueError(f"{name} has shape {tuple(values.shape)}, expected {expected}")
            return _masks.filled(values.to(dtype), mask, default)

        o, m = of_users(offsets, "offsets", 0.0), of_users(least, "least", 0.0)
        s = of_users(scale, "scale", 1.0)
        if context is not None and mask is not None:
            context = _masks.filled_features(context.expand(*offsets.shape, -1), mask)
        total = self._total(budget, o)
        slack = total - m.sum(dim=-1)
        if self.check:
            _check_inputs(o, m, s, slack, total)
        # For a cell without users, the search uses all entries and the result is discarded.
        present = None if mask is None else mask | ~mask.any(dim=-1, keepdim=True)

        psi = _Response(self.response, context, dtype)
        ln_s, ln_slack = s.log(), slack.log()
        with torch.no_grad():
            found = _search(psi, o, ln_s, ln_slack, present)
        if self.check:
            _check_found(found)
        value = psi(found.ln_price.unsqueeze(-1) + o) if torch.is_grad_enabled() else found.value
        logits = _masks.filled(value + ln_s, present, -torch.inf)
        # The Newton step with gradients; see the docstring of the class.
        moved = (ln_slack - logits.logsumexp(dim=-1)) / found.slope
        logits = logits + found.slopes * moved.unsqueeze(-1)
        over = _masks.filled(slack.unsqueeze(-1) * logits.softmax(dim=-1), mask)
        return (m + over).to(offsets.dtype), over.to(offsets.dtype)

    def _total(self, budget: Tensor | float | None, o: Tensor) -> Tensor:
        if budget is None:
            budget = self.budget
        if budget is None:
            raise ValueError("there is no budget, expected one in the call or in PriceLayer(…, budget=…)")
        total = torch.as_tensor(budget, dtype=o.dtype, device=o.device)
        if total.ndim > 0 and total.shape != o.shape[:-1]:
            raise ValueError(f"budget has shape {tuple(total.shape)}, expected {tuple(o.shape[:-1])} or one number")
        return total.expand(o.shape[:-1])


class _Response:
    """Response of one call, which converts between the precision of the search and that of the module."""

    def __init__(self, module: nn.Module, context: Tensor | None, dtype: torch.dtype) -> None:
        self.module = module
        self.outside = dtype
        own = next((parameter.dtype for parameter in module.parameters()), dtype)
        self.inside = dtype if getattr(module, "takes_double", False) else own
        self.arguments = () if context is None else (context,)

    def __call__(self, t: Tensor) -> Tensor:
        return cast(Tensor, self.module(t.to(self.inside), *self.arguments)).to(self.outside)

    def value_and_slope(self, t: Tensor) -> tuple[Tensor, Tensor]:
        if isinstance(self.module, PriceResponse):
            return self.module.value_and_slope(t, *self.arguments)
        with torch.enable_grad():
            t = t.detach().to(self.inside).requires_grad_()
            value = cast(Tensor, self.module(t, *self.arguments))
            (slope,) = torch.autograd.grad(value.sum(), t)
        return value.detach().to(self.outside), slope.to(self.outside)


class _Found:
    """Result of a search for each cell."""

    def __init__(self, ln_price: Tensor, value: Tensor, slopes: Tensor, miss: Tensor, slope: Tensor) -> None:
        self.ln_price = ln_price
        #: ``ψ`` and ``ψ'`` of each user at this price.
        self.value, self.slopes = value, slopes
        #: ``ln(sum/slack)`` and its derivative by ``ln ν``.
        self.miss, self.slope = miss, slope


def _search(psi: _Response, o: Tensor, ln_s: Tensor, ln_slack: Tensor, present: Tensor | None) -> _Found:
    """Find the root of the decreasing ``F(ln ν) = ln Σ_k s_k·e^{ψ(ln ν + o_k)} − ln slack`` in all cells at once.

    In logarithms, ``F`` is about as straight as ``ψ``, nothing overflows, and Newton's method takes about four steps. A
    step out of the bracket is replaced by the midpoint. While one side of the bracket is open, a limit that doubles with
    each step bounds the steps.
    """

    def at(ln_price: Tensor) -> _Found:
        value, slopes = psi.value_and_slope(ln_price.unsqueeze(-1) + o)
        logits = _masks.filled(value + ln_s, present, -torch.inf)
        # This computes logsumexp and softmax with a single exponential.
        most = logits.amax(dim=-1, keepdim=True)
        weights = (logits - most).exp_()
        total = weights.sum(dim=-1)
        miss = most.squeeze(-1) + total.log() - ln_slack
        slope = weights.mul_(slopes).sum(dim=-1) / total
        return _Found(ln_price, value, slopes, miss, slope)

    tolerance = _TOLERANCE[torch.float32 if torch.float32 in (psi.inside, psi.outside) else torch.float64]
    weights = _masks.filled(ln_s, present, -torch.inf).softmax(dim=-1)
    here = at(-(weights * o).sum(dim=-1))
    low, high = torch.full_like(ln_slack, -torch.inf), torch.full_like(ln_slack, torch.inf)
    stride = _STRIDE
    for _ in range(_STEPS):
        far = here.miss.abs() > tolerance
        # This is the only read from the device in a step, for any number of cells.
        if not bool(far.any()):
            break
        above = here.miss > 0
        low, high = torch.where(above, here.ln_price, low), torch.where(above, high, here.ln_price)
        falling = here.slope.clamp(max=-1e-30)
        following = here.ln_price + (-here.miss / falling).clamp(-stride, stride)
        inside = (following > low) & (following < high)
        middle = 0.5 * (low + high)
        # While a side is open, the Newton step is inside the bracket, unless the slope is NaN or infinite.
        away = here.ln_price + here.miss.sign() * stride
        following = torch.where(inside, following, torch.where(middle.isfinite(), middle, away))
        here = at(torch.where(far, following, here.ln_price))
        stride = min(2.0 * stride, 1e30)
    return here


def _first(bad: Tensor) -> tuple[int, ...]:
    """Return the index of the first True."""
    return tuple(int(i) for i in bad.nonzero()[0])


def _check_inputs(o: Tensor, m: Tensor, s: Tensor, slack: Tensor, total: Tensor) -> None:
    enough = slack > _SMALLEST_SLACK * total
    sound = o.isfinite() & (m >= 0) & (s > 0) & s.isfinite()
    if bool(enough.all() & sound.all()):
        return
    for values, good, name, expected in (
        (o, o.isfinite(), "offsets", "a finite number"),
        (m, m >= 0, "least", "a number that is not negative"),
        (s, (s > 0) & s.isfinite(), "scale", "a positive number"),
    ):
        if not bool(good.all()):
            place = _first(~good)
            raise ValueError(f"{name}{list(place)} is {values[place].item()}, expected {expected}")
    cell = _first(~enough) if enough.ndim else ()
    of_cell = f" of cell {list(cell)}" if cell else ""
    needed, budget = m[cell].sum().item(), total[cell].item()
    raise ValueError(
        f"the minimum amounts{of_cell} sum to {needed:.6g}, expected less than the budget, which is {budget:.6g}: "
        f"leave users out, or raise the budget by more than {needed - budget:.6g}"
    )


def _check_found(found: _Found) -> None:
    reached = (found.miss.abs() < _LARGEST_MISS) & (found.slope < 0)
    if bool(reached.all()):
        return
    cell = _first(~reached) if reached.ndim else ()
    ln_price, miss, slope = (float(x[cell]) for x in (found.ln_price, found.miss, found.slope))
    raise ValueError(
        f"no price was found for cell {list(cell)}, expected a response that decreases strictly and without bound. At "
        f"ln ν = {ln_price:.6g}, the amounts beyond the minimums sum to e^{miss:.3g} times the rest of the budget, and "
        f"the slope of the response is {slope:.3g}"
    )
