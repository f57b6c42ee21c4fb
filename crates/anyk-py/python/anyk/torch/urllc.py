"""QoS constraint of (P1) for training, evaluated on draws of fading."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import torch
from torch import Tensor


@dataclass(frozen=True)
class UrllcService:
    """Service class of a user and parameters of the frame; the defaults are those of the paper (section V-A).

    ======  =========================  ==============
    symbol  field                      unit
    ======  =========================  ==============
    ε       ``epsilon``                probability
    μ       ``packet_bits``            bit
    a       ``arrival_rate``           packets/frame
    T_f     ``frame_ms``               ms
    τ       ``transmission_ms``        ms
    D       ``queueing_delay_ms``      ms
    N_0     ``noise_density_dbm_hz``   dBm/Hz
    N_t     ``antennas``
    ======  =========================  ==============

    ``max_spectral_efficiency`` (bit/s/Hz) limits the rate in each fading state; None means that there is no limit.

    The fields have the names of the program's options and of the arguments of ``anyk.required_bandwidth``.
    """

    epsilon: float = 1e-5
    packet_bits: float = 160.0
    arrival_rate: float = 0.2
    frame_ms: float = 0.1
    transmission_ms: float = 0.05
    queueing_delay_ms: float = 0.8
    noise_density_dbm_hz: float = -173.0
    antennas: int = 8
    max_spectral_efficiency: float | None = None

    @property
    def theta(self) -> float:
        """QoS exponent ``θ = ln[1 − ln(ε/2)/(a·D/T_f)]``, 1/packet."""
        return math.log1p(-math.log(self.epsilon / 2) / (self.arrival_rate * self.queueing_delay_ms / self.frame_ms))

    @property
    def effective_bandwidth(self) -> float:
        """Effective bandwidth ``S^E = a/θ·(e^θ − 1)``, packets/frame."""
        return self.arrival_rate / self.theta * math.expm1(self.theta)

    @property
    def decoding_quantile(self) -> float:
        """Decoding quantile ``Q_G⁻¹(ε/2)``."""
        return -NormalDist().inv_cdf(self.epsilon / 2)

    @property
    def kappa(self) -> float:
        """Exponent per channel use, ``κ = θ/(μ ln 2)``."""
        return self.theta / (self.packet_bits * math.log(2))

    @property
    def context(self) -> tuple[float, float, float, float]:
        """Context of the price policy: logarithms of ``N_t``, ``κ``, ``Q_G⁻¹(ε/2)`` and ``θS^E``."""
        demand = self.theta * self.effective_bandwidth
        numbers = (self.antennas, self.kappa, self.decoding_quantile, demand)
        a, b, c, d = (math.log(number) for number in numbers)
        return a, b, c, d

    def fading(self, shape: tuple[int, ...], generator: torch.Generator | None = None) -> Tensor:
        """Draw small-scale gains ``g ~ Gamma(N_t, 1)`` of the given shape."""
        # Add N_t exponential variables, because PyTorch's gamma distribution does not accept a generator.
        return torch.empty(*shape, self.antennas).exponential_(generator=generator).sum(dim=-1)

    def violation(self, received_w: Tensor, bandwidth_hz: Tensor, fading: Tensor) -> Tensor:
        """Return the violation of the QoS constraint relative to its limit, ``(..., K)``.

        The violation is ``E_g[e^(−θs)]/e^(−θS^E) − 1`` (paper, eq. (P2) with (sk-URLLC), divided by its limit), and the
        QoS is met if it is not positive. The expectation is the mean over the given draws.

        Parameters
        ----------
        received_w
            Received powers ``u = αP`` in W, ``(..., K)``.

        bandwidth_hz
            Bandwidths in Hz, ``(..., K)``.

        fading
            Draws of ``g``, ``(..., K, draws)``.
        """
        kappa, transmission_s = self.kappa, 1e-3 * self.transmission_ms
        noise_w_hz = 1e-3 * 10 ** (self.noise_density_dbm_hz / 10)
        uses = transmission_s * bandwidth_hz
        snr = received_w / (noise_w_hz * bandwidth_hz)
        back_off = kappa * self.decoding_quantile * uses.sqrt()
        demand = self.theta * self.effective_bandwidth
        nats = (snr.unsqueeze(-1) * fading).log1p()
        if self.max_spectral_efficiency is not None:
            # The rate for each channel use is nats − Q⁻¹/√(τB).
            most = math.log(2) * self.max_spectral_efficiency + self.decoding_quantile / uses.sqrt()
            nats = torch.minimum(nats, most.unsqueeze(-1))
        exponent = (demand + back_off - kappa * uses * nats.movedim(-1, 0)).movedim(0, -1)
        return exponent.exp().mean(dim=-1) - 1.0
