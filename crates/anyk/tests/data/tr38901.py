"""Losses, shadowing and line of sight of 3GPP TR 38.901 (V16.1.0, tables 7.4.1-1 and 7.4.2-1), for the tests.

Each formula is written as in the standard, with its symbols, and shares no code with the library. The results were
compared once with Sionna 2.2.0, with c = 3e8 m/s in its breakpoints. The losses are equal, and so are the probabilities,
except for UMa at exactly 18 m, which counts as near in the standard. To generate the file:

    python3 crates/anyk/tests/data/tr38901.py > crates/anyk/tests/data/tr38901.csv
"""

from math import exp, log, log10, pi, sqrt

C = 3.0e8


def uma(fc, d2, hbs, hut, los):
    d3 = sqrt(d2**2 + (hbs - hut) ** 2)
    he = 1.0
    dbp = 4 * (hbs - he) * (hut - he) * (fc * 1e9) / C
    pl1 = 28.0 + 22 * log10(d3) + 20 * log10(fc)
    pl2 = 28.0 + 40 * log10(d3) + 20 * log10(fc) - 9 * log10(dbp**2 + (hbs - hut) ** 2)
    pl_los = pl1 if d2 <= dbp else pl2
    if los:
        return pl_los, 4.0
    return max(pl_los, 13.54 + 39.08 * log10(d3) + 20 * log10(fc) - 0.6 * (hut - 1.5)), 6.0


def umi(fc, d2, hbs, hut, los):
    d3 = sqrt(d2**2 + (hbs - hut) ** 2)
    he = 1.0
    dbp = 4 * (hbs - he) * (hut - he) * (fc * 1e9) / C
    pl1 = 32.4 + 21 * log10(d3) + 20 * log10(fc)
    pl2 = 32.4 + 40 * log10(d3) + 20 * log10(fc) - 9.5 * log10(dbp**2 + (hbs - hut) ** 2)
    pl_los = pl1 if d2 <= dbp else pl2
    if los:
        return pl_los, 4.0
    return max(pl_los, 35.3 * log10(d3) + 22.4 + 21.3 * log10(fc) - 0.3 * (hut - 1.5)), 7.82


def rma(fc, d2, hbs, hut, w, h, los):
    d3 = sqrt(d2**2 + (hbs - hut) ** 2)
    dbp = 2 * pi * hbs * hut * (fc * 1e9) / C

    def pl1(d):
        return (
            20 * log10(40 * pi * d * fc / 3)
            + min(0.03 * h**1.72, 10) * log10(d)
            - min(0.044 * h**1.72, 14.77)
            + 0.002 * log10(h) * d
        )

    if d2 <= dbp:
        pl_los, sigma = pl1(d3), 4.0
    else:
        pl_los, sigma = pl1(dbp) + 40 * log10(d3 / dbp), 6.0
    if los:
        return pl_los, sigma
    pl_nlos = (
        161.04
        - 7.1 * log10(w)
        + 7.5 * log10(h)
        - (24.37 - 3.7 * (h / hbs) ** 2) * log10(hbs)
        + (43.42 - 3.1 * log10(hbs)) * (log10(d3) - 3)
        + 20 * log10(fc)
        - (3.2 * (log10(11.75 * hut)) ** 2 - 4.97)
    )
    return max(pl_los, pl_nlos), 8.0


def inf(kind, fc, d2, hbs, hut, los):
    d3 = sqrt(d2**2 + (hbs - hut) ** 2)
    pl_los = 31.84 + 21.50 * log10(d3) + 19.00 * log10(fc)
    if los:
        return pl_los, 4.3
    pl_sl = max(33 + 25.5 * log10(d3) + 20 * log10(fc), pl_los)
    if kind == "sl":
        return pl_sl, 5.7
    if kind == "dl":
        return max(18.6 + 35.7 * log10(d3) + 20 * log10(fc), pl_los, pl_sl), 7.2
    if kind == "sh":
        return max(32.4 + 23.0 * log10(d3) + 20 * log10(fc), pl_los), 5.9
    return max(33.63 + 21.9 * log10(d3) + 20 * log10(fc), pl_los), 4.0


