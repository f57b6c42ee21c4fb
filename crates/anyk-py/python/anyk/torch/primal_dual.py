"""The primal-dual training of the paper's Algorithm 1, for any objective and any constraints."""

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
    """What is minimised and what must hold, on one batch.

    Attributes:
        objective: of each cell, ``(batch,)``, or one number. Best of the order of 1.
        violation: constraints, met where they are ≤ 0: for each user ``(batch, K)``, or of the whole cell
            ``(batch, constraints)``. Relative to the limit, ``value/limit − 1``, where there is one.
        multiplier: before its softplus, of the shape of the violation or what broadcasts to it: from a network of the
            users' features, and the constraint holds for each user; from :class:`Multipliers`, and it holds in the
            mean over users and cells.
        mask: boolean, of the shape of the violation, True where there is a user.
    """

    objective: Tensor
    violation: Tensor | None = None
    multiplier: Tensor | None = None
    mask: Tensor | None = None


@dataclass(frozen=True)
class Record:
    """What was seen at one step.

    Attributes:
        step: from 0 on.
        objective: its mean over the cells.
        violation: its mean over cells and users, as asked for: before the tightening. 0 without constraints.
        worst: its largest value.
        multiplier: its mean.
        rate: learning rate.
    """

    step: int
    objective: float
    violation: float
    worst: float
    multiplier: float
    rate: float


class Diverged(RuntimeError):
    """A training whose objective or violation is no number any more."""


class Multipliers(nn.Module):
    """One multiplier for each constraint, whatever the users are: the constraint then holds in the mean.

    Args:
        count: constraints.
        start: value of the multipliers to start from.
    """

    def __init__(self, count: int = 1, start: float = 1.0) -> None:
        super().__init__()
        if count < 1 or start <= 0:
            raise ValueError(f"count and start are {count} and {start}, expected at least 1 and a positive number")
        self.before_softplus = nn.Parameter(torch.full((count,), math.log(math.expm1(start))))

    def forward(self) -> Tensor:
        """``(count,)``, before the softplus: as it goes into :class:`Terms`."""
        return self.before_softplus


@dataclass
class PrimalDual(Generic[Batch]):
    """``min E[f]`` subject to ``g ≤ 0``, by descent on the Lagrangian and ascent in its multipliers:

    ``L = mean over cells of ( f + Σ_k λ_k·g_k )``,  ``λ = softplus(multiplier) ≥ 0``.

    Each step draws a batch, moves the policy down and the multipliers up (paper, Algorithm 1). Both move by Adam
    without its first moment, which would carry the game between the two around in circles, at a rate that falls
    along a cosine.

    >>> trainer = PrimalDual(policy, terms, multiplier=prices, tightening=0.6, seed=1)
    >>> history = trainer.train(draw, steps=5000)   # draw(generator) returns a batch, terms(batch) its Terms

    Args:
        policy: what descends.
        terms: from a batch to :class:`Terms`, by the policy and the multiplier.
        multiplier: what ascends; none where there are no constraints.
        rate, last_rate: learning rates at the first and at the last step.
        multiplier_rate: that of the multipliers at the first step; the same by default.
        tightening: the constraint is trained as if its limit were this share of what is asked,
            ``value/limit ≤ tightening``, as the paper trains for ``ε_D = 0.6·ε``: what was trained on draws then
            holds for those that were not drawn. 1 for the limit as it is.
        seed: of the generator that batches are drawn from.
        callbacks: each is given every :class:`Record`; one that returns True ends the training.
        record_every: steps between two records.
        history: the records so far.
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
            ("tightening", self.tightening, 0 < self.tightening <= 1, "a number over 0 and up to 1"),
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
        """Takes ``steps`` steps (fewer if the batches or a callback end them) and returns the history.

        Args:
            batches: draws a batch from the generator it is given, or goes through batches.

        Raises:
            Diverged: objective or violation is no finite number.
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
                raise ValueError("the terms have a violation and no multiplier, expected one with it")
            mask = _masks.checked(terms.mask, violation.shape, "the violation")
            # What is masked out counts as met at a price of 0, with no gradient.
            violation = _masks.filled(violation, mask)
            multiplier = _masks.filled(nn.functional.softplus(terms.multiplier).expand_as(violation), mask)
            tightened = violation + (1.0 - self.tightening)
            cells = max(violation.shape[0] if violation.ndim > 1 else 1, 1)
            # Down in the policy and up in the multipliers, with one pass back: each sees the other held fixed.
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
                f"at step {step} the objective is {objective} and the violation {mean}, expected numbers: a smaller "
                f"rate than {self.rate}, or terms of the order of 1, may help"
            )
        return Record(step, objective, mean, worst, price, float(self._optimizer.param_groups[0]["lr"]))
