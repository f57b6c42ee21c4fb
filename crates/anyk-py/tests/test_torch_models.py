"""Models as modules: the same results as the compiled models, with random weights, and gradients."""

from __future__ import annotations

import copy
import json
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
# With such small tensors, several threads are slower than one.
torch.set_num_threads(1)
anyk = pytest.importorskip("anyk", reason="the compiled package")

from anyk.torch import AnyGnn, PricePolicy, UrllcGnn, from_model  # noqa: E402

CONFIG = {
    "cell": {"max_power_dbm": 43.0, "noise_density_dbm_hz": -173.0, "antennas": 8},
    "road": {"min_distance_m": 50.0, "cell_radius_m": 250.0},
    "path_loss": {"intercept_db": 35.3, "slope_db": 37.6},
    "frame": {"frame_ms": 0.1, "transmission_ms": 0.05, "queueing_delay_ms": 0.8},
    "service": {"epsilon": 1e-5, "packet_bits": 160.0, "arrival_rate": 0.2},
}
RECIPE = {
    "update": {"adam": {"beta1": 0.0, "beta2": 0.999}},
    "rate": {"cosine": {"rate": 0.003, "last": 1e-5}},
    **{"batch": 10, "epochs": 0, "steps": 30000, "stored_draws": 64, "draws": 16},
    **{"rate_per": "step", "initialization": "placed", "loss": "relative"},
}
METRICS = {"availability": 1.0, "gap_percent": 1.0}


def write(path: Path, method: str, record: dict[str, Any], tensors: dict[str, np.ndarray]) -> Path:
    """Write a model file as docs/model-format.md describes it."""
    content = json.dumps({"problem": "urllc", "method": method, "record": record})
    check = zlib.crc32(content.encode())
    header: dict[str, Any] = {}
    data = b""
    for name in sorted(tensors):
        tensor = np.ascontiguousarray(tensors[name], "<f8")
        check = zlib.crc32(name.encode(), check)
        for axis in tensor.shape:
            check = zlib.crc32(struct.pack("<Q", axis), check)
        check = zlib.crc32(tensor.tobytes(), check)
        place = [len(data), len(data) + tensor.nbytes]
        header[name] = {"dtype": "F64", "shape": list(tensor.shape), "data_offsets": place}
        data += tensor.tobytes()
    about = f'{{"kind":"model","version":2,"checksum":"{check:08x}","content":{content}}}'
    text = json.dumps({"__metadata__": {"anyk": about}, **header})
    text += " " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text.encode() + data)
    return path


def gnn(path: Path, method: str, aggregator: str, hidden: list[int], inputs: str, seed: int, **more: Any) -> Path:
    """Return a P-GNN or M-GNN with random weights and a small outer function."""
    rng = np.random.default_rng(seed)
    training = {
        **{"method": method, "train_k": [10], "samples": 2000, "epsilon_d": 6e-6, "aggregator": aggregator},
        **{"hidden": hidden, "recipe": RECIPE, "seed": 1, "inputs": inputs},
    }
    law = {"hidden": [6, 5], "scale": "logarithmic" if seed % 2 else "linear", "unit_khz": 150}
    record = {"config": CONFIG, "training": training, "unit_hz": 1.8e5, "metrics": METRICS, **more}
    record["law"] = law if method == "p-gnn" else None
    tensors = {}
    widths = [1 if inputs == "gain" else 2, *hidden, 1]
    # A sum over a thousand other users with weights of the order of 1 would make every softmax output 0 or 1.
    others = 0.0002 if aggregator == "sum" else 0.5
    for network in ("power", "bandwidth"):
        for layer, (before, after) in enumerate(zip(widths[:-1], widths[1:], strict=True)):
            shape = (after, before)
            tensors[f"{network}.{layer}.own"] = 0.5 * rng.standard_normal(shape)
            tensors[f"{network}.{layer}.others"] = others * rng.standard_normal(shape)
            tensors[f"{network}.{layer}.bias"] = 0.5 * rng.standard_normal(after)
    if method == "p-gnn":
        widths = [2, *law["hidden"], 1]
        for layer, (before, after) in enumerate(zip(widths[:-1], widths[1:], strict=True)):
            tensors[f"law.{layer}.weight"] = 0.4 * rng.standard_normal((after, before))
            tensors[f"law.{layer}.bias"] = 0.4 * rng.standard_normal(after)
    return write(path, method, record, tensors)


