"""Compare the speed of the exact optimum of (P1) with Python code for the same cell of K = 200 users.

`cargo xtask compare` runs this script. There are two Python versions:

scipy   Vectorized NumPy and scipy.optimize without tables. Newton's method on the quadrature gives b(u) for all
        users at once, the secant method gives the power of each user at a price, and brentq gives the price.
tables  The method of AnyK in Python. Splines of ln b and of the response to a price are made beforehand (not
        timed), then brentq gives the price.

Both must agree with AnyK; otherwise the comparison is void.
"""

import json
import subprocess
import sys
import time

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.optimize import brentq
from scipy.special import erfcinv, roots_genlaguerre

ANYK = sys.argv[1]
K = 200

# The paper's cell (section V-A).
P_MAX = 10 ** ((43 - 30) / 10)
N_0 = 10 ** ((-173 - 30) / 10)
TAU, FRAMES, EPSILON, BITS, RATE, ANTENNAS = 0.05e-3, 8.0, 1e-5, 160.0, 0.2, 8
THETA = np.log1p(-np.log(EPSILON / 2) / (RATE * FRAMES))
DEMAND = RATE * np.expm1(THETA)
KAPPA = THETA / (BITS * np.log(2))
Q = np.sqrt(2) * erfcinv(EPSILON)
G, W = roots_genlaguerre(64, ANTENNAS - 1)
W = W / W.sum()


def margin(ln_u, ln_b):
    """Return the margin M and its derivatives with respect to ln b and ln u for arrays of users."""
    z = TAU * np.exp(ln_b)
    x = np.exp(ln_u - ln_b) / N_0
    y = x[:, None] * G
    l, r = np.log1p(y), y / (1 + y)
    c = KAPPA * z
    term = W * np.exp(-c[:, None] * l)
    total = term.sum(1)
    mean_l, mean_r = (term * l).sum(1) / total, (term * r).sum(1) / total
    back_off = KAPPA * Q * np.sqrt(z)
    return -np.log(total) - back_off - DEMAND, c * (mean_l - mean_r) - back_off / 2, c * mean_r


def bandwidth(ln_u, ln_b):
    """Return ln b(u) and its derivative, by Newton's method from a first guess."""
    for _ in range(50):
        value, by_b, by_u = margin(ln_u, ln_b)
        step = -value / by_b
        ln_b = ln_b + np.clip(step, -0.5, 0.5)
        if np.abs(step).max() < 1e-10:
            break
    return ln_b, -by_u / by_b


def solve_scipy(gains):
    state = {"ln_u": np.log(gains * P_MAX / len(gains)), "ln_b": np.full(len(gains), np.log(2e5))}

    def powers(ln_price):
        # Solve −b'(u) = price/α, that is ln b − ln u + ln(−d ln b/d ln u) = ln(price/α), by the secant method in ln u.
        target = ln_price - np.log(gains)
        ln_u, ln_b = state["ln_u"], state["ln_b"]

        def miss(ln_u):
            nonlocal ln_b
            ln_b, slope = bandwidth(ln_u, ln_b)
            return ln_b - ln_u + np.log(-slope) - target

        before, here = ln_u, ln_u + 0.01
        miss_before, miss_here = miss(before), miss(here)
        for _ in range(30):
            change = miss_here - miss_before
            step = np.where(np.abs(change) > 1e-15, -miss_here * (here - before) / np.where(change == 0, 1, change), 0)
            before, miss_before = here, miss_here
            here = here + np.clip(step, -1, 1)
            miss_here = miss(here)
            if np.abs(miss_here).max() < 1e-9:
                break
        state["ln_u"], state["ln_b"] = here, ln_b
        return np.exp(here) / gains

    start = np.log(4e3 * len(gains) / 5)
    ln_price = brentq(lambda p: np.log(powers(p).sum() / P_MAX), start - 4, start + 4, xtol=1e-10)
    power = powers(ln_price)
    return power, np.exp(bandwidth(np.log(gains * power), state["ln_b"])[0])


def make_tables():
    ln_u = np.linspace(np.log(6e-15), np.log(1e-7), 4000)
    ln_b, slope = bandwidth(ln_u, np.full(len(ln_u), np.log(1e5)))
    ln_price = ln_b - ln_u + np.log(-slope)
    return CubicSpline(ln_u, ln_b), CubicSpline(ln_price[::-1], ln_u[::-1])


def solve_tables(gains, tables):
    ln_b, response = tables
    ln_gain = np.log(gains)

    def powers(ln_price):
        return np.exp(response(ln_price - ln_gain) - ln_gain)

    start = np.log(4e3 * len(gains) / 5)
    ln_price = brentq(lambda p: np.log(powers(p).sum() / P_MAX), start - 4, start + 4, xtol=1e-10)
    power = powers(ln_price)
    return power, np.exp(ln_b(np.log(gains * power)))


def median_us(call, seconds):
    call()
    times, started = [], time.perf_counter()
    while len(times) < 3 or time.perf_counter() - started < seconds:
        before = time.perf_counter()
        call()
        times.append(time.perf_counter() - before)
    return 1e6 * sorted(times)[len(times) // 2]


def main():
    cell = subprocess.run([ANYK, "sample", "urllc", "--k", str(K), "--seed", "1"], capture_output=True, check=True).stdout
    ours = json.loads(subprocess.run([ANYK, "solve", "urllc", "--input", "-", "--json"], input=cell, capture_output=True, check=True).stdout)
    distances = np.array([user["distance_m"] for user in json.loads(cell)["users"]])
    gains = 10 ** (-(35.3 + 37.6 * np.log10(distances)) / 10)
    figures = json.loads(subprocess.run([ANYK, "bench", "--json"], capture_output=True, check=True).stdout)

    tables = make_tables()
    rows = {"scipy": lambda: solve_scipy(gains), "tables": lambda: solve_tables(gains, tables)}
    result = {"k": K, "anyk_us": figures["solve_us_k200"]}
    for name, call in rows.items():
        power, band = call()
        off = abs(band.sum() / ours["total_bandwidth_hz"] - 1)
        if off > 1e-7 or abs(power.sum() / P_MAX - 1) > 1e-7:
            sys.exit(f"{name}: total bandwidth is off by {off:.1e}: the comparison is void")
        result[f"{name}_us"] = median_us(call, 3)
        result[f"{name}_over_anyk"] = result[f"{name}_us"] / result["anyk_us"]
        result[f"{name}_disagreement"] = off
    if "--json" in sys.argv:
        print(json.dumps(result))
        return
    print(f"exact optimum, K = {K}, one thread")
    print(f"{'':10}{'µs':>12}{'times anyk':>14}{'disagreement':>16}")
    print(f"{'anyk':10}{result['anyk_us']:12.1f}{1:14.1f}")
    for name in rows:
        print(f"{name:10}{result[name + '_us']:12.1f}{result[name + '_over_anyk']:14.1f}{result[name + '_disagreement']:16.1e}")


main()
