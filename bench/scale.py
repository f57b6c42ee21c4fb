"""Measure unit costs, and compute the cost of a million cells x a thousand seeds from them.

    python3 bench/scale.py --anyk target/release/anyk                          # prints the tables of docs/scale.md
    python3 bench/scale.py --anyk target/release/anyk --write docs/scale.md    # also replaces them in the file

The script measures processor time on one thread and takes the least of several runs, so other programs on the machine
affect the result little. It takes about two minutes on an idle machine. The wall time comes from a simulation of the
schedule, which always uses the same random numbers.
"""

from __future__ import annotations

import argparse
import heapq
import os
import random
import subprocess
import sys
import tempfile
from collections import deque
from dataclasses import dataclass
from pathlib import Path

BEGIN, END = "<!-- scale: begin -->", "<!-- scale: end -->"

SIZES = (10, 100, 1000)
CORES = (100, 10_000)
MODELS = 1000
CELLS = 1_000_000

# Assumptions of the simulation.
LAUNCH_S = 1.0  # time for a scheduler to start a task, in addition to the start of the program
DISPATCH_PER_S = 100  # tasks that a scheduler starts per second
NODE_CORES = 20
SLOW_SHARE, SLOW_FACTOR = 0.01, 3.0  # share of slow tasks, and how many times longer they take
TASKS_PER_CORE = 4  # more tasks than cores, so that all cores end at about the same time
MIN_TASK = 20  # shortest task, in multiples of its overhead

METHODS = {
    "P-GNN, preset `paper`": ["--method", "p-gnn", "--preset", "paper"],
    "M-GNN, preset `paper`": ["--method", "m-gnn", "--preset", "paper"],
    "price policy": ["--method", "price"],
}
EVALUATED = ("P-GNN, preset `paper`", "price policy")


class Program:
    """The program, run on one thread in a temporary folder."""

    def __init__(self, path: Path, folder: Path) -> None:
        self.path, self.folder = path.resolve(), folder

    def seconds(self, *arguments: object, out: str = os.devnull) -> float:
        """Run a command, write its output to a file, and return its processor time."""
        command = [str(self.path), *map(str, arguments)]
        environment = os.environ | {"RAYON_NUM_THREADS": "1"}
        with open(self.folder / out, "wb") as output, open(self.folder / "errors", "wb") as errors:
            process = subprocess.Popen(command, cwd=self.folder, env=environment, stdout=output, stderr=errors)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            sys.exit(f"{' '.join(command)}:\n{(self.folder / 'errors').read_text()}")
        return usage.ru_utime + usage.ru_stime

    def least(self, *arguments: object, out: str = os.devnull, runs: int = 5) -> float:
        """Return the least processor time of several runs."""
        return min(self.seconds(*arguments, out=out) for _ in range(runs))

    def bytes(self, file: str) -> int:
        return (self.folder / file).stat().st_size


@dataclass
class Training:
    """Costs of the training runs of a method, in seconds and bytes."""

    shared: float  # pre-training of the outer function, once for all seeds
    run: float
    model: int


@dataclass
class Cell:
    """Costs of a cell, in seconds and bytes."""

    seconds: float
    size: float


def train(program: Program, name: str, options: list[str]) -> Training:
    """Measure two training runs, then two more, which use the outer function of the first two."""
    command = ["train", "urllc", *options, "--out", f"{name}.safetensors", "--json", "--seeds"]
    first = program.seconds(*command, "1,2")
    run = program.seconds(*command, "1..4") / 2
    return Training(max(0.0, first - 2 * run), run, program.bytes(f"{name}-1.safetensors"))


def slope(few: tuple[int, Cell], many: tuple[int, Cell]) -> Cell:
    """Return the cost of one more cell from the costs of few and of many cells."""
    cells = many[0] - few[0]
    return Cell(max(0.0, many[1].seconds - few[1].seconds) / cells, (many[1].size - few[1].size) / cells)


