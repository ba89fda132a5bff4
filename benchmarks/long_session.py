"""What a long session keeps: ``python -m benchmarks.long_session`` drops a million arrays.

Each batch makes arrays on two engines, reads one number, and drops all. Now and then it notes the
memory, descriptors and threads of notebook, engines and keeper; the last half of them should be
level. It writes what it found into the folder ``--out``, and draws it.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

from benchmarks.picture import FASTER, SLOWER

__all__ = ["draw", "measure", "slope"]

#: Rows of the picture, and their units.
KINDS = {"memory": "MB", "descriptors": "", "threads": ""}
COLOURS = {"notebook": FASTER, "engine 0": SLOWER, "engine 1": "#e69f00", "keeper": "#009e73"}

Found = dict[str, Any]


def held_by(pid: int) -> dict[str, float]:
    """Return what a process holds: memory of its own and the part it has touched of shared one."""
    folder = Path(f"/proc/{pid}")
    fields = (line.split() for line in (folder / "smaps_rollup").read_text().splitlines()[1:])
    kilobytes = {words[0]: int(words[1]) for words in fields}
    return {
        "memory": kilobytes["Pss:"] / 1000,
        "descriptors": len(os.listdir(folder / "fd")),
        "threads": len(os.listdir(folder / "task")),
    }


def measure(batches: int, arrays: int, samples: int) -> Found:
    """Run so many batches, of so many arrays each, and return what was held at each sample."""
    import distnb as dnb
    from tests.faults.processes import below

    dnb.config.cutoff, dnb.config.place = 0, "engines"
    with dnb.start(2, keep="1 min") as session:
        session["x"] = x = dnb.arange(1000.0)
        pids = {f"engine {k}": about["pid"] for k, about in enumerate(session.transport.about)}
        keepers = [pid for pid, command in below().items() if "keeper" in command]
        pids |= {"notebook": os.getpid(), "keeper": keepers[0]}
        found: Found = {"batches": [], "arrays": arrays, "held": {name: [] for name in COLOURS}}
        for done in range(batches):
            if done % max(1, batches // samples) == 0:
                print(f"\r{done:,} of {batches:,} batches", end="", flush=True)
                found["batches"].append(done)
                for name, pid in pids.items():
                    found["held"][name].append(held_by(pid))
            made = [x + k for k in range(arrays - 1)]
            assert made[done % len(made)].sum().item() == 499_500 + 1000 * (done % len(made))
    return found


def slope(values: list[float]) -> tuple[float, float]:
    """Return how much the last half rises from its begin to its end, and its standard error."""
    import numpy as np

    half = np.array(values[len(values) // 2 :])
    x = np.linspace(-0.5, 0.5, len(half))
    rise = x @ half / (x @ x)
    rest = half - half.mean() - rise * x
    return float(rise), float(np.sqrt(rest @ rest / max(1, len(half) - 2) / (x @ x)))


def draw(found: Found, path: Path) -> None:
    """Draw what each process held over the batches."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 5.0), layout="constrained")
    panels = figure.subplots(len(KINDS), 1, sharex=True)
    for axes, (kind, unit) in zip(panels, KINDS.items(), strict=True):
        for name, rows in found["held"].items():
            values = [row[kind] for row in rows]
            axes.plot(found["batches"], values, color=COLOURS[name], label=name, linewidth=1.2)
        axes.set(ylim=(0, None), ylabel=f"{kind}, {unit}" if unit else kind)
        axes.grid(alpha=0.3, linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].legend(ncols=len(COLOURS), fontsize=9, frameon=False, loc="upper right")
    panels[-1].set_xlabel(f"batches, of {found['arrays']} arrays each")
    panels[-1].xaxis.set_major_formatter("{x:,.0f}")
    figure.savefig(path, dpi=110, metadata={"Software": None})


def main() -> None:
    """Measure, tell, and draw."""
    from docs.themes import in_both

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batches", type=int, default=100_000)
    parser.add_argument("--arrays", type=int, default=10)
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--out", type=Path, default=Path("build/bench"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    found = measure(options.batches, options.arrays, options.samples)
    print()
    (options.out / "long_session.json").write_text(json.dumps(found))
    for name, rows in found["held"].items():
        for kind, unit in KINDS.items():
            rise, noise = slope([row[kind] for row in rows])
            print(f"{name}: {kind} {rows[-1][kind]:.4g} {unit} rises by {rise:.2g} +- {noise:.2g}")
    for path in in_both(options.out / "long-session.png"):
        draw(found, path)


if __name__ == "__main__":
    main()
