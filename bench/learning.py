"""Compare the speed of one training step and of one allocation with PyTorch and JAX.

`cargo xtask compare learning` runs this script. It contains the networks, the loss and Adam once for both libraries,
in the faster of two forms that we tried: all networks in one array, and sums of products instead of small matrices.

torch eager      autograd and torch.optim.Adam (fused)
torch compiled   forward, backward and Adam as one compiled graph, one step per call
jax scan         forward, backward and Adam jitted, 1,000 steps per call
... table        allocation by the method of AnyK: the outer function B^v as a table made beforehand (not timed)

All use float32 on one thread. The inputs of the libraries are converted to their arrays beforehand, but AnyK gathers
its batch from the training set within the timed step.

The weights come from a model file that `anyk train` writes. Allocations must agree with those of `anyk allocate`, and
losses and gradients with NumPy in float64. The constraint of the loss must hold with equality at the optimum of
`anyk solve`. Otherwise the comparison is void.
"""

import json
import math
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from statistics import NormalDist

# Use one thread. JAX 0.10 obeys NPROC; xla_cpu_multi_thread_eigen=false would leave large products on all cores and
# make the allocation slower.
os.environ["OMP_NUM_THREADS"] = os.environ["NPROC"] = "1"
os.environ["JAX_PLATFORMS"] = "cpu"

import numpy as np

ANYK = sys.argv[1]
STEPS = 1000  # training steps per call of JAX
SIZE, SAMPLES, USERS = 10, 10, 200  # users per sample, samples per batch, users in the allocated cell
BATCH = ("x", "energy", "uses", "fading")
# Range of the table of B^v in ln α + 30, and its number of pieces.
LOW, HIGH, PIECES = -10.0, 20.0, 2**14


def outputs(nn, parameters, x):
    """Return the outputs of all networks (first axis) for samples and users."""
    p = parameters[:, :, None, None]
    others = (x.sum(-1, keepdims=True) - x) / x.shape[-1]
    h = nn.leaky_relu(p[:, 0:4] * x + p[:, 4:8] * others + p[:, 8:12], 0.01)
    h_others = (h.sum(-1, keepdims=True) - h) / x.shape[-1]
    return (p[:, 12:16] * h + p[:, 16:20] * h_others).sum(1) + p[:, 20]


def make_loss(lib, nn, step):
    kappa, back_off, demand, unit = step["kappa"], step["kappa"] * step["quantile"], step["demand"], step["unit_uses"]

    def loss(parameters, x, energy, uses, fading):
        power, bandwidth, multiplier = outputs(nn, parameters, x)
        z = uses * nn.softplus(bandwidth)
        snr = fading * energy * nn.softmax(power, -1) / z
        excess = lib.exp(demand + back_off * lib.sqrt(z) - kappa * z * lib.log1p(snr)) - 1
        return (z / unit + nn.softplus(multiplier) * excess).sum() / x.shape[0]

    return loss


def make_step(lib, value_and_grad, ascent, step):
    """Return a function that maps state and batch to the next state and the loss, by one step of Adam."""
    beta1, beta2, rate = step["beta1"], step["beta2"], step["rate"]

    def advance(state, batch):
        parameters, first, second, count = state
        loss, gradient = value_and_grad(parameters, *batch)
        gradient, count = gradient * ascent, count + 1
        first = beta1 * first + (1 - beta1) * gradient
        second = beta2 * second + (1 - beta2) * gradient * gradient
        scale = lib.sqrt(second / (1 - beta2**count)) + 1e-8
        return (parameters - rate * first / (1 - beta1**count) / scale, first, second, count), loss

    return advance


class NumpyFunctions:
    """NumPy versions of the functions of torch.nn.functional and jax.nn that the networks use."""

    @staticmethod
    def leaky_relu(x, slope):
        return np.maximum(x, slope * x)

    @staticmethod
    def softplus(x):
        return np.logaddexp(x, 0)

    @staticmethod
    def softmax(x, axis):
        shares = np.exp(x - x.max(axis, keepdims=True))
        return shares / shares.sum(axis, keepdims=True)


