"""Check the answers of the program for random cells with a separate implementation of the paper's formulas.

    python check.py PROGRAM [COUNT] [SEED]

The checker shares only the problem statements with the program. It has its own integration over fading
(Gauss-Legendre panels) and its own root finding. From the program's output it uses only powers, bandwidths and the
claims to be checked.
"""

import json
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from math import lgamma, log
from statistics import NormalDist

import numpy as np

LOSS = 1e-6  # tolerance: relative distance of a loss from its target at an optimum
BUDGET = 1e-9
POWER = 1e-7  # tolerance: relative distance of a minimum power from the checker's
BETTER = 1e-8  # tolerance: relative improvement by a perturbation of an optimum
PRICE = 1e-5  # tolerance: relative spread of the prices of power, away from the fold

X, W = np.polynomial.legendre.leggauss(16)


def fading(antennas):
    """Return nodes g and logarithms of weights for g ~ Gamma(antennas, 1).

    The rule has panels in ln g that leave out at most 1e-60 of the probability. Panels are short around the mean, and
    longer where the density is nearly a power of g.
    """
    knee, high = log(antennas) - 2.5, log(antennas + 14.0 * antennas**0.5 + 60.0)
    tail = np.arange(knee, -140.0 / antennas - 6.0, -min(4.0, 10.0 / antennas))[::-1]
    edges = np.append(tail, np.linspace(knee, high, int(14 + 4 * antennas**0.5))[1:])
    half = 0.5 * np.diff(edges)[:, None]
    t = (0.5 * (edges[1:] + edges[:-1])[:, None] + half * X).ravel()
    return np.exp(t), antennas * t - np.exp(t) - lgamma(antennas) + np.log((half * W).ravel())