def price_policy(path: Path, seed: int, wide: bool = False, **more: Any) -> Path:
    """Return a price policy with random weights around a plausible response."""
    rng = np.random.default_rng(seed)
    training = {
        **{"train_k": [10], "samples": 2000, "network": {"hidden": 4}, **more},
        **{"batch": 16, "steps": 3000, "rate": {"cosine": {"rate": 0.01, "last": 1e-4}}, "seed": 1},
    }
    deviation = [0.7, 0.4, 0.2, 0.3] if wide else [0.0] * 4
    ranges = {
        **{"gain_db": [-126.0, -99.0], "power_per_user_w": [5e-4, 40.0], "load": [2e-5, 0.96]},
        **{"epsilon": [1e-5, 1e-5], "packet_bits": [160.0, 160.0], "arrival_rate": [0.2, 0.2], "antennas": [8.0, 8.0]},
    }
    scaling = {"mean": [2.3, -3.7, 1.4, 0.3], "deviation": deviation}
    record = {"config": CONFIG, "training": training, "scaling": scaling, "ranges": ranges, "metrics": METRICS}
    bias = np.concatenate([[-2.0, -0.35], *([h, place, 0.5] for h, place in zip(np.full(8, 0.05), np.linspace(-4, 0.5, 8)))])
    tensors = {
        "response.0.weight": rng.standard_normal((4, 4)),
        "response.0.bias": rng.standard_normal(4),
        "response.1.weight": 0.1 * rng.standard_normal((26, 4)),
        "response.1.bias": bias + 0.1 * rng.standard_normal(26),
    }
    return write(path, "price", record, tensors)


def gains(size: int, seed: int) -> np.ndarray:
    """Return gains of users on the paper's road that single precision represents exactly."""
    distance = np.random.default_rng(seed).uniform(50.0, 250.0, size)
    return (10 ** (-(35.3 + 37.6 * np.log10(distance)) / 10)).astype(np.float32).astype(np.float64)


def agrees(model: Any, path: Any, dtype: torch.dtype, within: float) -> torch.nn.Module:
    """Check that the module with parameters of a dtype gives the results of the compiled model, and return it."""
    module = from_model(path, dtype=dtype)
    for size in (1, 2, 10, 200, 1000):
        alpha = gains(size, size)
        answer = model.allocate(anyk.Urllc(gains=alpha))
        with torch.no_grad():
            found = module(torch.tensor(alpha, dtype=dtype))
        for mine, theirs in zip(found, (answer.power_w, answer.bandwidth_hz), strict=True):
            assert mine.dtype == dtype
            np.testing.assert_allclose(mine.numpy(), theirs, rtol=within, atol=0)
    return module


@pytest.mark.parametrize("method", ["price", "p-gnn", "m-gnn"])
def test_trained_models_in_single_precision(method: str) -> None:
    model = anyk.train("urllc", method=method, train_k=10, seed=3)
    agrees(model, model, torch.float32, 1e-6)


@pytest.mark.parametrize("inputs", ["gain", "gain-and-size"])
@pytest.mark.parametrize("aggregator", ["mean", "sum", "max"])
@pytest.mark.parametrize(("method", "hidden"), [("p-gnn", [4]), ("p-gnn", [3, 5]), ("m-gnn", [4]), ("m-gnn", [6, 2])])
def test_p_gnn_and_m_gnn(tmp_path: Path, method: str, hidden: list[int], aggregator: str, inputs: str) -> None:
    # The compiled model also computes networks of the paper's shape in single precision.
    within = 2e-6 if hidden == [4] and inputs == "gain" and aggregator != "max" else 1e-11
    for seed in (1, 2):
        path = gnn(tmp_path / f"{seed}.safetensors", method, aggregator, hidden, inputs, seed)
        assert isinstance(agrees(anyk.load(path), path, torch.float64, within), UrllcGnn)


@pytest.mark.parametrize("wide", [False, True])
def test_the_price_policy(tmp_path: Path, wide: bool) -> None:
    for seed in (1, 2, 3):
        path = price_policy(tmp_path / f"{seed}.safetensors", seed, wide)
        model = anyk.load(path)
        assert isinstance(agrees(model, path, torch.float32, 1e-6), PricePolicy)
        # The search of the compiled model for the price ends when a step changes the powers by less than 1e-6.
        agrees(model, path, torch.float64, 1e-6)