def run(*arguments, text=""):
    """Run anyk and return its lines of JSON."""
    lines = subprocess.run([ANYK, *arguments], input=text, capture_output=True, check=True, text=True).stdout
    return [json.loads(line) for line in lines.splitlines()]


def read_model(path):
    """Return the record and the tensors of a model file (docs/model-format.md)."""
    with open(path, "rb") as file:
        raw = file.read()
    start = 8 + struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8:start])
    about = json.loads(header.pop("__metadata__")["anyk"])
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        tensors[name] = np.frombuffer(raw[start + begin : start + end], "<f8").reshape(entry["shape"])
    return about["content"]["record"], tensors


class Model:
    """P-GNN for URLLC and its cell, read from a model file."""

    def __init__(self, path):
        self.record, tensors = read_model(path)
        parts = [f"{layer}.{part}" for layer in (0, 1) for part in ("own", "others", "bias")]
        # The file does not contain the network of the multiplier, so this uses the weights of the bandwidth for it.
        self.parameters = np.array(
            [
                np.concatenate([tensors[f"{network}.{part}"].ravel() for part in parts])
                for network in ("power", "bandwidth", "bandwidth")
            ]
        )
        law = self.record["law"]
        self.unit_hz = 1e3 * law.get("unit_khz", 100)
        self.layers = [
            (tensors[f"law.{layer}.weight"], tensors[f"law.{layer}.bias"]) for layer in range(len(law["hidden"]) + 1)
        ]
        cell = self.record["config"]["cell"]
        self.max_power_w = 10 ** (cell["max_power_dbm"] / 10 - 3)
        self.noise_w_hz = 10 ** (cell["noise_density_dbm_hz"] / 10 - 3)
        self.antennas = cell["antennas"]
        self.transmission_s = 1e-3 * self.record["config"]["frame"]["transmission_ms"]

    def size_input(self, size):
        """Return the second input of the outer function."""
        return math.log(size) if self.record["law"].get("scale") == "logarithmic" else size / 200

    def outer(self, x, size):
        """Return B^v before its softplus, in float64."""
        values = np.stack([x, np.full_like(x, self.size_input(size))], -1)
        for index, (weights, biases) in enumerate(self.layers):
            values = (np.maximum(values, 0.01 * values) if index else values) @ weights.T + biases
        return values[..., 0]

    def gains(self, cells):
        """Return the large-scale gains of cells of equal size."""
        loss = self.record["config"]["path_loss"]
        distances_m = np.array([[user["distance_m"] for user in cell["users"]] for cell in cells])
        return 10 ** (-(loss["intercept_db"] + loss["slope_db"] * np.log10(distances_m)) / 10)

    def constants(self):
        """Return κ, Q_G⁻¹(ε_D/2) and θS^E, and the parameters of Adam."""
        config, training = self.record["config"], self.record["training"]
        frame, service, epsilon = config["frame"], config["service"], training["epsilon_d"]
        arrivals = service["arrival_rate"]
        theta = math.log1p(-math.log(epsilon / 2) / (arrivals * frame["queueing_delay_ms"] / frame["frame_ms"]))
        adam = training["recipe"]["update"]["adam"]
        return {
            "kappa": theta / (service["packet_bits"] * math.log(2)),
            "quantile": -NormalDist().inv_cdf(epsilon / 2),
            "demand": arrivals * math.expm1(theta),
            "beta1": adam["beta1"],
            "beta2": adam["beta2"],
            "rate": training["recipe"]["rate"]["cosine"]["rate"],
        }


