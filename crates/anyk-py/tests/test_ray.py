"""Sweeps on a real Ray cluster of three nodes. Part of ``cargo xtask test --long``; needs Ray and ANYK_RAY=1."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import anyk

if "ANYK_RAY" not in os.environ:
    pytest.skip("set ANYK_RAY to run the tests with Ray", allow_module_level=True)

import ray
from ray.cluster_utils import Cluster

SPEC: dict[str, Any] = {
    "problem": "urllc",
    "policies": ["m-gnn", "equal-power", "optimum"],
    "k": [1, 20],
    "samples": 4000,
    "seeds": "1..6",
    "options": {"max_power_dbm": [40, 43]},
    "train": {"samples": 200},
}


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    yield cluster
    ray.shutdown()
    cluster.shutdown()


@pytest.fixture(scope="module")
def local() -> anyk.SweepTable:
    return anyk.sweep(SPEC, progress=False)


def workers() -> list[int]:
    """Return the processes of Ray workers that run a task of a sweep."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            name = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if folder.name.isdigit() and name.startswith(b"ray::") and b"compute" in name:
            found.append(int(folder.name))
    return found


def test_a_lost_node_and_a_killed_worker_change_nothing(cluster: Cluster, local: anyk.SweepTable, tmp_path: Path) -> None:
    nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
    cluster.wait_for_nodes()
    lost: list[str] = []
    started = threading.Event()

    def break_things() -> None:
        started.wait()
        while not lost:
            found = workers()
            if found:
                os.kill(found[0], signal.SIGKILL)
                lost.append(f"worker {found[0]}")
            time.sleep(0.01)
        cluster.remove_node(nodes[0], allow_graceful=False)
        lost.append("node")

    thread = threading.Thread(target=break_things)
    thread.start()
    seen: list[tuple[int, int]] = []

    def progress(what: str, done: int, of: int) -> None:
        seen.append((done, of))
        if 2 * done >= of:
            started.set()

    table = anyk.sweep(SPEC, backend="ray", address=cluster.address, out=tmp_path / "out", progress=progress)
    thread.join()
    assert len(lost) == 2, lost
    assert table.rows == local.rows
    assert str(table) == str(local)
    assert seen[-1][0] == seen[-1][1] and [done for done, _ in seen] == sorted(done for done, _ in seen)
    # The results are in the folder: Ray and this machine share it.
    assert anyk.sweep(SPEC, out=tmp_path / "out", progress=False).rows == local.rows


def test_a_sweep_is_continued_by_the_other_backend(cluster: Cluster, local: anyk.SweepTable, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        anyk.sweep(SPEC, out=tmp_path / "out", progress=lambda what, done, of: done >= 5)
    first: list[int] = []
    table = anyk.sweep(
        SPEC, backend="ray", address=cluster.address, out=tmp_path / "out", progress=lambda what, done, of: first.append(done)
    )
    assert first[0] >= 5 and table.rows == local.rows


def test_errors_of_a_specification_come_before_the_cluster() -> None:
    with pytest.raises(anyk.InputError, match="epsilon_d is 2, expected"):
        anyk.sweep({**SPEC, "train": {"epsilon_d": 2.0}}, backend="ray", address="127.0.0.1:1")


def test_an_address_that_does_not_answer() -> None:
    spec = {"problem": "urllc", "policies": "optimum", "k": 1}
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        # Nobody listens; a port that accepts connections but is silent; no route.
        for address in ("127.0.0.1:1", f"127.0.0.1:{port}", "ray://127.0.0.1:1"):
            start = time.monotonic()
            with pytest.raises(ConnectionError, match="answer.*start one with `ray start --head`"):
                anyk.sweep(spec, backend="ray", address=address)
            assert time.monotonic() - start < 20.0
    with pytest.raises(anyk.InputError, match="expected HOST:PORT"):
        anyk.sweep(spec, backend="ray", address="nowhere")
    with pytest.raises(ConnectionError):
        anyk.sweep(spec, backend="ray", address="auto")