class Cell:
    """Demands of the users of one cell, as arrays over users."""

    def __init__(self, config, users):
        self.config, self.ids = config, [user["id"] for user in users]
        gain_db = lambda u: u.get("gain_db", -config["path-loss-intercept-db"] - config["path-loss-slope-db"]
                                  * np.log10(u.get("distance_m", 1.0)))
        own = lambda name, key: np.array([user.get(key, config[name]) for user in users])
        self.gain = 10.0 ** (np.array([gain_db(user) for user in users]) / 10.0)
        self.epsilon, self.bits = own("epsilon", "epsilon"), own("packet-bits", "packet_bits")
        self.arrivals = own("arrival-rate", "arrival_rate")
        self.tau, self.noise = config["transmission-ms"] * 1e-3, 10.0 ** (config["noise-density-dbm-hz"] / 10 - 3)
        self.budget = 10.0 ** (config["max-power-dbm"] / 10 - 3)
        self.nodes, self.ln_weights = fading(config["antennas"])

    def only(self, keep):
        part = Cell.__new__(Cell)
        part.__dict__.update(self.__dict__)
        part.ids = [self.ids[i] for i in keep]
        for name in ("gain", "epsilon", "bits", "arrivals"):
            setattr(part, name, getattr(self, name)[keep])
        return part

    def margin(self, received, bandwidth, epsilon=None, users=slice(None)):
        """Return theta (C^E - S^E) and its derivatives by ln u and ln B; see (P1a), sections IV-B and V-A."""
        epsilon = self.epsilon[users] if epsilon is None else epsilon
        frames = self.config["queueing-delay-ms"] / self.config["frame-ms"]
        theta = np.log1p(-np.log(epsilon / 2) / (self.arrivals[users] * frames))
        demand = self.arrivals[users] * np.expm1(theta)  # theta S^E
        quantile = -np.array([NormalDist().inv_cdf(e / 2) for e in np.broadcast_to(epsilon, theta.shape)])
        uses = self.tau * bandwidth
        slope = theta / (self.bits[users] * log(2)) * uses  # theta s = slope [ln(1 + snr g) - back-off/slope]
        back_off = slope * quantile / np.sqrt(uses)
        snr = (received / (self.noise * bandwidth))[:, None] * self.nodes
        rate = np.log1p(snr)
        exponent = self.ln_weights - slope[:, None] * rate
        top = exponent.max(axis=1, keepdims=True)
        tilted = np.exp(exponent - top)
        total = tilted.sum(axis=1)
        share = (tilted * (snr / (1 + snr))).sum(axis=1) / total
        value = -(np.log(total) + top[:, 0]) - back_off - demand
        return value, slope * share, slope * ((tilted * rate).sum(axis=1) / total - share) - back_off / 2

    def losses(self, received, bandwidth):
        """Return the epsilon at which the margin is 0, by the secant method in ln epsilon, starting near the target."""
        here, there = np.log(self.epsilon), np.log(self.epsilon) - 1e-3
        before = self.margin(received, bandwidth, np.exp(there))[0]
        for _ in range(30):
            value = self.margin(received, bandwidth, np.exp(here))[0]
            step = np.where(value == before, 0.0, np.clip(-value * (here - there) / (value - before), -1.0, 1.0))
            here, there, before = np.minimum(here + step, -0.1), here, value
            if np.all(np.abs(step) < 1e-10):
                break
        return np.exp(here)

    def bandwidth(self, received, start):
        """Return the bandwidth that a received power needs, by Newton's method from a start close to the solution."""
        ln_b = np.log(start)
        for _ in range(40):
            value, _, by_b = self.margin(received, np.exp(ln_b))
            step = np.clip(-value / np.where(by_b > 0, by_b, np.nan), -0.3, 0.3)
            ln_b += step
            if not np.any(np.abs(step) > 1e-13):
                break
        return np.exp(ln_b)  # NaN beyond the fold, where there is no solution

    def received(self, bandwidth, start, users=slice(None)):
        """Return the received power that a bandwidth needs.

        Newton's method in ln u converges, because the margin is increasing and concave in ln u.
        """
        ln_u = np.log(start)
        for _ in range(60):
            value, by_u, _ = self.margin(np.exp(ln_u), bandwidth, users=users)
            step = np.clip(-value / by_u, -2.0, 2.0)
            ln_u += step
            if np.all(np.abs(step) < 1e-13):
                break
        return np.exp(ln_u)

    def folds(self):
        """Return the minimum received power of each user over all bandwidths, and its bandwidth, by a grid search."""
        found, known = [], self.config.setdefault("folds", {})
        for i, key in enumerate(zip(self.epsilon, self.bits, self.arrivals)):
            if key not in known:
                grid, start = np.linspace(log(1e-2 / self.tau), log(1e7 / self.tau), 24), self.noise / self.tau
                for _ in range(9):
                    powers = self.received(np.exp(grid), np.full(len(grid), start), np.full(len(grid), i))
                    best = int(np.argmin(powers))
                    start = powers[best]
                    known[key] = start, np.exp(grid[best])
                    grid = np.linspace(grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)], 8)
            found.append(known[key])
        return np.array(found).T


def check_urllc(cell, answer, rng):
    least, _ = cell.folds()
    need = least / cell.gain
    if answer["status"] == "infeasible":
        assert need.sum() > cell.budget * (1 - POWER), "called infeasible, but the budget suffices"
        assert abs(answer["required_power_w"] / need.sum() - 1) < POWER, "required power"
        order = np.argsort(need)
        fitting = int(np.sum(np.cumsum(need[order]) < cell.budget))
        assert answer["admissible_count"] == fitting, f"{fitting} users fit"
        if answer["admissible"]:
            keep = [cell.ids.index(user["id"]) for user in answer["admissible"]["users"]]
            assert len(keep) == fitting and len(set(keep)) == fitting
            check_urllc(cell.only(keep), answer["admissible"], rng)
        return
    assert need.sum() < cell.budget * (1 + POWER), "served, but the budget does not suffice"
    power, band = allocation(cell, answer)
    assert power.sum() <= cell.budget * (1 + BUDGET), "over the budget"
    assert abs(answer["total_bandwidth_hz"] / band.sum() - 1) < BUDGET
    if answer["status"] != "optimal":
        return
    assert power.sum() >= cell.budget * (1 - BUDGET), "power is left"
    check_losses(cell, power, band, answer)
    _, by_u, by_b = cell.margin(cell.gain * power, band)
    price = band / power * by_u / by_b
    away = power > need * 1.01
    if away.any():
        assert np.ptp(price[away]) < PRICE * price[away].max(), f"prices {np.ptp(price[away]) / price[away].max():.1e}"
    for size in (0.3, 0.03, 0.003):
        other = need + (power - need) * np.exp(size * rng.standard_normal(len(power)))
        other = need + (other - need) * (cell.budget - need.sum()) / (other - need).sum()
        bands = cell.bandwidth(cell.gain * other, band)
        assert not bands.sum() < band.sum() * (1 - BETTER), f"other powers need {bands.sum() / band.sum() - 1:.1e}"


