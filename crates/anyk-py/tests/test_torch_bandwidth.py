"""b(u), its derivative, and the QoS constraint."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
# With such small tensors, several threads are slower than one.
torch.set_num_threads(1)
pytest.importorskip("anyk", reason="the compiled package")

from anyk.torch import RequiredBandwidth, UrllcService  # noqa: E402

F64 = torch.float64
CELLS = [{}, {"epsilon": 1e-7, "packet_bits": 320.0, "antennas": 16}]


def powers(required: RequiredBandwidth) -> torch.Tensor:
    """Return received powers from just above u_min to a hundred thousand times u_min."""
    return required.min_received_w * (1.0 + torch.logspace(-4, 5, 40, dtype=F64))


@pytest.mark.parametrize("cell", CELLS)
def test_the_qos_holds_with_equality(cell: dict[str, float]) -> None:
    required, service = RequiredBandwidth(**cell), UrllcService(**cell)
    u = powers(required)
    b = required(u)
    # E[f(g)] over g ~ Gamma(N_t, 1) by its density on a fine grid in ln g.
    t = torch.linspace(-12, 5, 4001, dtype=F64)
    n = service.antennas
    density = (n * t - t.exp()).exp()
    # The violation takes a mean over draws, so pass the grid as draws and put the weights on the integrand.
    nodes = t.exp().expand(len(u), -1)
    exact = torch.stack([service.violation(u, b, nodes[:, i : i + 1]) + 1.0 for i in range(0, 4001, 8)], dim=-1)
    violation = (exact * density[::8]).sum(-1) / density[::8].sum() - 1.0
    assert violation.abs().max() < 1e-6
    # A bandwidth smaller by a thousandth does not meet the QoS.
    less = torch.stack([service.violation(u, 0.999 * b, nodes[:, i : i + 1]) + 1.0 for i in range(0, 4001, 8)], dim=-1)
    assert ((less * density[::8]).sum(-1) / density[::8].sum() > 1.0 + 1e-8).all()


@pytest.mark.parametrize("cell", CELLS)
def test_its_derivative(cell: dict[str, float]) -> None:
    required = RequiredBandwidth(**cell)
    # Units of u_min and MHz, and ln e as the variable, suit the step of gradcheck.
    ln_excess = torch.linspace(-6, 8, 25, dtype=F64).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: required.at_excess(x.exp()) / 1e6, (ln_excess,))
    u = powers(required).requires_grad_()
    required(u).sum().backward()
    assert (u.grad < 0).all()
    step = 1e-6
    rise = (required(u * (1 + step)) - required(u * (1 - step))) / (2 * step * u)
    torch.testing.assert_close(u.grad, rise.detach(), rtol=1e-3, atol=0)


def test_under_the_least_it_is_held() -> None:
    required = RequiredBandwidth()
    u = required.min_received_w * torch.tensor([0.0, 0.5, 1.0, 1.5], dtype=F64)
    u.requires_grad_()
    b = required(u)
    b.sum().backward()
    assert required.serves(u).tolist() == [False, False, True, True]
    torch.testing.assert_close(b[:3], torch.full((3,), required.max_bandwidth_hz, dtype=F64), rtol=1e-5, atol=0)
    assert b[3] < b[2] and (u.grad[:2] == 0).all() and u.grad.isfinite().all() and u.grad[3] < 0


def test_the_largest_bandwidth_is_that_of_the_fold() -> None:
    # b_fold and u_min of the paper's cell, by bisection of M = 0 and ∂M/∂ln z = 0 in NumPy, with a separate trapezoidal
    # rule in ln g.
    required = RequiredBandwidth()
    assert required.max_bandwidth_hz == pytest.approx(4519773.342325, rel=2e-8)
    assert required.min_received_w == pytest.approx(3.003481551359584e-15, rel=1e-12)


def test_masks_shapes_and_single_precision() -> None:
    required = RequiredBandwidth()
    u = 1e-12 * torch.linspace(1, 6, 6, dtype=F64).reshape(2, 3)
    mask = torch.tensor([[True, False, True], [False, False, True]])
    padded = torch.where(mask, u, torch.nan).requires_grad_()
    b = required(padded, mask)
    assert (b[~mask] == 0).all()
    torch.testing.assert_close(b[mask], required(u)[mask], rtol=0, atol=0)
    b.sum().backward()
    assert padded.grad.isfinite().all() and (padded.grad[~mask] == 0).all()
    single = required(u.float())
    assert single.dtype == torch.float32
    torch.testing.assert_close(single.double(), required(u), rtol=1e-6, atol=0)
    # If u is the same number in both precisions, the result in single precision is not below that in double.
    exact = required(u.float().double())
    e = (u.float().double() / required.min_received_w - 1.0).float()
    assert (required.at_excess(e).double() >= required.at_excess(e.double())).all() and exact.shape == u.shape


def test_fading_has_the_moments_of_its_law() -> None:
    draws = UrllcService(antennas=3).fading((200_000,), torch.Generator().manual_seed(1))
    assert draws.mean().item() == pytest.approx(3.0, rel=0.01) and draws.var().item() == pytest.approx(3.0, rel=0.02)
