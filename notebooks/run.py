"""Execute a notebook headless, show its output, and keep it: ``python notebooks/run.py heat``."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

# jsonschema, which nbformat imports, would make a parser of its grammar: three seconds.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

HERE = Path(__file__).resolve().parent
KERNEL_ARGS = ["-f", "{connection_file}", "--log-level=ERROR"]


def texts(cell: nbformat.NotebookNode) -> list[str]:
    """Return what a cell printed and the plain text of what it returned."""
    found = []
    for output in cell.get("outputs", []):
        if output.output_type == "stream":
            found.append(output.text.rstrip())
        elif output.output_type in ("execute_result", "display_data"):
            found.append(output.data.get("text/plain", ""))
    return [t for t in found if t]


def execute(name: str, out: Path, timeout: int) -> None:
    """Run ``name.ipynb`` with this interpreter and write the executed notebook into ``out``."""
    out = out.resolve()  # notebooks run in their own folder
    out.mkdir(parents=True, exist_ok=True)
    os.environ["DISTNB_DEMO_DIR"] = str(out)
    notebook = nbformat.read(HERE / f"{name}.ipynb", as_version=4)
    client = NotebookClient(
        notebook,
        timeout=timeout,
        resources={"metadata": {"path": str(HERE)}},
        store_widget_state=False,  # so that exports show what widgets are without a browser
    )
    # The kernel of this interpreter, whatever kernels the machine has installed.
    client.create_kernel_manager()
    client.km.kernel_cmd = [sys.executable, "-m", "ipykernel_launcher", *KERNEL_ARGS]
    client.km.transport = "ipc"  # of sockets that only this user can open
    try:
        with tempfile.TemporaryDirectory(prefix="distnb-kernel-", dir="/tmp") as folder:
            client.km.ip = f"{folder}/kernel"
            client.execute()
    finally:
        nbformat.write(notebook, out / f"{name}.ipynb")
        for cell in notebook.cells:
            for text in texts(cell):
                print(text)


def main() -> int:
    """Read the command line and run the notebook."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", help="notebook to run, without .ipynb")
    parser.add_argument("--out", type=Path, default=HERE.parent / "build" / "demo")
    parser.add_argument("--timeout", type=int, default=300, help="seconds for each cell")
    args = parser.parse_args()
    try:
        execute(args.name, args.out, args.timeout)
    except CellExecutionError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"\nwritten to {args.out}: " + ", ".join(sorted(p.name for p in args.out.iterdir())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