def check_urllc_power(cell, answer, rng):
    least, widest = cell.folds()
    if answer["status"] == "infeasible":
        return
    power, band = allocation(cell, answer)
    total = cell.config["max-bandwidth-hz"]
    assert band.sum() <= total * (1 + BUDGET), "over the band"
    if answer["status"] != "optimal":
        return
    check_losses(cell, power, band, answer)
    spare = widest.sum() < total
    assert spare or band.sum() >= total * (1 - 1e-6), "band is left"
    if spare:
        assert abs(power.sum() / (least / cell.gain).sum() - 1) < 1e-6, "more than the least power"
        return
    for size in (0.3, 0.03, 0.003):
        other = band * np.exp(size * rng.standard_normal(len(band)))
        other = np.minimum(other * total / other.sum(), widest)
        powers = cell.received(other, cell.gain * power) / cell.gain
        assert powers.sum() >= power.sum() * (1 - BETTER), f"other bands need {powers.sum() / power.sum() - 1:.1e}"


def check_qos_power(cell, answer, _):
    rate, band = cell.config["rate-bps"], cell.config["bandwidth-hz"]
    least = cell.noise * band * np.expm1(rate / band * log(2)) / cell.gain
    power = np.array([user["power_w"] for user in answer["users"]])
    assert answer["status"] == "optimal" and np.all(np.abs(power / least - 1) < 1e-11), "not the closed form"


def check_equal_bandwidth(cell, answer, _):
    rate = cell.config["rate-bps"]
    need = cell.noise * rate * log(2) / cell.gain  # over an infinite band
    if answer["status"] == "infeasible":
        assert need.sum() > cell.budget * (1 - 1e-9), "called infeasible, but the budget suffices"
        fitting = int(np.sum(np.cumsum(np.sort(need)) < cell.budget))
        assert answer["admissible_count"] == fitting, f"{fitting} users fit"
        return
    power, band = np.array([user["power_w"] for user in answer["users"]]), answer["bandwidth_hz"]
    assert abs(power.sum() / cell.budget - 1) < BUDGET, "budget"
    # One bandwidth for all, every rate exact and the whole budget used determine the answer uniquely.
    rates = band * np.log1p(cell.gain * power / (cell.noise * band)) / log(2)
    assert np.all(np.abs(rates / rate - 1) < 1e-8), "rates"


def allocation(cell, answer):
    assert [user["id"] for user in answer["users"]] == cell.ids, "users in another order"
    return tuple(np.array([user[name] for user in answer["users"]]) for name in ("power_w", "bandwidth_hz"))


def check_losses(cell, power, band, answer):
    losses = cell.losses(cell.gain * power, band)
    off = np.abs(losses / cell.epsilon - 1).max()
    assert off < LOSS, f"a loss is off its target by {off:.1e}"
    claimed = np.array([user["packet_loss"] for user in answer["users"]])
    assert np.all(np.abs(claimed / losses - 1) < LOSS), "claimed losses"


SERVICE = ("antennas", "epsilon", "packet-bits", "arrival-rate", "frame-ms", "transmission-ms", "queueing-delay-ms")
RADIO = ("noise-density-dbm-hz", "path-loss-intercept-db", "path-loss-slope-db")
# Section and field in the file for --config of the parameters without a flag.
FILE = {
    "frame-ms": ("frame", "frame_ms"), "transmission-ms": ("frame", "transmission_ms"),
    "path-loss-intercept-db": ("path_loss", "intercept_db"), "path-loss-slope-db": ("path_loss", "slope_db"),
}
PROBLEMS = {
    "urllc": (check_urllc, SERVICE + RADIO + ("max-power-dbm",)),
    "urllc-power": (check_urllc_power, SERVICE + RADIO + ("max-bandwidth-hz",)),
    "qos-power": (check_qos_power, RADIO + ("rate-bps", "bandwidth-hz")),
    "equal-bandwidth": (check_equal_bandwidth, RADIO + ("max-power-dbm", "rate-bps")),
}


