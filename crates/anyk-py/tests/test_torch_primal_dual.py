"""The trainer, on problems with known solutions."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")
# With such small tensors, several threads are slower than one.
torch.set_num_threads(1)

from anyk.torch import Diverged, Multipliers, PrimalDual, Record, Terms  # noqa: E402


class Amounts(torch.nn.Module):
    """Policy with one amount for users of kind 0 and one for users of kind 1."""

    def __init__(self) -> None:
        super().__init__()
        self.ln = torch.nn.Parameter(torch.zeros(2))

    def forward(self, kind: torch.Tensor) -> torch.Tensor:
        return self.ln[kind].exp()


class Prices(torch.nn.Module):
    """Module with one multiplier for each kind of user."""

    def __init__(self) -> None:
        super().__init__()
        self.of_kind = torch.nn.Parameter(torch.zeros(2))

    def forward(self, kind: torch.Tensor) -> torch.Tensor:
        return self.of_kind[kind]


NEEDS = torch.tensor([0.5, 2.0])


def kinds(generator: torch.Generator) -> torch.Tensor:
    return torch.randint(0, 2, (16, 4), generator=generator)


def train(for_each: bool, tightening: float = 1.0, steps: int = 1500, masked: bool = False, **options: object):
    """Minimize E[x] such that need·noise/x ≤ 1 (noise of mean 1): x = need if the constraint holds for each user."""
    policy = Amounts()
    multiplier = Prices() if for_each else Multipliers(1)
    noise = torch.Generator().manual_seed(9)

    def terms(kind: torch.Tensor) -> Terms:
        x = policy(kind)
        met = NEEDS[kind] * (0.5 + torch.rand(kind.shape, generator=noise)) / x - 1.0
        price = multiplier(kind) if for_each else multiplier()
        mask = None
        if masked:
            # The second half of each cell is padding.
            mask = torch.arange(4).expand_as(kind) < 2
            met = torch.where(mask, met, torch.nan)
            x = torch.where(mask, x, torch.zeros_like(x))
        return Terms(x.sum(-1), met, price, mask)

    trainer = PrimalDual(policy, terms, multiplier, rate=2e-2, tightening=tightening, seed=1, **options)
    return policy, trainer, trainer.train(kinds, steps)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("tightening", [1.0, 0.8])
def test_a_constraint_for_each_user_holds_for_each(tightening: float, masked: bool) -> None:
    policy, _, history = train(True, tightening, masked=masked)
    torch.testing.assert_close(policy.ln.exp() * tightening, NEEDS, rtol=0.03, atol=0)
    # At the optimum of min x + λ(need/x − tightening), λ = x²/need = need/tightening²; compare its mean over both kinds.
    assert history[-1].multiplier == pytest.approx(float(NEEDS.mean()) / tightening**2, rel=0.1)


def test_one_multiplier_holds_it_in_the_mean() -> None:
    # min x₀ + x₁ with mean(need/x) = 1: x ∝ √need, x_i = √need_i·mean(√need).
    policy, _, _ = train(False)
    expected = NEEDS.sqrt() * NEEDS.sqrt().mean()
    torch.testing.assert_close(policy.ln.exp(), expected, rtol=0.03, atol=0)


def test_the_seed_decides_and_history_says_what_was_seen() -> None:
    first, _, history = train(True, steps=250)
    again, _, _ = train(True, steps=250)
    assert torch.equal(first.ln, again.ln)
    assert [record.step for record in history] == [0, 100, 200, 249]
    assert history[0].rate == pytest.approx(2e-2) and history[-1].rate == pytest.approx(1e-5)
    assert all(math.isfinite(value) for record in history for value in vars(record).values())


def test_a_callback_sees_every_record_and_ends_the_training() -> None:
    seen: list[Record] = []

    def enough(record: Record) -> bool:
        seen.append(record)
        return record.step >= 20

    _, trainer, history = train(True, steps=1000, callbacks=[enough], record_every=10)
    assert [record.step for record in history] == [0, 10, 20] and seen == history
    # A second call continues the training.
    assert trainer.train(kinds, 5)[-1].step == 25


def test_batches_may_be_a_list() -> None:
    policy = Amounts()
    trainer = PrimalDual(policy, lambda kind: Terms(policy(kind).sum(-1)), record_every=1)
    history = trainer.train([torch.zeros(2, 3, dtype=torch.long)] * 4, steps=100)
    assert len(history) == 4 and history[-1].objective < history[0].objective


def test_what_cannot_be_trained_is_refused() -> None:
    policy = Amounts()
    with pytest.raises(ValueError, match="tightening is 1.5, expected a number above 0 and at most 1"):
        PrimalDual(policy, lambda _: Terms(torch.zeros(())), tightening=1.5)
    with pytest.raises(ValueError, match="last_rate is 1, expected a number from 0 to rate"):
        PrimalDual(policy, lambda _: Terms(torch.zeros(())), last_rate=1)
    with pytest.raises(ValueError, match="a violation but no multiplier"):
        terms = lambda kind: Terms(policy(kind).sum(-1), policy(kind))  # noqa: E731
        PrimalDual(policy, terms).train(kinds, 1)
    with pytest.raises(Diverged, match="at step 0 the objective is nan"):
        PrimalDual(policy, lambda kind: Terms(policy(kind).sum(-1) * torch.nan)).train(kinds, 1)
