"""The examples: each runs, and each program of the gallery prints what its page shows."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("anyk", reason="the compiled package")

ROOT = Path(__file__).parents[3]
GALLERY = ROOT / "examples" / "gallery"
if not GALLERY.exists():
    pytest.skip("the examples are not next to the tests", allow_module_level=True)
PAGE = (GALLERY / "README.md").read_text(encoding="utf-8")
RUNS = re.findall(r"^```console\n\$ ([^\n]+)\n(.*?)^```$", PAGE, re.M | re.S)
# What a command needs; `.ci/run` installs it.
TOOLS = {"sh policy-in-cpp.sh": "c++", "octave-cli octave.m": "octave-cli"}
TORCH = "python my-network.py"


def test_the_page_contains_every_program() -> None:
    programs = [file for file in GALLERY.iterdir() if file.suffix in {".sh", ".py", ".cpp", ".m"}]
    assert len(programs) == 11 and len(RUNS) == 10
    for program in programs:
        assert program.read_text(encoding="utf-8") in PAGE, f"README.md shows another {program.name}"


def run(command: str, folder: Path) -> str:
    """Run a command line with the program and the package of the tests, and return its output."""
    programs = [str(Path(sys.executable).parent), str(ROOT / "target" / "debug"), os.environ["PATH"]]
    environment = os.environ | {"PATH": os.pathsep.join(programs), "MPLBACKEND": "Agg"}
    done = subprocess.run(command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_quick_start_of_the_readme(tmp_path: Path) -> None:
    blocks = re.findall(r"^```sh\n(.*?)^```$", (ROOT / "README.md").read_text(encoding="utf-8"), re.M | re.S)
    (quick_start,) = (block for block in blocks if block.startswith("anyk train"))
    assert "100.00 %" in run(f"set -eu\n{quick_start}", tmp_path)


def test_the_first_steps(tmp_path: Path) -> None:
    program = ROOT / "examples" / "python" / "first_steps.py"
    printed = run(f"python '{program}'", tmp_path)
    assert "total: 430391 Hz" in printed and "size law" in printed


@pytest.mark.parametrize("name", sorted(path.stem for path in (ROOT / "crates" / "anyk" / "examples").glob("*.rs")))
def test_an_example_in_rust(name: str, tmp_path: Path) -> None:
    program = ROOT / "target" / "debug" / "examples" / name
    if not program.exists():
        pytest.skip("cargo test has not built the examples")
    assert run(f"'{program}'", tmp_path).strip()


@pytest.mark.parametrize(("command", "shown"), RUNS, ids=[command for command, _ in RUNS])
def test_a_program_prints_what_the_page_shows(command: str, shown: str, tmp_path: Path) -> None:
    tool = TOOLS.get(command)
    if tool and not shutil.which(tool) and os.environ.get("CI") != "true":
        pytest.skip(f"{tool} is not installed")
    if command == TORCH:
        pytest.importorskip("torch")
    folder = tmp_path / "gallery"
    shutil.copytree(GALLERY, folder)
    printed = run(command, folder)
    parts = [re.escape(part) for part in shown.split("[..]")]
    assert re.fullmatch("[^\n]*".join(parts), printed), f"shown:\n{shown}\nprinted:\n{printed}"
    pictures = re.findall(r"!\[[^\]]+\]\((\S+)\)", PAGE) if command.endswith("plot-for-a-paper.py") else []
    for picture in pictures:
        assert (folder / picture).read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