def solve(program: Program, k: int) -> Cell:
    """Measure an exact solution, from reading the cell to writing its answer with the power of each user."""
    costs = []
    for cells in (5_000 // k, 50_000 // k):
        program.seconds("sample", "urllc", "--k", k, "--count", cells, "--seed", 1, out="cells.json")
        seconds = program.least("solve", "urllc", "cells.json", "--json", out="answers.json")
        costs.append((cells, Cell(seconds, program.bytes("answers.json"))))
    return slope(*costs)


def evaluate(program: Program, model: str, k: int) -> Cell:
    """Measure the evaluation of a cell in a shard, with the optimum and equal power."""
    costs = []
    for cells in (10_000 // k, 100_000 // k):
        seconds = []
        for run in range(3):
            folder = f"parts-{model}-{k}-{cells}-{run}"
            seconds.append(program.seconds(*in_shard(model, k, cells, folder)))
        costs.append((cells, Cell(min(seconds), program.bytes(f"{folder}/part-1-of-1.jsonl"))))
    return slope(*costs)


def merge(program: Program) -> tuple[float, int]:
    """Measure the time to merge a cell, and the bytes of the result."""
    costs = []
    for cells in (1_000, 100_000):
        program.seconds(*in_shard("p-gnn", 1, cells, f"merge-{cells}"))
        costs.append((cells, Cell(program.least("merge", f"merge-{cells}", "--json", out="merged.json"), 0)))
    return slope(*costs).seconds, program.bytes("merged.json")


def in_shard(model: str, k: int, cells: int, folder: str) -> list[object]:
    """Build the command that evaluates a model in one shard."""
    command: list[object] = ["evaluate", f"{model}-1.safetensors", "--k", k, "--samples", cells, "--json"]
    return [*command, "--shard", "1/1", "--out", folder]


def shards(evaluation: float, overhead: float, cores: int) -> int:
    """Choose the number of shards for each model."""
    return max(1, int(min(TASKS_PER_CORE * cores / MODELS, evaluation / (MIN_TASK * overhead))))


def simulate(stages: list[tuple[int, float]], cores: int, overhead: float, lost_at: float | None) -> float:
    """Return the wall time of a schedule: one shared task, then for each model the tasks of each stage in turn.

    The first entry of `stages` is the shared task. An idle core takes the next task that is ready. With `lost_at`, some
    tasks are slow, and one node disappears at that time. Its tasks start again on other nodes.
    """
    chance = random.Random(39)
    ready: deque[tuple[int, int]] = deque([(0, 0)])  # stage and model
    left = {(0, 0): 1}
    idle = list(range(cores))
    running: dict[int, tuple[int, tuple[int, int]]] = {}  # by core: serial number and task
    events: list[tuple[float, int, int]] = []  # end, serial number, core
    now, dispatched, serial, lost = 0.0, 0.0, 0, lost_at is None
    while ready or events:
        while ready and idle:
            core, task = idle.pop(), ready.popleft()
            seconds = stages[task[0]][1] + overhead
            if lost_at is not None and chance.random() < SLOW_SHARE:
                seconds *= SLOW_FACTOR
            dispatched = max(now, dispatched + 1 / DISPATCH_PER_S)
            serial += 1
            running[core] = (serial, task)
            heapq.heappush(events, (dispatched + seconds, serial, core))
        end, number, core = heapq.heappop(events)
        if not lost and lost_at is not None and end >= lost_at:
            lost, now = True, lost_at
            heapq.heappush(events, (end, number, core))
            gone = range(cores - NODE_CORES, cores)
            idle = [core for core in idle if core not in gone]
            ready.extendleft(running.pop(core)[1] for core in gone if core in running)
            continue
        if running.get(core, (0,))[0] != number:
            continue
        now, (stage, model) = end, running.pop(core)[1]
        idle.append(core)
        left[stage, model] -= 1
        if left[stage, model] == 0 and stage + 1 < len(stages):
            # Each model continues when its own tasks are done; the shared task starts all models.
            for next_model in range(MODELS) if stage == 0 else [model]:
                left[stage + 1, next_model] = stages[stage + 1][0]
                ready.extend([(stage + 1, next_model)] * stages[stage + 1][0])
    return now


def time(seconds: float) -> str:
    """Format a time with two or three digits and a unit."""
    for unit, factor in (("h", 3600.0), ("min", 60.0), ("s", 1.0), ("ms", 1e-3)):
        if seconds >= (2 if factor > 1 else 1) * factor:
            return f"{seconds / factor:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"


def size(count: float) -> str:
    """Format a number of bytes."""
    for unit, factor in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= factor:
            return f"{count / factor:.3g} {unit}" if count < 1000 * factor else f"{count / factor:.0f} {unit}"
    return f"{count:.0f} B"


def tables(program: Program) -> str:
    """Measure all unit costs, and return the tables."""
    start = program.least("--version", runs=20)
    trained = {}
    for name, options in METHODS.items():
        print(f"training: {name}", file=sys.stderr)
        trained[name] = train(program, options[1], options)
    smallest = program.least("evaluate", "p-gnn-1.safetensors", "--k", 1, "--samples", 1, "--json")
    solved, cells = {}, {}
    for k in SIZES:
        print(f"cells: K = {k}", file=sys.stderr)
        solved[k] = solve(program, k)
        for name in EVALUATED:
            cells[name, k] = evaluate(program, METHODS[name][1], k)
    merging, result = merge(program)

    lines = ["### Unit costs", "", "| unit | processor time | size |", "| --- | ---: | ---: |"]

    def row(*columns: object) -> None:
        lines.append("| " + " | ".join(map(str, columns)) + " |")

    row("start of the program", time(start), "–")
    row("smallest `evaluate`: one cell, K = 1", time(smallest), "–")
    for name, cost in trained.items():
        if cost.shared > cost.run:
            row(f"B^v of {name}, once for all seeds", time(cost.shared), "–")
        row(f"training run: {name}", time(cost.run), size(cost.model))
    for k, cell in solved.items():
        row(f"exact solution of a cell (`solve --json`), K = {k}", time(cell.seconds), size(cell.size))
    for (name, k), cell in cells.items():
        row(f"evaluation of a cell in a shard: {name}, K = {k}", time(cell.seconds), size(cell.size))
    row("merging a cell", time(merging), "–")
    row("result for one model and one K (`--json`)", "–", size(result))

    lines += ["", "### A million cells × a thousand seeds", ""]
    walls = [f"{cores:,} cores{kind}" for cores in CORES for kind in ("", ", with faults")]
    row("method", "K", "training (core-hours)", "evaluation (core-hours)", "parts", "shards of a model", *walls)
    row("---", *["---:"] * (5 + len(walls)))
    overhead = LAUNCH_S + start
    for (name, k), cell in cells.items():
        cost = trained[name]
        evaluation, merged = CELLS * cell.seconds, CELLS * merging
        training = cost.shared + MODELS * cost.run
        columns = [f"{training / 3600:.3g}", f"{MODELS * (evaluation + merged) / 3600:.3g}"]
        times, counts = [], []
        for cores in CORES:
            counts.append(shards(evaluation, overhead, cores))
            stages = [(1, cost.shared), (1, cost.run), (counts[-1], evaluation / counts[-1] + smallest), (1, merged)]
            wall = simulate(stages, cores, overhead, None)
            times += [time(wall), time(simulate(stages, cores, overhead, wall / 2))]
        row(name, k, *columns, size(MODELS * CELLS * cell.size), " or ".join(map(str, counts)), *times)
    lines += ["", "In addition to the parts, which you can delete after merging, these files take:", ""]
    for name, cost in trained.items():
        lines.append(f"- {size(MODELS * cost.model)} for the models of {name}")
    lines.append(f"- {size(MODELS * result)} for the results of one method and one K")
    answers = ", ".join(f"{size(MODELS * CELLS * cell.size)} for K = {k}" for k, cell in solved.items())
    lines.append(f"- if you also keep the allocation of each cell (`allocate --json`): about {answers}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--anyk", type=Path, required=True, help="the program, a release build")
    parser.add_argument("--write", type=Path, metavar="FILE", help="also replace the tables in this file")
    arguments = parser.parse_args()
    if arguments.write:
        head, begin, rest = arguments.write.read_text(encoding="utf-8").partition(BEGIN)
        _, end, tail = rest.partition(END)
        if not (begin and end):
            sys.exit(f"{arguments.write} has no lines {BEGIN} and {END}")
    with tempfile.TemporaryDirectory() as folder:
        text = tables(Program(arguments.anyk, Path(folder)))
    print(text)
    if arguments.write:
        arguments.write.write_text(f"{head}{BEGIN}\n\n{text}\n\n{END}{tail}", encoding="utf-8")


if __name__ == "__main__":
    main()
