"""The layers give the same numbers and gradients on a GPU, if there is one, as on the CPU."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("there is no GPU", allow_module_level=True)

from anyk.torch import (  # noqa: E402
    EquivariantNetwork,
    PriceLayer,
    PriceResponse,
    PrimalDual,
    Softmax,
    SumNormalisation,
    Terms,
)

F64 = torch.float64


class Split(torch.nn.Module):
    """Network with an output layer."""

    def __init__(self, output: torch.nn.Module, aggregator: str) -> None:
        super().__init__()
        self.network = EquivariantNetwork([1, 6, 1], aggregator, generator=torch.Generator().manual_seed(1))
        self.output = output

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return self.output(self.network(x, mask)[..., 0], mask=mask)


@pytest.mark.parametrize("aggregator", ["mean", "sum", "max"])
@pytest.mark.parametrize("output", ["price", "softmax", "sum"])
def test_a_gpu_gives_the_same(aggregator: str, output: str) -> None:
    response = PriceResponse(generator=torch.Generator().manual_seed(2))
    outputs = {"price": PriceLayer(response, 20.0), "softmax": Softmax(20.0), "sum": SumNormalisation(20.0)}
    module = Split(outputs[output], aggregator).to(F64)
    x = torch.randn(16, 30, 1, dtype=F64, generator=torch.Generator().manual_seed(3))
    mask = torch.rand(16, 30, generator=torch.Generator().manual_seed(4)) < 0.7
    found = {}
    for device in ("cpu", "cuda"):
        module.to(device).zero_grad()
        y = module(x.to(device), mask.to(device))
        y.square().sum().backward()
        found[device] = [y, *(parameter.grad for parameter in module.parameters())]
        assert y.device.type == device
        found[device] = [tensor.detach().cpu().clone() for tensor in found[device]]
    for there, here in zip(found["cuda"], found["cpu"], strict=True):
        torch.testing.assert_close(there, here, rtol=1e-9, atol=1e-9)


def test_training_and_errors_on_a_gpu() -> None:
    module = Split(PriceLayer(PriceResponse(), 20.0), "mean").to("cuda")
    mask = torch.ones(8, 5, dtype=torch.bool, device="cuda")

    def terms(x: torch.Tensor) -> Terms:
        return Terms(module(x, mask).square().sum(-1))

    history = PrimalDual(module, terms, rate=1e-2, record_every=50).train(
        lambda generator: torch.randn(8, 5, 1, generator=generator).to("cuda"), 200
    )
    assert history[-1].objective < history[0].objective
    with pytest.raises(ValueError, match="sum to 30, expected less than the budget"):
        module.output(torch.zeros(3, device="cuda"), least=torch.full((3,), 10.0, device="cuda"))
