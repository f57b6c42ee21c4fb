"""Primal-dual training (the paper's Algorithm 1) for any objective and constraints."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import torch
from torch import Tensor, nn

from anyk.torch import _masks

Batch = TypeVar("Batch")


@dataclass(frozen=True)
class Terms:
    """Objective and constraints on one batch.

    Attributes
    ----------
    objective
        Objective of each cell, ``(batch,)``, or one number. It should be of the order of 1.

    violation
        Constraints, met if they are ≤ 0, for each user, ``(batch, K)``, or each cell, ``(batch, constraints)``. If a
        constraint has a limit, use ``value/limit − 1``.

    multiplier
        Multipliers before the softplus, with the shape of the violation or one that broadcasts to it. Multipliers from
        a network of the users' features enforce a constraint for each user; those of :class:`Multipliers` enforce it on
        average.

    mask
        Boolean with the shape of the violation, True for users.
    """

    objective: Tensor
    violation: Tensor | None = None
    multiplier: Tensor | None = None
    mask: Tensor | None = None


@dataclass(frozen=True)
class Record:
    """Measurements at one step.

    Attributes
    ----------
    step
        Number of the step, from 0.

    objective
        Mean objective over the cells.

    violation
        Mean violation over cells and users, without the tightening; 0 without constraints.

    worst
        Largest violation.

    multiplier
        Mean multiplier.

    rate
        Learning rate.
    """

    step: int
    objective: float
    violation: float
    worst: float
    multiplier: float
    rate: float


class Diverged(RuntimeError):
    """Error of a training run whose objective or violation became NaN or infinite."""


class Multipliers(nn.Module):
    """One multiplier for each constraint, shared by all users, so that a constraint holds on average.

    Parameters
    ----------
    count
        Number of constraints.

    start
        Initial value of the multipliers.
    """

    def __init__(self, count: int = 1, start: float = 1.0) -> None:
        super().__init__()
        if count < 1 or start <= 0:
            raise ValueError(f"count and start are {count} and {start}, expected at least 1 and a positive number")
        self.before_softplus = nn.Parameter(torch.full((count,), math.log(math.expm1(start))))

    def forward(self) -> Tensor:
        """Return the multipliers before the softplus, ``(count,)``, as for :class:`Terms`."""
        return self.before_softplus


@dataclass
class PrimalDual(Generic[Batch]):
    """Trainer for ``min E[f]`` subject to ``g ≤ 0``, by descent on the Lagrangian and ascent in its multipliers.

    ``L = mean over cells of ( f + Σ_k λ_k·g_k )``,  ``λ = softplus(multiplier) ≥ 0``.

    Each step takes a batch, lowers the Lagrangian with the policy and raises it with the multipliers (paper, Algorithm
    1). Both use Adam without its first moment, which would make policy and multipliers oscillate. The learning rates
    follow a cosine.

    Parameters
    ----------
    policy
        Module that minimizes the Lagrangian.

    terms
        Function from a batch to :class:`Terms`, which calls the policy and the multiplier.

    multiplier
        Module that maximizes the Lagrangian; None without constraints.

    rate, last_rate
        Learning rates at the first and the last step.

    multiplier_rate
        Learning rate of the multipliers at the first step (default: ``rate``).

    tightening
        Share of the limit that the training allows, ``value/limit ≤ tightening``, so that the constraint also holds for
        draws that the training did not use. The paper trains with ``ε_D = 0.6·ε``. With 1, the limit is unchanged.

    seed
        Seed of the generator for the batches.

    callbacks
        Functions that are called with every :class:`Record`. If one of them returns True, the training ends.

    record_every
        Number of steps between two records.

    history
        Records so far.

    Examples
    --------
    >>> trainer = PrimalDual(policy, terms, multiplier=prices, tightening=0.6, seed=1)
    >>> history = trainer.train(draw, steps=5000)   # draw(generator) returns a batch, terms(batch) its Terms
    """

    policy: nn.Module
    terms: Callable[[Batch], Terms]
    multiplier: nn.Module | None = None
    rate: float = 3e-3
    last_rate: float = 1e-5
    multiplier_rate: float | None = None
    tightening: float = 1.0
    seed: int = 0
    callbacks: Sequence[Callable[[Record], bool | None]] = ()
    record_every: int = 100
    history: list[Record] = field(default_factory=list)

    def __post_init__(self) -> None:
        ascent = self.rate if self.multiplier_rate is None else self.multiplier_rate
        for name, value, good, expected in (
            ("rate", self.rate, self.rate > 0, "a positive number"),
            ("multiplier_rate", ascent, ascent > 0, "a positive number"),
            ("last_rate", self.last_rate, 0 <= self.last_rate <= self.rate, "a number from 0 to rate"),
            ("tightening", self.tightening, 0 < self.tightening <= 1, "a number above 0 and at most 1"),
            ("record_every", self.record_every, self.record_every >= 1, "a number of steps"),
        ):
            if not good:
                raise ValueError(f"{name} is {value}, expected {expected}")
        groups = [{"params": list(self.policy.parameters()), "lr": self.rate}]
        if self.multiplier is not None:
            groups.append({"params": list(self.multiplier.parameters()), "lr": ascent})
        self._first_rates = [self.rate, ascent][: len(groups)]
        self._optimizer = torch.optim.Adam(groups, betas=(0.0, 0.999))
        self._generator = torch.Generator().manual_seed(self.seed)
        self._step = 0

    def train(self, batches: Callable[[torch.Generator], Batch] | Iterable[Batch], steps: int) -> list[Record]:
        """Train for ``steps`` steps and return the history.

        The training ends early if the batches run out or a callback returns True.

        Parameters
        ----------
        batches
            A function that draws a batch with the given generator, or an iterable of batches.

        steps
            Maximum number of steps.

        Raises
        ------
        Diverged
            If the objective or the violation is NaN or infinite.
        """
        for step, batch in zip(range(steps), self._drawn(batches), strict=False):
            fall = 0.5 * (1.0 + math.cos(math.pi * step / max(steps - 1, 1)))
            for group, first in zip(self._optimizer.param_groups, self._first_rates, strict=True):
                group["lr"] = first * (self.last_rate + (self.rate - self.last_rate) * fall) / self.rate
            record = self._descend(batch, last=step == steps - 1)
            if record is not None:
                self.history.append(record)
                if any([callback(record) is True for callback in self.callbacks]):
                    break
        return self.history

    def _drawn(self, batches: Callable[[torch.Generator], Batch] | Iterable[Batch]) -> Iterator[Batch]:
        if not callable(batches):
            yield from batches
            return
        while True:
            yield batches(self._generator)

    def _descend(self, batch: Batch, last: bool) -> Record | None:
        terms = self.terms(batch)
        lagrangian = terms.objective.mean()
        violation = terms.violation
        multiplier: Tensor | None = None
        if violation is not None:
            if terms.multiplier is None:
                raise ValueError("the terms have a violation but no multiplier, expected both")
            mask = _masks.checked(terms.mask, violation.shape, "the violation")
            # Masked entries have no violation, multiplier 0 and no gradient.
            violation = _masks.filled(violation, mask)
            multiplier = _masks.filled(nn.functional.softplus(terms.multiplier).expand_as(violation), mask)
            tightened = violation + (1.0 - self.tightening)
            cells = max(violation.shape[0] if violation.ndim > 1 else 1, 1)
            # One backward pass does both: descent in the policy and ascent in the multipliers, each with the other
            # fixed.
            game = multiplier.detach() * tightened - multiplier * tightened.detach()
            lagrangian = lagrangian + game.sum() / cells
        self._optimizer.zero_grad(set_to_none=True)
        torch.autograd.backward(lagrangian)
        self._optimizer.step()
        step, self._step = self._step, self._step + 1
        if step % self.record_every and not last:
            return None
        return self._record(step, terms, violation, multiplier)

    @torch.no_grad()
    def _record(self, step: int, terms: Terms, violation: Tensor | None, multiplier: Tensor | None) -> Record:
        objective, mean, worst, price = float(terms.objective.mean()), 0.0, 0.0, 0.0
        if violation is not None and multiplier is not None:
            users = violation.numel() if terms.mask is None else max(int(terms.mask.sum()), 1)
            mean, price = float(violation.sum()) / users, float(multiplier.sum()) / users
            worst = float(_masks.filled(violation, terms.mask, -torch.inf).max())
        if not (math.isfinite(objective) and math.isfinite(mean)):
            raise Diverged(
                f"at step {step} the objective is {objective} and the violation {mean}, expected finite numbers; "
                f"try a rate below {self.rate}, or scale the terms to the order of 1"
            )
        return Record(step, objective, mean, worst, price, float(self._optimizer.param_groups[0]["lr"]))