def training_step(model):
    """Return a training step with its batch, and its loss and gradient by NumPy in float64."""
    sample = run("sample", "urllc", "--k", str(SIZE), "--count", str(SAMPLES), "--seed", "2")
    gains = model.gains(sample)
    x = np.log(gains) + 30
    uses = model.transmission_s * model.unit_hz * NumpyFunctions.softplus(model.outer(x, SIZE))
    energy = gains * model.max_power_w * model.transmission_s / model.noise_w_hz
    fading = np.random.default_rng(1).gamma(model.antennas, size=x.shape)
    step = {**model.constants(), "x": x, "energy": energy, "uses": uses, "fading": fading, "unit_uses": uses.mean()}
    check_constraint(model, step, sample)

    loss, parameters = make_loss(np, NumpyFunctions, step), model.parameters
    batch = [step[key] for key in BATCH]
    gradient = np.empty_like(parameters)
    for place in np.ndindex(parameters.shape):
        shift = np.zeros_like(parameters)
        shift[place] = 1e-6
        gradient[place] = (loss(parameters + shift, *batch) - loss(parameters - shift, *batch)) / 2e-6
    # The network of the multiplier ascends, so its gradient changes sign.
    gradient[2] *= -1
    return {**step, "parameters": parameters, "loss": loss(parameters, *batch), "gradient": gradient}


def check_constraint(model, step, sample):
    """Check that the constraint of the loss holds with equality at the optimum of `anyk solve`."""
    text = "\n".join(map(json.dumps, sample))
    epsilon = str(model.record["training"]["epsilon_d"])
    answers = run("solve", "urllc", "--epsilon", epsilon, "--input", "-", "--json", text=text)
    of_users = lambda key: np.array([[user[key] for user in answer["users"]] for answer in answers])[..., None]
    # Trapezoidal rule in ln g for g ~ Gamma(N_t, 1).
    ln_g = np.linspace(-10, 6, 2000)
    weights = np.exp(model.antennas * ln_g - np.exp(ln_g))
    z = model.transmission_s * of_users("bandwidth_hz")
    shares = of_users("power_w") / model.max_power_w
    snr = np.exp(ln_g) * step["energy"][..., None] * shares / z
    exponent = step["demand"] + step["kappa"] * (step["quantile"] * np.sqrt(z) - z * np.log1p(snr))
    agree("the constraint", (np.exp(exponent) * weights).sum(-1) / weights.sum(), 1, within=1e-6)


def allocation(model, path):
    """Return the gains of one cell and the allocation by `anyk allocate`."""
    sample = run("sample", "urllc", "--k", str(USERS), "--seed", "1")
    (answer,) = run("allocate", path, "--no-check", "--input", "-", "--json", text=json.dumps(sample[0]))
    (gains,) = model.gains(sample)
    of_users = lambda key: [user[key] for user in answer["users"]]
    return {"gains": gains, "power_w": of_users("power_w"), "bandwidth_hz": of_users("bandwidth_hz")}


def make_law(lib, nn, linear, second):
    """Return a function that computes B^v before its softplus by its network."""

    def law(layers, x):
        values = lib.stack([x, lib.full_like(x, second)], -1)
        for weights, biases in layers[:-1]:
            values = nn.leaky_relu(linear(values, weights, biases), 0.01)
        return linear(values, *layers[-1])[..., 0]

    return law


def make_table(lib):
    """Return a function that interpolates B^v before its softplus in a table."""

    def law(values, x):
        position = (x - LOW) * (PIECES / (HIGH - LOW))
        piece = lib.asarray(position, dtype=lib.int32)
        low = values[piece]
        return low + (values[piece + 1] - low) * (position - piece)

    return law


def make_allocate(lib, nn, law, model):
    max_power_w, unit_hz = model.max_power_w, model.unit_hz

    def allocate(gains, parameters, law_parameters):
        x = lib.log(gains) + 30
        power, bandwidth = outputs(nn, parameters, x[None])[:, 0]
        outer = unit_hz * nn.softplus(law(law_parameters, x))
        return max_power_w * nn.softmax(power, -1), nn.softplus(bandwidth) * outer

    return allocate