def sight_uma(d2, hut):
    if d2 <= 18:
        return 1.0
    c = 0.0 if hut <= 13 else ((hut - 13) / 10) ** 1.5
    street = 18 / d2 + exp(-d2 / 63) * (1 - 18 / d2)
    return street * (1 + c * 5 / 4 * (d2 / 100) ** 3 * exp(-d2 / 150))


def sight_umi(d2):
    return 1.0 if d2 <= 18 else 18 / d2 + exp(-d2 / 36) * (1 - 18 / d2)


def sight_rma(d2):
    return 1.0 if d2 <= 10 else exp(-(d2 - 10) / 1000)


def sight_inf(kind, d2, hbs, hut, r, size, hc):
    k = -size / log(1 - r)
    if kind in ("sh", "dh"):
        k = k * (hbs - hut) / (hc - hut)
    return exp(-d2 / k)


def row(name, fc, d2, hbs, hut, w, h, r, size, hc, los_nlos, probability):
    (los, sigma_los), (nlos, sigma_nlos) = los_nlos
    numbers = [fc, d2, hbs, hut, w, h, r, size, hc, los, sigma_los, nlos, sigma_nlos, probability]
    print(",".join([name] + [repr(float(number)) for number in numbers]))


def both(loss):
    return loss(True), loss(False)


def main():
    print("scenario,fc,d,hbs,hut,w,h,r,size,hc,los_db,los_sigma,nlos_db,nlos_sigma,los_probability")
    # Both sides of the breakpoints (160 m at 2 GHz to 11 km at 28 GHz), and the ends of the ranges.
    distances = [10, 17.5, 18, 35, 100, 333, 1000, 2345.6, 5000]
    for d2 in distances:
        for fc in [0.5, 2, 3.5, 28, 100]:
            for hut in [1.5, 4.5, 13, 22.5]:
                losses = both(lambda los: uma(fc, d2, 25, hut, los))
                row("uma", fc, d2, 25, hut, 0, 0, 0, 0, 0, losses, sight_uma(d2, hut))
                losses = both(lambda los: umi(fc, d2, 10, hut, los))
                row("umi", fc, d2, 10, hut, 0, 0, 0, 0, 0, losses, sight_umi(d2))
        for fc in [0.5, 0.7, 3.5, 30]:
            for hbs, hut, w, h in [(35, 1.5, 20, 5), (10, 1, 5, 50), (150, 10, 50, 12), (60, 3, 33, 7)]:
                losses = both(lambda los: rma(fc, d2, hbs, hut, w, h, los))
                row("rma", fc, d2, hbs, hut, w, h, 0, 0, 0, losses, sight_rma(d2))
    for d2 in [2, 10, 50, 123.4, 599]:
        for fc in [0.5, 3.5, 28, 100]:
            for kind, hbs, hut, r, size, hc in [
                ("sl", 1.5, 1.5, 0.2, 10, 2),
                ("sl", 3, 1, 0.39, 7, 4),
                ("dl", 1.5, 1.5, 0.6, 2, 6),
                ("dl", 5, 1, 0.8, 3, 8),
                ("sh", 8, 1.5, 0.2, 10, 2),
                ("sh", 12, 0.5, 0.1, 5, 3),
                ("dh", 8, 1.5, 0.6, 2, 6),
                ("dh", 20, 2, 0.45, 4, 9),
            ]:
                losses = both(lambda los: inf(kind, fc, d2, hbs, hut, los))
                chance = sight_inf(kind, d2, hbs, hut, r, size, hc)
                row("inf-" + kind, fc, d2, hbs, hut, 0, 0, r, size, hc, losses, chance)


if __name__ == "__main__":
    main()