def draw(rng):
    """Draw a configuration and the users of two cells."""
    decades = lambda low, high: float(10.0 ** rng.uniform(low, high))
    frame, k = float(rng.choice([0.05, 0.1, 0.25])), int(rng.integers(1, 51))
    config = {
        "antennas": int(rng.integers(1, 17)), "max-power-dbm": float(rng.uniform(20, 50)),
        "noise-density-dbm-hz": float(rng.uniform(-175, -150)), "epsilon": decades(-7, -3),
        "packet-bits": decades(1.3, 3.3), "arrival-rate": decades(-2, 0.3), "frame-ms": frame,
        "transmission-ms": frame * float(rng.uniform(0.2, 1)), "queueing-delay-ms": frame * float(rng.uniform(1, 20)),
        "path-loss-intercept-db": float(rng.uniform(25, 45)), "path-loss-slope-db": float(rng.uniform(20, 45)),
        "max-bandwidth-hz": k * decades(4.7, 6.3), "rate-bps": decades(4, 7), "bandwidth-hz": decades(5, 7),
    }
    classes = [{"epsilon": decades(-7, -3), "packet_bits": decades(1.3, 3.3), "arrival_rate": decades(-2, 0.3)}
               for _ in range(int(rng.integers(0, 4)))] + [{}]
    radius = float(rng.uniform(60, 1000))

    def user(i, mixed):
        place = {"distance_m": float(rng.uniform(10, radius))} if rng.random() < 0.8 else \
            {"gain_db": float(rng.uniform(-130, -60))}
        return {"id": f"u{i}", **place, **(classes[rng.integers(len(classes))] if mixed else {})}

    cells = [[user(i, True) for i in range(k)], [user(i, False) for i in range(int(rng.integers(1, 6)))]]
    return config, cells


def ask(program, problem, config, cells):
    command = [program, "solve", problem, "--json", "--input", "-"]
    text = "\n".join(json.dumps({"users": users}) for users in cells)
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        for name in PROBLEMS[problem][1]:
            if name in FILE:
                file.write("{}.{} = {!r}\n".format(*FILE[name], config[name]))
            else:
                command += [f"--{name}", repr(config[name])]
        file.flush()
        command += ["--config", file.name]
        done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=300)
    if done.returncode not in (0, 3):
        raise AssertionError(f"exit {done.returncode}: {done.stderr}")
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    infeasible = any(answer["status"] == "infeasible" for answer in answers)
    if len(answers) != len(cells) or (done.returncode == 3) != infeasible:
        raise AssertionError(f"exit {done.returncode}, {len(answers)} answers")
    return answers


def main():
    program, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    print(f"{count} configurations, seed {seed}")
    kinds, failures = {}, 0
    configurations = [draw(np.random.default_rng([seed, i])) for i in range(count)]
    plain = [[{key: user[key] for key in user if key in ("id", "distance_m", "gain_db")} for user in cells[0]]
             for _, cells in configurations]  # the closed forms have no service classes

    def one(i, problem):
        config, cells = configurations[i]
        cells = cells if problem.startswith("urllc") else [plain[i]]
        return cells, ask(program, problem, config, cells)

    with ThreadPoolExecutor(2) as pool:
        asked = [(i, problem, pool.submit(one, i, problem)) for i in range(count) for problem in PROBLEMS]
        for i, problem, answered in asked:
            try:
                cells, answers = answered.result()
                for users, answer in zip(cells, answers):
                    kinds[problem, answer["status"]] = kinds.get((problem, answer["status"]), 0) + 1
                    with np.errstate(all="ignore"):
                        PROBLEMS[problem][0](Cell(configurations[i][0], users), answer, np.random.default_rng(i))
            except (AssertionError, KeyError, ValueError) as error:
                failures += 1
                config = {name: value for name, value in configurations[i][0].items() if name != "folds"}
                print(f"FAILED: {problem}, configuration {i} of seed {seed}: {error!r}\n  {config}")
    for (problem, status), cells in sorted(kinds.items()):
        print(f"{problem:16} {status:12} {cells:6} cells")
    print(f"{failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