def median_us(call, seconds=2):
    call()
    times, started = [], time.perf_counter()
    while len(times) < 3 or time.perf_counter() - started < seconds:
        before = time.perf_counter()
        call()
        times.append(time.perf_counter() - before)
    return 1e6 * sorted(times)[len(times) // 2]


def agree(what, theirs, ours, scale=None, within=1e-4):
    theirs, ours = np.asarray(theirs, float), np.asarray(ours, float)
    off = np.abs((theirs - ours) / (ours if scale is None else scale)).max()
    if not off <= within:
        sys.exit(f"{what} is off by {off:.1e}: the comparison is void")


def check_step(name, step, loss, gradient, parameters):
    """Check loss and gradient against NumPy, and the parameters after the first step against the formula of Adam."""
    ours = np.array(step["gradient"])
    largest = np.abs(ours).max(1, keepdims=True)
    agree(f"{name}: the loss", loss, step["loss"])
    agree(f"{name}: the gradient", gradient, ours, largest)
    expected = np.array(step["parameters"]) - step["rate"] * ours / (np.abs(ours) + 1e-8)
    clear = np.abs(ours) > 1e-3 * largest
    agree(f"{name}: the update", np.asarray(parameters)[clear], expected[clear], step["rate"], 1e-2)


def check_allocation(name, cell, allocation):
    for key, theirs in zip(("power_w", "bandwidth_hz"), allocation):
        agree(f"{name}: {key}", theirs, cell[key])


def torch_rows(step, cell, model, table):
    """Return names and functions of training steps and allocations, after a check of each."""
    import torch
    import torch.nn.functional

    torch.set_num_threads(1)
    nn = torch.nn.functional
    array = lambda values: torch.tensor(np.array(values), dtype=torch.float32)
    batch = [array(step[key]) for key in BATCH]
    ascent = array([[1], [1], [-1]])
    loss = make_loss(torch, nn, step)

    parameters = array(step["parameters"]).requires_grad_()
    adam = torch.optim.Adam([parameters], lr=step["rate"], betas=(step["beta1"], step["beta2"]), fused=True)

    def eager_step():
        adam.zero_grad()
        value = loss(parameters, *batch)
        value.backward()
        parameters.grad[2].neg_()
        adam.step()
        return value.detach()

    check_step("torch eager", step, eager_step(), parameters.grad, parameters.detach())
    steps = {"torch_eager": eager_step}

    weights = array(model.parameters[:2])
    law = [tuple(map(array, layer)) for layer in model.layers]
    network = make_law(torch, nn, nn.linear, model.size_input(USERS))
    kinds = {
        "": (make_allocate(torch, nn, network, model), law),
        "_table": (make_allocate(torch, nn, make_table(torch), model), array(table)),
    }
    gains, allocations = array(cell["gains"]), {}

    def add_allocation(name, allocate, law):
        @torch.inference_mode()
        def call():
            return allocate(gains, weights, law)

        check_allocation(name, cell, call())
        allocations[name] = call

    for kind, (allocate, law) in kinds.items():
        add_allocation(f"torch_eager{kind}", allocate, law)

    def add_compiled():
        def value_and_grad(parameters, *batch):
            gradient, value = torch.func.grad_and_value(loss)(parameters, *batch)
            return value, gradient

        advance = torch.compile(make_step(torch, value_and_grad, ascent, step), fullgraph=True)
        start = array(step["parameters"])
        state = (start, torch.zeros_like(start), torch.zeros_like(start), torch.tensor(0.0))

        @torch.no_grad()
        def compiled_step():
            nonlocal state
            state, value = advance(state, batch)
            return value

        value = compiled_step()
        # After one step from 0, the first moments are (1 − β₁)·g.
        check_step("torch compiled", step, value, state[1] / (1 - step["beta1"]), state[0])
        steps["torch_compiled"] = compiled_step
        for kind, (allocate, law) in kinds.items():
            add_allocation(f"torch_compiled{kind}", torch.compile(allocate, fullgraph=True), law)

    compiler = os.environ.get("CXX", "clang++" if sys.platform == "darwin" else "g++")
    reason = None if shutil.which(compiler) else f"there is no C++ compiler {compiler}"
    if not reason:
        try:
            add_compiled()
        except Exception as error:  # for example, a compiler without the required headers
            reason = str(error).strip().split("\n")[0]
    if reason:
        print(f"torch compiled is left out: {reason}", file=sys.stderr)
    return steps, allocations


def jax_rows(step, cell, model, table):
    import jax
    import jax.numpy as jnp

    array = lambda values: jnp.array(values, jnp.float32)
    batch = [array(step[key]) for key in BATCH]
    value_and_grad = jax.value_and_grad(make_loss(jnp, jax.nn, step))
    advance = make_step(jnp, value_and_grad, array([[1], [1], [-1]]), step)
    start = array(step["parameters"])
    state = (start, jnp.zeros_like(start), jnp.zeros_like(start), jnp.float32(0))
    after, value = jax.jit(advance)(state, batch)
    check_step("jax", step, value, after[1] / (1 - step["beta1"]), after[0])

    # Use a batch for each step, as in training, so that JAX cannot compute anything once for all steps.
    batches = [jnp.tile(values, (STEPS, 1, 1)) for values in batch]
    scan = jax.jit(lambda state, batches: jax.lax.scan(advance, state, batches))
    steps = {"jax_scan": lambda: jax.block_until_ready(scan(state, batches))}

    weights = array(model.parameters[:2])
    law = [tuple(map(array, layer)) for layer in model.layers]
    linear = lambda values, weights, biases: values @ weights.T + biases
    gains, allocations = array(cell["gains"]), {}
    for name, function, law in [
        ("jax", make_law(jnp, jax.nn, linear, model.size_input(USERS)), law),
        ("jax_table", make_table(jnp), array(table)),
    ]:
        allocate = jax.jit(make_allocate(jnp, jax.nn, function, model))
        check_allocation(name, cell, allocate(gains, weights, law))
        allocations[name] = lambda allocate=allocate, law=law: jax.block_until_ready(allocate(gains, weights, law))
    return steps, allocations


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "p-gnn.safetensors")
        run("train", "urllc", "--method", "p-gnn", "--seed", "1", "--out", path, "--json")
        model = Model(path)
        step, cell = training_step(model), allocation(model, path)
    (figures,) = run("bench", "--json")
    table = model.outer(np.linspace(LOW, HIGH, PIECES + 1), USERS)

    steps, allocations = {}, {}
    for rows in (torch_rows, jax_rows):
        for to, new in zip((steps, allocations), rows(step, cell, model, table)):
            to.update(new)
    tasks = {
        "step": ("training step, batch 10, K = 10", steps, figures["train_step_us"]),
        "allocate": (f"allocation by P-GNN, K = {USERS}", allocations, figures["allocate_us_k200"]),
    }
    result = {}
    for task, (_, rows, ours) in tasks.items():
        result[f"anyk_{task}_us"] = ours
        for name, call in rows.items():
            us = median_us(call) / (STEPS if name == "jax_scan" else 1)
            result[f"{name}_{task}_us"] = us
            result[f"{name}_{task}_over_anyk"] = us / ours
    if "--json" in sys.argv:
        print(json.dumps(result))
        return
    for task, (title, rows, ours) in tasks.items():
        print(f"{title}, one thread")
        print(f"{'':24}{'µs':>12}{'times anyk':>14}")
        print(f"{'anyk':24}{ours:12.1f}{1:14.1f}")
        for name in rows:
            us, ratio = result[f"{name}_{task}_us"], result[f"{name}_{task}_over_anyk"]
            print(f"{name.replace('_', ' '):24}{us:12.1f}{ratio:14.1f}")
        print()


if __name__ == "__main__":
    main()
