"""Driver of a sweep on a Ray cluster.

The driver sends numbers of slices to Ray tasks and keeps their results. Ray repeats the tasks of lost nodes and killed
workers. The results are the same as without Ray, since a slice depends only on the specification.
"""

from __future__ import annotations

import functools
import socket
import subprocess
import sys
import time
from collections import deque
from typing import Any
from urllib.parse import urlsplit

from . import _anyk
from ._anyk import InputError
from ._progress import Tick

_PATIENCE_S = 12.0
"""Time in which a cluster must answer."""
_TASK_S = 2.0
"""Time that a task should take."""
_MOST_TASK = 10_000
"""Maximum number of slices of a task."""
_RETRIES = 10
"""Number of times that Ray repeats a task after its node or its worker was lost."""
_PAUSE_S = 0.2
"""Longest time between two progress reports."""


def run(store: _anyk.Sweep, text: str, address: str | None, tick: Tick | None, *, keeps: bool) -> str:
    """Compute the slices of a sweep on Ray and return the table as JSON. ``keeps``: the store writes results to disk."""
    try:
        import ray
    except ImportError as why:
        raise ImportError('backend="ray" needs Ray: pip install "anyk[ray]"') from why
    started = not ray.is_initialized()
    if started:
        _connect(ray, address)
    elif address not in (None, "auto"):
        raise InputError(f"address is {address!r}, but this process is connected to Ray already; remove address, or call ray.shutdown()")
    try:
        return _Driver(ray, store, text, tick, keeps).run()
    finally:
        if started:
            ray.shutdown()


def _connect(ray: Any, address: str | None) -> None:
    """Connect to a cluster, or start Ray on this machine. Ray itself would wait for minutes for a dead address."""
    if address is not None and address not in ("auto", "local"):
        _check(address)
    try:
        ray.init(address=address, log_to_driver=False, logging_level="warning")
    except (ConnectionError, RuntimeError, TimeoutError, ValueError) as why:
        raise ConnectionError(f"cannot connect to Ray at {address or 'this machine'}: {why}") from why


def _check(address: str) -> None:
    """Raise ``ConnectionError`` unless a Ray cluster answers at this address."""
    advice = "start one with `ray start --head`, or check the address and the firewall"
    is_client = address.startswith("ray://")
    try:
        parts = urlsplit(address if "://" in address else f"//{address}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host or not port:
        raise InputError(f"address is {address!r}, expected HOST:PORT, ray://HOST:PORT or auto")
    try:
        socket.create_connection((host, port), timeout=_PATIENCE_S).close()
    except OSError as why:
        raise ConnectionError(f"no Ray cluster answers at {address}: {why}; {advice}") from why
    if is_client:
        return
    # Something else may listen there. Ray ends the whole process if it waits for it in vain.
    command = [sys.executable, "-m", "ray.scripts.scripts", "health-check", "--address", f"{host}:{port}"]
    try:
        found = subprocess.run(command, capture_output=True, timeout=_PATIENCE_S)
    except subprocess.TimeoutExpired:
        found = None
    if found is None or found.returncode != 0:
        raise ConnectionError(f"what listens at {address} does not answer as a Ray cluster of the installed version; {advice}")


@functools.lru_cache(maxsize=4)
def _sweep_of(text: str) -> _anyk.Sweep:
    return _anyk.Sweep(text, None)


def compute(text: str, first: int, last: int) -> tuple[list[str], float]:
    """Compute the slices from ``first`` to ``last - 1`` on one thread; return their results and the time in seconds."""
    sweep = _sweep_of(text)
    start = time.perf_counter()
    results = [sweep.run(slice) for slice in range(first, last)]
    return results, time.perf_counter() - start


class _Driver:
    def __init__(self, ray: Any, store: _anyk.Sweep, text: str, tick: Tick | None, keeps: bool) -> None:
        self.ray = ray
        self.store = store
        self.tick = tick
        self.keeps = keeps
        self.text = ray.put(text)
        self.task = ray.remote(num_cpus=1, max_retries=_RETRIES, retry_exceptions=False)(compute)
        self.results: list[str | None] = [None] * sum(store.alike())
        self.done = len(store.known())
        self.pending: dict[Any, tuple[int, int, int]] = {}
        # Slices that are left, as ranges of consecutive slices of one kind, which take a similar time.
        self.left: deque[list[int]] = deque()
        self.seconds: dict[int, float] = {}
        known, first = set(store.known()), 0
        for kind, count in enumerate(store.alike()):
            for slice in range(first, first + count):
                if slice in known:
                    continue
                if self.left and self.left[-1][0] == kind and self.left[-1][2] == slice:
                    self.left[-1][2] += 1
                else:
                    self.left.append([kind, slice, slice + 1])
            first += count

    def run(self) -> str:
        try:
            while self.left or self.pending:
                self._submit()
                ready, _ = self.ray.wait(list(self.pending), timeout=_PAUSE_S)
                for reference in ready:
                    self._receive(reference)
                if self.tick is not None and self.tick("slices", self.done, len(self.results), []):
                    raise KeyboardInterrupt("interrupted")
        except BaseException:
            for reference in self.pending:
                self.ray.cancel(reference, force=True)
            raise
        return self.store.table(self.results)

    def _submit(self) -> None:
        """Send tasks until each core of the cluster has one task and another that waits."""
        cores = int(self.ray.cluster_resources().get("CPU", 1))
        most = 2 * max(cores, 1)
        while self.left and len(self.pending) < most:
            part = self.left[0]
            kind, first, last = part
            # The first tasks of a kind have one slice; their time decides the size of the next ones. At the end, all
            # cores should have work.
            size = 1
            if kind in self.seconds:
                size = max(1, min(round(_TASK_S / max(self.seconds[kind], 1e-6)), _MOST_TASK, -(-(last - first) // cores)))
            part[1] = min(first + size, last)
            if part[1] == last:
                self.left.popleft()
            reference = self.task.remote(self.text, first, part[1])
            self.pending[reference] = (kind, first, part[1])

    def _receive(self, reference: Any) -> None:
        """Take the results of a task, or raise the error of its slice."""
        kind, first, last = self.pending.pop(reference)
        try:
            results, seconds = self.ray.get(reference)
        except self.ray.exceptions.RayTaskError as why:
            raise why.as_instanceof_cause() from None
        except self.ray.exceptions.RayError as why:
            raise RuntimeError(
                f"Ray lost slices {first} to {last - 1} more than {_RETRIES} times: {why}; the workers may have run out of memory"
            ) from why
        mean = seconds / (last - first)
        # The first slice of a worker includes the tables that AnyK builds, so newer times count more.
        self.seconds[kind] = mean if kind not in self.seconds else 0.5 * (self.seconds[kind] + mean)
        for slice, result in zip(range(first, last), results):
            if self.keeps:
                self.store.keep(slice, result)
            else:
                self.results[slice] = result
        self.done += last - first
