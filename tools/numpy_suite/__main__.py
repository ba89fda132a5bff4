"""Run NumPy's tests on NumPy and on distnb, and count: ``python -m tools.numpy_suite --help``."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy

from tools.numpy_suite.page import write
from tools.numpy_suite.scope import FILES
from tools.numpy_suite.verdicts import counts

ROOT = Path(__file__).parents[2]
#: How often a file goes on after it lost its process, or its session.
ATTEMPTS = 200
#: Exit codes of pytest: all passed, some failed, nothing to run.
ENDED = (0, 1, 5)
#: Settings of distnb for each way to place arrays.
PLACES = {
    "engines": {"DISTNB_CUTOFF": "0", "DISTNB_PLACE": "engines"},
    "default": {},
}


def lines_of(file: Path) -> list[dict[str, Any]]:
    """Return what was written down, test by test."""
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


class Runner:
    """Runs files, each in a process of its own, which is followed by another one where it ends."""

    def __init__(self, folder: Path, library: str, options: argparse.Namespace) -> None:
        self.folder = folder
        self.options = options
        folder.mkdir(parents=True, exist_ok=True)
        self.env = os.environ | PLACES[options.place]
        self.env |= {"SUITE_LIBRARY": library, "SUITE_MOST": str(options.most)}
        self.env |= {"OMP_NUM_THREADS": "1", "DISTNB_PROGRESS": "0", "DISTNB_JIT": "0"}
        self.env |= {"NPY_AVAILABLE_MEM": "1GB", "PYTHONPATH": str(ROOT)}

    def run(self, file: str, wanted: Iterable[str] | None = None) -> list[dict[str, Any]]:
        """Run the tests of a file, all or some; return what happened to each."""
        out = self.folder / f"{file.replace('/tests/test_', '-').replace('/', '-')}.jsonl"
        env = self.env | {"SUITE_OUT": str(out)}
        if wanted is not None:
            only = out.with_suffix(".only")
            only.write_text(json.dumps(sorted(wanted)))
            env["SUITE_ONLY"] = str(only)
        for _ in range(ATTEMPTS):
            before = len(lines_of(out))
            code = self._once(file, env)
            if code in ENDED:
                break
            if len(lines_of(out)) == before:
                self._crashed(out, code)
        found = {line["id"]: line for line in lines_of(out)}
        return list(found.values())

    def _once(self, file: str, env: dict[str, str]) -> int:
        path = Path(numpy.__file__).parent / f"{file}.py"
        words = "-q --noconftest --import-mode=importlib --timeout-method=signal --tb=no -W ignore "
        words += "-p no:cacheprovider -p no:xdist -p tools.numpy_suite.plugin -c /dev/null "
        words += f"--rootdir {path.parents[2]} --timeout {self.options.seconds}"
        command = [sys.executable, "-m", "pytest", *words.split(), str(path)]
        with (self.folder / "log").open("a") as log:
            try:
                found = subprocess.run(
                    command, env=env, cwd=ROOT, stdout=log, stderr=log, timeout=3600, check=False
                )
            except subprocess.TimeoutExpired:
                return -1
        return found.returncode

    def _crashed(self, out: Path, code: int) -> None:
        """Write down that the process ended in the test that ran last."""
        now = out.with_suffix(".now")
        if not now.exists():
            raise SystemExit(
                f"{out}: pytest ended with {code} before any test; see {self.folder}/log"
            )
        line = {"id": now.read_text(), "outcome": "failed", "made": 1, "seconds": 0}
        with out.open("a") as file:
            file.write(json.dumps(line | {"type": "Crash", "text": f"exit code {code}"}) + "\n")


def main() -> int:
    """Run files on NumPy and then on distnb; write the page if these were all of them."""
    options = _options()
    build = ROOT / "build" / "numpy_suite"
    control = Runner(build / f"control-{numpy.__version__}-{options.most}", "numpy", options)
    folder = build / options.place
    if not options.go_on:
        shutil.rmtree(folder, ignore_errors=True)
    runner = Runner(folder, "distnb", options)

    def both(file: str) -> list[dict[str, Any]]:
        passed = [line["id"] for line in control.run(file) if line["outcome"] == "passed"]
        found = runner.run(file, passed)
        print(f"{file}: {dict(counts(found))}", flush=True)
        return found

    with ThreadPoolExecutor(options.processes) as pool:
        found = dict(zip(options.files, pool.map(both, options.files), strict=True))
    if sorted(options.files) == sorted(FILES):
        asked = {name: getattr(options, name) for name in ("place", "most", "seconds")}
        page = ROOT / "docs" / "conformance.md" if options.place == "engines" else build / "page.md"
        write(build, page, found, asked)
    total = counts(line for lines in found.values() for line in lines)
    print(f"{total['passed']} of {total['applies']} that apply passed")
    return int(bool(total["internal"]))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.numpy_suite", description=__doc__)
    parser.add_argument("files", nargs="*", default=FILES, help="as lib/tests/test_arraypad")
    parser.add_argument("--place", choices=PLACES, default="engines", help="where arrays are")
    parser.add_argument("--go-on", action="store_true", help="keep what was run, add the rest")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seconds", type=int, default=60, help="the watchdog of each test")
    parser.add_argument("--most", type=int, default=20, help="cases of one test, evenly chosen")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
