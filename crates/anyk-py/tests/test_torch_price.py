"""Price layer: comparison with bisection and closed forms, gradient, batches with masks, and extreme inputs."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")
# With such small tensors, several threads are slower than one.
torch.set_num_threads(1)

from anyk.torch import PriceLayer, PriceResponse, Softmax  # noqa: E402

F64 = torch.float64


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def response(seed: int, context: int = 0, dtype: torch.dtype = F64, units: int = 8) -> PriceResponse:
    """Return a response with random parameters far from the initial ones."""
    psi = PriceResponse(context, units=units, generator=generator(seed), dtype=dtype)
    with torch.no_grad():
        for parameter in psi.parameters():
            parameter.add_(0.4 * torch.randn(parameter.shape, generator=generator(seed + 1), dtype=dtype))
    return psi


def uniform(low: float, high: float, *shape: int, seed: int) -> torch.Tensor:
    return low + (high - low) * torch.rand(*shape, dtype=F64, generator=generator(seed))


def by_bisection(psi: torch.nn.Module, o: torch.Tensor, m: torch.Tensor, s: torch.Tensor, total: float) -> torch.Tensor:
    """Return the amounts of one cell by bisection in ln ν, without code of the layer."""
    low, high = -1e4, 1e4
    for _ in range(200):
        middle = 0.5 * (low + high)
        amount = (m + s * psi(middle + o).exp()).sum().item()
        low, high = (middle, high) if amount > total else (low, middle)
    return m + s * psi(0.5 * (low + high) + o).exp()


@pytest.mark.parametrize("seed", range(10))
def test_amounts_are_those_of_the_one_price(seed: int) -> None:
    psi = response(seed)
    size = (1, 2, 5, 50, 1000)[seed % 5]
    o, s = uniform(-20, 5, size, seed=seed), uniform(0.1, 3.0, size, seed=seed + 1)
    m = uniform(0.0, 10.0 / size, size, seed=seed + 2)
    total = 10.0 + 3.0 * seed
    with torch.no_grad():
        found = PriceLayer(psi, total)(o, least=m, scale=s)
        torch.testing.assert_close(found, by_bisection(psi, o, m, s, total), rtol=1e-9, atol=1e-12)
    assert found.sum().item() == pytest.approx(total, rel=1e-13) and (found >= m).all()


def test_the_response_is_its_formula_and_falls() -> None:
    psi = response(4)
    c, sigma, *kinks = psi.outputs.tolist()
    t = torch.linspace(-60, 60, 241, dtype=F64)
    heights, places, widths = kinks[0::3], [4 * x for x in kinks[1::3]], [math.exp(x) for x in kinks[2::3]]
    slope = math.exp(sigma) + sum(abs(h) for h in heights)
    expected = c - slope * t
    for h, place, width in zip(heights, places, widths, strict=True):
        expected = expected - h * ((t - place) ** 2 + width**2).sqrt()
    torch.testing.assert_close(psi(t), expected, rtol=1e-13, atol=1e-12)
    value, by_t = psi.value_and_slope(t)
    torch.testing.assert_close(value, expected, rtol=1e-13, atol=1e-12)
    assert (by_t < 0).all() and (psi(t).diff() < 0).all()
    moving = t.clone().requires_grad_()
    psi(moving).sum().backward()
    torch.testing.assert_close(moving.grad, by_t, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_gradients_by_the_implicit_function_theorem(seed: int) -> None:
    psi = response(seed, context=2, units=3)
    layer = PriceLayer(psi)
    mask = torch.rand(2, 4, generator=generator(seed)) < 0.7
    mask[:, 0] = True
    o = uniform(-3, 3, 2, 4, seed=seed).requires_grad_()
    m = uniform(0, 1, 2, 4, seed=seed + 1).requires_grad_()
    s = uniform(0.2, 1, 2, 4, seed=seed + 2).requires_grad_()
    total = uniform(8, 20, 2, seed=seed + 3).requires_grad_()
    context = uniform(-1, 1, 2, 4, 2, seed=seed + 4).requires_grad_()
    inputs = (o, total, m, s, context, *psi.parameters())
    for present in (mask, None):
        run = lambda o, total, m, s, context, *_: layer(o, total, m, s, context, present)  # noqa: E731, B023
        assert torch.autograd.gradcheck(run, inputs)


class Straight(torch.nn.Module):
    """Response ``ψ(t) = −a·t``, with which the price layer is a softmax of −a·o."""

    def __init__(self, a: float, dtype: torch.dtype) -> None:
        super().__init__()
        self.a = torch.nn.Parameter(torch.tensor(a, dtype=dtype))

    def forward(self, t: torch.Tensor) -> torch.Tensor:
        return -self.a * t


@pytest.mark.parametrize(("dtype", "within"), [(F64, 1e-12), (torch.float32, 1e-5)])
def test_any_decreasing_module_will_do(dtype: torch.dtype, within: float) -> None:
    o = uniform(-3, 3, 4, 7, seed=1).to(dtype).requires_grad_()
    psi = Straight(1.7, dtype)
    y = PriceLayer(psi, budget=5.0)(o)
    expected = Softmax(5.0)(-1.7 * o.detach())
    torch.testing.assert_close(y, expected, rtol=within, atol=0)
    (y[:, 0] ** 2).sum().backward()
    other = o.detach().clone().requires_grad_()
    (Softmax(5.0)(-1.7 * other)[:, 0] ** 2).sum().backward()
    torch.testing.assert_close(o.grad, other.grad, rtol=10 * within, atol=10 * within)
    # Compare with the gradient of a through the softmax: −o for each logit.
    a = torch.tensor(1.7, dtype=dtype, requires_grad=True)
    (Softmax(5.0)(-a * o.detach())[:, 0] ** 2).sum().backward()
    torch.testing.assert_close(psi.a.grad, a.grad, rtol=20 * within, atol=20 * within)


class CubeRoot(torch.nn.Module):
    """Response ``ψ(t) = −∛t``, for which plain Newton steps diverge: each step lands at −2t."""

    def forward(self, t: torch.Tensor) -> torch.Tensor:
        return -t.sign() * t.abs() ** (1 / 3)


@pytest.mark.parametrize("slack", [0.02, 0.9, 1.1, 50.0])
@pytest.mark.parametrize("size", [1, 2, 9])
def test_the_bracket_holds_where_newton_would_not(size: int, slack: float) -> None:
    o, one = uniform(-2, 2, size, seed=size), torch.ones(size, dtype=F64)
    found = PriceLayer(CubeRoot(), slack)(o)
    expected = by_bisection(CubeRoot(), o, 0 * one, one, slack)
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-12)


def test_a_ragged_batch_is_its_cells_one_by_one() -> None:
    psi = response(2, context=1)
    layer = PriceLayer(psi)
    mask = torch.zeros(5, 9, dtype=torch.bool)
    for cell, size in enumerate([1, 4, 9, 2, 0]):
        mask[cell, torch.randperm(9, generator=generator(cell))[:size]] = True
    names = ("o", "m", "s")
    values = {name: uniform(0.1, 1.0, 5, 9, seed=i) for i, name in enumerate(names)}
    context = uniform(-1, 1, 5, 9, 1, seed=7)
    for tensor in (*values.values(), context):
        tensor[~mask] = torch.nan
        tensor.requires_grad_()
    total = torch.linspace(10, 14, 5, dtype=F64)
    y = layer(values["o"], total, values["m"], values["s"], context, mask)
    assert (y[~mask] == 0).all() and (y[4] == 0).all()
    y.square().sum().backward()
    for tensor in (*values.values(), context):
        assert tensor.grad.isfinite().all() and (tensor.grad[~mask] == 0).all()
    for cell in range(4):
        there = mask[cell]
        alone = [values[name].detach()[cell][there].requires_grad_() for name in names]
        own = layer(alone[0], total[cell], alone[1], alone[2], context.detach()[cell][there])
        torch.testing.assert_close(y[cell][there], own, rtol=1e-11, atol=0)
        own.square().sum().backward()
        torch.testing.assert_close(values["o"].grad[cell][there], alone[0].grad, rtol=1e-9, atol=1e-10)


def test_single_precision_is_fine_to_1e_6() -> None:
    psi = response(3, dtype=torch.float32)
    double = PriceResponse(dtype=F64)
    double.load_state_dict(psi.state_dict())
    least = uniform(1e-3, 1e-2, 20, 100, seed=1).float()
    o = least.log() - 15.0
    single = PriceLayer(psi, 20.0)(o, least=least, scale=least)
    exact = PriceLayer(double, 20.0)(o.double(), least=least.double(), scale=least.double())
    assert single.dtype == torch.float32
    torch.testing.assert_close(single.double(), exact, rtol=1e-6, atol=0)


@pytest.mark.parametrize("spread", [1e2, 1e4, 1e8])
@pytest.mark.parametrize("slack", [1e-9, 1e-3, 1e6])
def test_extremes_give_numbers(spread: float, slack: float) -> None:
    for seed in range(5):
        layer = PriceLayer(response(seed), check=True)
        o = (spread * uniform(-1, 1, 3, 20, seed=seed)).requires_grad_()
        m = uniform(0, 1, 3, 20, seed=seed + 1)
        total = m.sum(-1) * (1 + slack)
        amounts, over = layer.split(o, total, m, m)
        assert amounts.isfinite().all() and (over >= 0).all()
        # The amounts beyond the minimums, up to the rounding of a difference.
        torch.testing.assert_close(over.sum(-1), total - m.sum(-1), rtol=1e-12, atol=0)
        amounts[:, 0].sum().backward()
        assert o.grad.isfinite().all()


def test_what_cannot_be_is_refused_with_what_would_help() -> None:
    layer = PriceLayer(budget=3.0)
    least = torch.tensor([[0.5, 1.0], [1.5, 2.5]])
    with pytest.raises(ValueError, match=r"minimum amounts of cell \[1\] sum to 4, expected less than the budget.*3: "):
        layer(torch.zeros(2, 2), least=least)
    with pytest.raises(ValueError, match=r"offsets\[0, 1\] is nan, expected a finite number"):
        layer(torch.tensor([[0.0, torch.nan]]))
    with pytest.raises(ValueError, match=r"least\[1\] is -1.0"):
        layer(torch.zeros(2), least=torch.tensor([0.0, -1.0]))
    with pytest.raises(ValueError, match=r"scale\[0\] is 0.0, expected a positive"):
        layer(torch.zeros(2), scale=torch.tensor([0.0, 1.0]))
    with pytest.raises(ValueError, match=r"least has shape \(3,\), expected \(2,\)"):
        layer(torch.zeros(2), least=torch.zeros(3))
    with pytest.raises(ValueError, match=r"budget has shape \(3,\), expected \(2,\)"):
        layer(torch.zeros(2, 2), budget=torch.ones(3))
    with pytest.raises(ValueError, match="there is no budget"):
        PriceLayer()(torch.zeros(2))
    with pytest.raises(ValueError, match="the context has shape None"):
        PriceLayer(PriceResponse(2), budget=1.0)(torch.zeros(2))
    for psi in (torch.nn.Tanh(), Straight(-1.0, F64)):
        with pytest.raises(ValueError, match="decreases strictly and without bound"):
            PriceLayer(psi, budget=1e6)(torch.zeros(2, dtype=F64))
