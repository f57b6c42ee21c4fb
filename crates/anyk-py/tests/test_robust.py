"""Robustness: many calls, threads, forks and Ctrl-C."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import anyk


def memory_kib() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="counts memory as Linux does")
def test_many_calls_take_no_memory(price_policy: anyk.Model) -> None:
    distances = np.array([60.0, 90.0, 240.0])
    weak = anyk.Urllc([249.0] * 3, max_power_dbm=5)

    def some(count: int) -> None:
        for index in range(count):
            cell = anyk.Urllc(distances)
            best = cell.solve()
            assert best.power_w[0] > 0
            price_policy.allocate(cell)
            for call in (weak.solve, lambda: anyk.Urllc([-1.0]), lambda: best.colour):
                with pytest.raises((anyk.Infeasible, anyk.InputError, AttributeError)):
                    call()
            if index % 100 == 0:
                anyk.cells("urllc", distances_m=[distances] * 3).solve()

    some(1000)
    gc.collect()
    before = memory_kib()
    # Each round makes five calls.
    some(5000)
    gc.collect()
    grown = memory_kib() - before
    assert grown < 2048, f"{grown} KiB"


def test_options_that_come_and_go_take_no_memory() -> None:
    for index in range(400):
        anyk.Urllc([60.0], max_power_dbm=30 + 0.01 * index)
    before = memory_kib()
    for index in range(2000):
        anyk.Urllc([60.0], max_power_dbm=20 + 0.005 * index)
    assert memory_kib() - before < 20_000


def test_threads_may_share_everything(price_policy: anyk.Model) -> None:
    cell = anyk.sample("urllc", 50, seed=1)[0]
    batch = anyk.sample("urllc", 5, count=50, seed=2)
    expected = (cell.solve().power_w, price_policy.allocate(cell).power_w, batch.solve().flat("power_w"))
    wrong: list[str] = []

    def work() -> None:
        for _ in range(100):
            found = (cell.solve().power_w, price_policy.allocate(cell).power_w, batch.solve().flat("power_w"))
            if not all(np.array_equal(a, b) for a, b in zip(expected, found)):
                wrong.append("differs")

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def run(code: str, **kwargs: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, **kwargs)  # type: ignore[call-overload, no-any-return]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_fork_works_before_and_after_use() -> None:
    code = """
import os, sys, warnings, anyk
warnings.simplefilter("ignore")
def use():
    batch = anyk.sample("urllc", 10, count=200, seed=1)
    return batch.solve().flat("power_w").sum()
first = None if sys.argv[1:] else None
def child():
    pid = os.fork()
    if pid == 0:
        os._exit(0 if abs(use() / expected - 1) < 1e-9 else 3)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status)
expected = 200 * anyk.Urllc([60.0]).max_power_w
print(child())          # the parent has used only one cell
use()
print(child(), child()) # the children do not have the parent's threads
print(abs(use() / expected - 1) < 1e-9)
"""
    found = run(code)
    assert found.stdout.split() == ["0", "0", "0", "True"], found.stderr


SLOW = {
    "training": "anyk.train('urllc', method='p-gnn', preset='paper', samples=20000)",
    "batch": "b = anyk.sample('urllc', 500, count=4000); print('ready', flush=True); [b.solve() for _ in range(1000)]",
    "policy": "import time\nanyk.evaluate({'mine': lambda cell: time.sleep(60)}, problem='urllc', sizes=[3])",
    "diagnosis": "anyk.diagnose('urllc-power', users=3_000_000)",
}


@pytest.mark.parametrize("what", list(SLOW))
def test_ctrl_c_stops_at_once(what: str) -> None:
    code = f"""
import anyk, sys, time
try:
    if {what!r} != 'batch': print('ready', flush=True)
    {SLOW[what].replace(chr(10), chr(10) + '    ')}
except KeyboardInterrupt:
    print('stopped', time.time(), flush=True)
    import os
    os._exit(0)
print('finished')
"""
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert child.stdout is not None
    assert child.stdout.readline().strip() == "ready"
    time.sleep(0.6)
    asked = time.time()
    child.send_signal(signal.SIGINT)
    word, *when = child.stdout.readline().split()
    child.wait(timeout=30)
    assert word == "stopped"
    # 0.2 s, with a margin for a machine that also runs other tests.
    assert float(when[0]) - asked < 0.2 + 0.3


def test_the_program_ends_with_work_under_way() -> None:
    """An interrupted process can exit: it does not wait for work that still runs."""
    code = """
import anyk, signal, os, threading, time
threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    anyk.diagnose('urllc-power', users=3_000_000)
except KeyboardInterrupt:
    pass
"""
    start = time.time()
    assert run(code).returncode == 0
    assert time.time() - start < 20


def test_nothing_that_is_optional_is_imported() -> None:
    found = run("import sys, anyk; print([name for name in ('torch', 'pandas', 'matplotlib', 'tqdm', 'pyarrow') if name in sys.modules])")
    assert found.stdout.strip() == "[]"