@pytest.mark.parametrize("price", [{}, {"fixed_ln_price": 7.5}])
def test_a_softmax_in_place_of_the_price(tmp_path: Path, price: dict[str, float]) -> None:
    for seed in (1, 2, 3):
        path = price_policy(tmp_path / f"{seed}.safetensors", seed, output="softmax", **price)
        # With a softmax, some users are close to u_min, where b magnifies the rounding of powers to single precision.
        agrees(anyk.load(path), path, torch.float32, 3e-6)


@pytest.mark.parametrize("name", ["any-gnn", "any-gnn-softmax", "p-gnn", "p-gnn-calibrated", "m-gnn"])
def test_models_of_version_0_2(name: str) -> None:
    path = Path(__file__).parents[2] / "anyk-cli" / "tests" / "data" / "models-0.2" / f"urllc-{name}.safetensors"
    if not path.exists():
        pytest.skip("the models are not next to the tests")
    module = agrees(anyk.load(path), path, torch.float32, 3e-6)
    assert isinstance(module, AnyGnn) == name.startswith("any-gnn")


def test_a_guarantee_widens_bandwidths() -> None:
    # The model was trained with ten users, so it needs a factor at fifty.
    model = anyk.train("urllc", method="m-gnn", train_k=10, seed=3).calibrate([50], cells=1000, beta=0.01)
    module = from_model(model)
    cell = anyk.Urllc(gains=gains(50, 5))
    _, bandwidth_hz = module(torch.tensor(cell.gains))
    np.testing.assert_allclose(bandwidth_hz.detach().numpy(), model.allocate(cell).bandwidth_hz, rtol=1e-6)
    assert module.margin > 1.05


def test_every_answer_of_the_price_policy_meets_the_qos(tmp_path: Path) -> None:
    module = from_model(price_policy(tmp_path / "price.safetensors", 4))
    for size in (1, 10, 200, 1000):
        cell = anyk.Urllc(gains=gains(size, size))
        with torch.no_grad():
            verdict = cell.judge(module(torch.tensor(cell.gains)))
        assert verdict.status == "feasible", verdict


@pytest.mark.parametrize("kind", ["price", "p-gnn", "m-gnn"])
def test_ragged_batches_and_gradients(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "model.safetensors"
    path = price_policy(path, 1) if kind == "price" else gnn(path, kind, "mean", [4], "gain-and-size", 1)
    module = from_model(path, dtype=torch.float64)
    alpha = torch.full((3, 20), torch.nan, dtype=torch.float64)
    mask = torch.zeros(3, 20, dtype=torch.bool)
    for cell, size in enumerate([1, 20, 7]):
        mask[cell, torch.randperm(20, generator=torch.Generator().manual_seed(cell))[:size]] = True
        alpha[cell][mask[cell]] = torch.tensor(gains(size, cell))
    power_w, bandwidth_hz = module(alpha, mask)
    for cell in range(3):
        alone = module(alpha[cell][mask[cell]])
        for batched, own in zip((power_w, bandwidth_hz), alone, strict=True):
            torch.testing.assert_close(batched[cell][mask[cell]], own, rtol=1e-10, atol=0)
    (power_w.square().sum() + bandwidth_hz.sum() / 1e5).backward()
    trained = [parameter for parameter in module.parameters() if parameter.requires_grad]
    assert trained and all(parameter.grad.isfinite().all() for parameter in trained)
    assert any((parameter.grad != 0).any() for parameter in trained)
    frozen = [name for name, parameter in module.named_parameters() if not parameter.requires_grad]
    assert all("law" in name for name in frozen) and bool(frozen) == (kind == "p-gnn")


def test_what_is_no_sound_model_is_refused(tmp_path: Path) -> None:
    path = price_policy(tmp_path / "price.safetensors", 1)
    raw = bytearray(path.read_bytes())
    raw[-3] ^= 1
    broken = tmp_path / "broken.safetensors"
    broken.write_bytes(raw)
    with pytest.raises(ValueError, match="broken.safetensors: its checksum does not match"):
        from_model(broken)
    for content in (b"", b"12345678", b"\x10\0\0\0\0\0\0\0not json at all!", bytes(100)):
        broken.write_bytes(content)
        with pytest.raises(ValueError, match="expected an AnyK model file"):
            from_model(broken)
    with pytest.raises(TypeError, match="the model is a int, expected a path or an anyk.Model"):
        from_model(3)
    other = copy.deepcopy(RECIPE)
    write(broken, "edge-gnn", {"training": other}, {})
    with pytest.raises(ValueError, match="has the problem urllc and the method edge-gnn; expected a urllc model"):
        from_model(broken)
