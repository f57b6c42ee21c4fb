"""Equivariant layers and output modules, compared with plain loops, for single cells and batches with masks."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
# With such small tensors, several threads are slower than one.
torch.set_num_threads(1)

from anyk.torch import (  # noqa: E402
    EquivariantLayer,
    EquivariantNetwork,
    Pretrained,
    Softmax,
    SumNormalisation,
    aggregate,
)

AGGREGATORS = ("mean", "sum", "max")
F64 = torch.float64


def draw(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, dtype=F64, generator=torch.Generator().manual_seed(seed))


def ragged(sizes: list[int]) -> torch.Tensor:
    """Return masks whose users are not at the beginning of the cell, so that positions give no hint."""
    most = max(sizes)
    generator = torch.Generator().manual_seed(3)
    rows = [torch.randperm(most, generator=generator) < size for size in sizes]
    return torch.stack(rows)


@pytest.mark.parametrize("aggregator", AGGREGATORS)
@pytest.mark.parametrize("size", [1, 2, 7])
def test_the_layer_is_what_the_paper_writes(aggregator: str, size: int) -> None:
    layer = EquivariantLayer(3, 2, aggregator, "tanh", dtype=F64)
    x = draw(size, 3)
    y = layer(x)
    for k in range(size):
        others = [x[j] for j in range(size) if j != k]
        seen = torch.zeros(3, dtype=F64)
        if others:
            stacked = torch.stack(others)
            # The mean divides by K, not K − 1; it is 0 for a single user.
            seen = {"mean": stacked.sum(0) / size, "sum": stacked.sum(0), "max": stacked.amax(0)}[aggregator]
        expected = torch.tanh(layer.own @ x[k] + layer.others @ seen + layer.bias)
        torch.testing.assert_close(y[k], expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("aggregator", AGGREGATORS)
def test_users_in_another_order_get_the_same(aggregator: str) -> None:
    network = EquivariantNetwork([2, 5, 5, 1], aggregator, dtype=F64)
    x, order = draw(4, 9, 2), torch.randperm(9, generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(network(x)[:, order], network(x[:, order]), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("aggregator", AGGREGATORS)
def test_a_ragged_batch_is_its_cells_one_by_one(aggregator: str) -> None:
    network = EquivariantNetwork([2, 4, 1], aggregator, dtype=F64)
    sizes = [1, 5, 3, 8]
    mask = ragged(sizes)
    x = draw(4, 8, 2)
    x[~mask] = torch.nan
    x.requires_grad_()
    y = network(x, mask)
    assert (y[~mask] == 0).all()
    weights = draw(4, 8, 1, seed=5)
    (y * weights).sum().backward()
    gradients = [parameter.grad.clone() for parameter in network.parameters()]
    network.zero_grad()
    for cell in range(4):
        own = x.detach()[cell][mask[cell]].requires_grad_()
        alone = network(own)
        torch.testing.assert_close(y[cell][mask[cell]], alone, rtol=1e-12, atol=1e-12)
        (alone * weights[cell][mask[cell]]).sum().backward()
        torch.testing.assert_close(x.grad[cell][mask[cell]], own.grad, rtol=1e-11, atol=1e-12)
    assert (x.grad[~mask] == 0).all()
    for found, parameter in zip(gradients, network.parameters(), strict=True):
        torch.testing.assert_close(found, parameter.grad, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("aggregator", AGGREGATORS)
def test_gradients_of_the_network(aggregator: str) -> None:
    network = EquivariantNetwork([2, 3, 1], aggregator, "softplus", dtype=F64)
    mask = ragged([1, 4, 2])
    x = draw(3, 4, 2).requires_grad_()
    parameters = tuple(network.parameters())
    assert torch.autograd.gradcheck(lambda x, *_: network(x, mask), (x, *parameters))


def test_the_generator_decides() -> None:
    make = lambda seed: EquivariantNetwork([1, 3, 1], generator=torch.Generator().manual_seed(seed))  # noqa: E731
    x = torch.ones(4, 1)
    assert torch.equal(make(1)(x), make(1)(x)) and not torch.equal(make(1)(x), make(2)(x))


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="aggregator is 'median', expected one of mean, sum, max"):
        EquivariantLayer(1, 1, "median")
    with pytest.raises(ValueError, match="activation is 'swish'"):
        EquivariantLayer(1, 1, activation="swish")
    layer = EquivariantLayer(2, 1)
    with pytest.raises(ValueError, match=r"shape \(5, 3\), expected \(batch, K, 2\) or \(K, 2\)"):
        layer(torch.zeros(5, 3))
    with pytest.raises(ValueError, match=r"mask has shape \(4,\), expected \(5,\)"):
        layer(torch.zeros(5, 2), torch.ones(4, dtype=torch.bool))
    with pytest.raises(TypeError, match="expected torch.bool"):
        layer(torch.zeros(5, 2), torch.ones(5))
    with pytest.raises(ValueError, match="aggregator"):
        aggregate(torch.zeros(3, 1), "median")


@pytest.mark.filterwarnings("ignore:Anomaly Detection")
@pytest.mark.parametrize("output", [Softmax, SumNormalisation])
def test_normalisations_sum_to_the_budget_of_those_who_are_there(output: type) -> None:
    mask = ragged([1, 6, 3, 1])
    mask[3] = False
    o = draw(4, 6)
    o[~mask] = torch.nan
    o.requires_grad_()
    layer = output(20.0)
    y = layer(o, mask)
    assert (y[~mask] == 0).all()
    torch.testing.assert_close(y.sum(-1), torch.tensor([20.0, 20.0, 20.0, 0.0], dtype=F64), rtol=1e-14, atol=0)
    torch.testing.assert_close(y[1][mask[1]], layer(o[1][mask[1]]), rtol=1e-14, atol=0)
    with torch.autograd.detect_anomaly(check_nan=True):
        layer(o, mask).square().sum().backward()
    assert o.grad.isfinite().all() and (o.grad[~mask] == 0).all()
    clean = draw(2, 5).requires_grad_()
    assert torch.autograd.gradcheck(layer, (clean,))


def test_sum_normalisation_is_softplus_over_its_sum_and_survives_extremes() -> None:
    o = draw(3, 5)
    s = torch.nn.functional.softplus(o)
    torch.testing.assert_close(SumNormalisation()(o), s / s.sum(-1, keepdim=True), rtol=1e-13, atol=0)
    for far in (-1e5, -800.0, -41.0, 800.0, 1e5):
        o = torch.full((4,), far).requires_grad_()
        y = SumNormalisation()(o)
        y[0].backward()
        torch.testing.assert_close(y, torch.full((4,), 0.25))
        assert o.grad.isfinite().all()


def test_the_outer_function_knows_the_size_and_stays_as_it_is() -> None:
    class Outer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.factor = torch.nn.Parameter(torch.tensor(3.0, dtype=F64))

        def forward(self, x: torch.Tensor, size: torch.Tensor) -> torch.Tensor:
            return self.factor * x[..., 0].exp() * size.sqrt()

    mask = ragged([2, 4])
    o, x = draw(2, 4), draw(2, 4, 1, seed=1)
    x[~mask], o[~mask] = torch.nan, torch.nan
    outer = Outer()
    y = Pretrained(outer)(o, x, mask)
    assert not outer.factor.requires_grad and (y[~mask] == 0).all()
    for cell, size in enumerate([2, 4]):
        there = mask[cell]
        expected = torch.nn.functional.softplus(o[cell][there]) * 3.0 * x[cell][there][:, 0].exp() * size**0.5
        torch.testing.assert_close(y[cell][there], expected, rtol=1e-14, atol=0)
    assert Outer().factor.requires_grad and Pretrained(Outer(), trainable=True).outer.factor.requires_grad
