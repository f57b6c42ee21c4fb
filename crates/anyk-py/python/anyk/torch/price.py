"""The price layer: a split of a budget that keeps its law at any number of users."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn

from anyk.torch import _masks
from anyk.torch.response import PriceResponse

#: Distance ``|ln(sum/slack)|`` at which the search ends; the last step leaves the square of it.
_TOLERANCE = {torch.float64: 1e-8, torch.float32: 1e-5}
#: Distance that a search which has run out of steps may leave. More is a response that does not reach the budget.
_LARGEST_MISS = 1e-3
_STEPS = 100
#: First bound of a step of the search; it doubles with each.
_STRIDE = 16.0
#: Share of the budget that must be left over the least amounts: under it, the price is lost in rounding.
_SMALLEST_SLACK = 1e-12


class PriceLayer(nn.Module):
    """Amounts that sum to a budget, by one price for all users:

    ``x_k = m_k + s_k·e^{ψ(ln ν + o_k)}`` with the price ``ν`` such that ``Σ_k x_k = X``.

    ``ψ`` is a strictly decreasing response that all users share, ``o_k`` a user's offset (from a network, or known),
    ``m_k ≥ 0`` the least that it must have, ``s_k > 0`` the unit of what it gets beyond, ``X`` the budget. It is the
    form of the optimum of ``min Σ_k c(x_k)`` under a budget (its KKT conditions): ``K`` is not in ``ψ``, and so a
    response that was learned among ten users holds among a thousand. A softmax keeps the *shape* of the split
    instead.

    **Gradient.** The price is found by Newton's method inside a bracket, without gradients; then one more step of
    Newton's is taken with them, along tangents that are held fixed. That step does not move the price, and its
    derivative is ``dν = −(∂F/∂ν)⁻¹ dF``: that of the implicit function theorem. It was chosen over an
    ``autograd.Function`` since the parameters of ``ψ``, whatever module it is, then need not be named: autograd sees
    them. First derivatives are exact; second derivatives through the layer are not offered.

    The search and the split work in double precision whatever the dtype of the inputs (in single on devices that
    have no other); a response of one's own is given ``t`` in the dtype of its parameters.

    >>> layer = PriceLayer(PriceResponse(), budget=20.0)
    >>> x = layer(torch.zeros(3, 50), least=torch.full((3, 50), 0.1))
    >>> x.sum(-1).allclose(torch.tensor(20.0))
    True

    Args:
        response: ``ψ``, from ``t`` of shape ``(..., K)`` to the same, each number alone; :class:`PriceResponse`, or
            any strictly decreasing module. It gets a ``context`` as second argument where one is given.
        budget: ``X``, where it is the same for all cells.
        check: whether bad inputs are refused; costs two reads from the device in a call.
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
        """Amounts ``x_k``, ``(..., K)``: more than ``m_k``, and in sum the budget; 0 where there is no user.

        Args:
            offsets: ``o_k``, ``(batch, K)``, or ``(K,)`` for one cell.
            budget: ``X`` of each cell, ``(batch,)``, or one number for all; the layer's own by default.
            least: ``m_k``, ``(..., K)``, in the unit of the budget; 0 by default.
            scale: ``s_k``, ``(..., K)``, in the unit of the budget; 1 by default.
            context: for the response, ``(..., K, context)``, or what broadcasts to it.
            mask: boolean ``(..., K)``, True where there is a user. The rest may hold anything, NaN included.

        Raises:
            ValueError: the least amounts leave nothing of the budget, an input is no number, or the response is not
                strictly decreasing.
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
        """Amounts ``x_k`` and what of each is over the least, ``x_k − m_k``: where that is small, their difference
        would have lost it. Arguments as in :meth:`forward`."""
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
        # A cell of no users is searched as if all were there, and nothing of it is kept.
        present = None if mask is None else mask | ~mask.any(dim=-1, keepdim=True)

        psi = _Response(self.response, context, dtype)
        ln_s, ln_slack = s.log(), slack.log()
        with torch.no_grad():
            found = _search(psi, o, ln_s, ln_slack, present)
        if self.check:
            _check_found(found)
        value = psi(found.ln_price.unsqueeze(-1) + o) if torch.is_grad_enabled() else found.value
        logits = _masks.filled(value + ln_s, present, -torch.inf)
        # The step of Newton's with gradients; see the class.
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
    """``ψ`` of a call, whatever module it is: in its own precision inside, in that of the search outside."""

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
    """Where a search ended, for each cell."""

    def __init__(self, ln_price: Tensor, value: Tensor, slopes: Tensor, miss: Tensor, slope: Tensor) -> None:
        self.ln_price = ln_price
        #: ``ψ`` and ``ψ'`` of each user there.
        self.value, self.slopes = value, slopes
        #: ``ln(sum/slack)`` and its derivative by ``ln ν``.
        self.miss, self.slope = miss, slope


def _search(psi: _Response, o: Tensor, ln_s: Tensor, ln_slack: Tensor, present: Tensor | None) -> _Found:
    """The root of ``F(ln ν) = ln Σ_k s_k·e^{ψ(ln ν + o_k)} − ln slack``, which falls, in all cells at once.

    In logarithms ``F`` is as straight as ``ψ`` is, nothing overflows, and Newton's method takes four steps or so. A
    step that leaves the bracket becomes its middle; as long as a side is open, steps are bounded by a stride that
    doubles.
    """

    def at(ln_price: Tensor) -> _Found:
        value, slopes = psi.value_and_slope(ln_price.unsqueeze(-1) + o)
        logits = _masks.filled(value + ln_s, present, -torch.inf)
        # logsumexp and softmax, with one exponential for both.
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
        # One read from the device for a step, whatever the number of cells.
        if not bool(far.any()):
            break
        above = here.miss > 0
        low, high = torch.where(above, here.ln_price, low), torch.where(above, high, here.ln_price)
        falling = here.slope.clamp(max=-1e-30)
        following = here.ln_price + (-here.miss / falling).clamp(-stride, stride)
        inside = (following > low) & (following < high)
        middle = 0.5 * (low + high)
        # Where a side is open, Newton's step is inside, unless the slope is no number or without end.
        away = here.ln_price + here.miss.sign() * stride
        following = torch.where(inside, following, torch.where(middle.isfinite(), middle, away))
        here = at(torch.where(far, following, here.ln_price))
        stride = min(2.0 * stride, 1e30)
    return here


def _first(bad: Tensor) -> tuple[int, ...]:
    """Where the first True is."""
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
        f"the least amounts{of_cell} sum to {needed:.6g}, expected less than the budget, which is {budget:.6g}: "
        f"leave users out, or raise it by more than {needed - budget:.6g}"
    )


def _check_found(found: _Found) -> None:
    reached = (found.miss.abs() < _LARGEST_MISS) & (found.slope < 0)
    if bool(reached.all()):
        return
    cell = _first(~reached) if reached.ndim else ()
    ln_price, miss, slope = (float(x[cell]) for x in (found.ln_price, found.miss, found.slope))
    raise ValueError(
        f"no price was found for cell {list(cell)}: at ln ν = {ln_price:.6g} what users get over the least is "
        f"e^{miss:.3g} times what there is, and the response has the slope {slope:.3g}; expected a response that "
        f"decreases strictly and without bound"
    )
