#!/usr/bin/env python3
"""Give every user of URLLC the same power and the bandwidth that it requires, in plain Python.

Reads a cell on each line of standard input and writes an allocation on each line of standard output:

    anyk evaluate --problem urllc 'cmd:python3 examples/policies/equal_power.py' --k 1,10,100

The cell is the paper's (section V-A). The bandwidth comes from a table, whose entries are computed by bisection of
the QoS constraint. A margin of 0.1 % covers the points between the entries.
"""

import json
import math
import sys

POWER_W = 10 ** ((43 - 30) / 10)  # P_max of all users together
NOISE_W_HZ = 10 ** ((-173 - 30) / 10)
TRANSMISSION_S = 0.05e-3
DELAY_FRAMES = 8
ANTENNAS = 8
EPSILON, PACKET_BITS, ARRIVALS = 1e-5, 160, 0.2

THETA = math.log1p(-math.log(EPSILON / 2) / (ARRIVALS * DELAY_FRAMES))
DEMAND = ARRIVALS * math.expm1(THETA)  # θ·S^E, nats in a frame
KAPPA = THETA / (PACKET_BITS * math.log(2))
QUANTILE = 4.417173413469  # of the normal distribution, at ε/2

# g is Gamma(8, 1). The trapezoidal rule works well in ln g: the density is smooth and decays fast on both sides.
NODES = [-6 + 0.1 * i for i in range(101)]
GAINS = [math.exp(t) for t in NODES]
WEIGHTS = [0.1 * math.exp(ANTENNAS * t - math.exp(t)) / math.factorial(ANTENNAS - 1) for t in NODES]


def margin(received_w, bandwidth_hz):
    """Return by how much the link exceeds the demand of the traffic, in nats; the QoS holds if it is not negative."""
    uses = TRANSMISSION_S * bandwidth_hz
    snr = received_w / (NOISE_W_HZ * bandwidth_hz)
    mean = sum(w * (1 + snr * g) ** (-KAPPA * uses) for g, w in zip(GAINS, WEIGHTS))
    return -math.log(mean) - KAPPA * QUANTILE * math.sqrt(uses) - DEMAND


def bandwidth(received_w):
    """Return the minimum bandwidth that meets the QoS, or None if no bandwidth does."""
    low, high = 1e3, 1e3
    while margin(received_w, high) < 0:
        high *= 1.2
        if high > 1e8:
            return None
    for _ in range(50):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if margin(received_w, middle) >= 0 else (middle, high)
    return high


STEP = 0.005  # of ln u
TABLE = {}


def looked_up(received_w):
    """Return a sufficient bandwidth: that of the next smaller received power in the table, plus the margin."""
    index = math.floor(math.log(received_w) / STEP)
    if index not in TABLE:
        TABLE[index] = bandwidth(math.exp(index * STEP))
    found = TABLE[index]
    return None if found is None else 1.001 * found


def gain(user):
    if "gain_db" in user:
        return 10 ** (user["gain_db"] / 10)
    return 10 ** (-(35.3 + 37.6 * math.log10(user["distance_m"])) / 10)


for line in sys.stdin:
    users = json.loads(line)["users"]
    power_w = POWER_W / len(users)
    answer = []
    for user in users:
        bandwidth_hz = looked_up(gain(user) * power_w)
        answer.append({"id": user["id"], "power_w": power_w, "bandwidth_hz": bandwidth_hz or 0.0})
    print(json.dumps({"users": answer}), flush=True)
