"""What tests do with a notebook in JupyterLab: open it, run it, look at it."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCREENS = ROOT / "build" / "screens"

READY = """() => {
  const kernel = window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel;
  return kernel?.status === "idle" && kernel.connectionStatus === "connected";
}"""
RUN = """() => {
  window.ran = false;
  window.jupyterapp.commands.execute("notebook:run-all-cells").then(() => { window.ran = true; });
}"""

RUN_ONE = """index => {
  window.ran = false;
  window.jupyterapp.shell.currentWidget.content.activeCellIndex = index;
  window.jupyterapp.commands.execute("notebook:run-cell").then(() => { window.ran = true; });
}"""


class Notebook:
    """A notebook on a page."""

    def __init__(self, page, lab, name):
        self.page, self.name = page, name
        page.goto(lab.url(f"lab/tree/{name}.ipynb?reset"))
        page.wait_for_function(READY, timeout=60_000)

    def start(self):
        """Begin to run all cells."""
        self.page.evaluate(RUN)

    def finish(self, seconds=60):
        """Wait until all cells have run; none may have failed."""
        self.page.wait_for_function("() => window.ran", timeout=1000 * seconds)
        outputs = [output for cell in self.cells() for output in cell.get("outputs", [])]
        errors = [o for o in outputs if o["output_type"] == "error"]
        assert not errors, "\n".join(errors[0]["traceback"])

    def run(self, seconds=60):
        """Run all cells."""
        self.start()
        self.finish(seconds)

    def cells(self):
        """Return the cells as the notebook's file would have them."""
        read = "() => window.jupyterapp.shell.currentWidget.context.model.toJSON().cells"
        return self.page.evaluate(read)

    def cell(self, text):
        """Return the one cell whose source contains some text."""
        found = self.page.locator(".jp-Notebook .jp-CodeCell")
        sources = ["".join(cell["source"]) for cell in self.cells() if cell["cell_type"] == "code"]
        (index,) = [i for i, source in enumerate(sources) if text in source]
        return found.nth(index)

    def output(self, text):
        """Return what the cell shows whose source contains some text."""
        return self.cell(text).locator(".jp-OutputArea").first

    def theme(self, name):
        """Change the theme: Light or Dark."""
        change = "theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme})"
        self.page.evaluate(change, f"JupyterLab {name}")
        self.page.wait_for_function(
            "light => document.body.dataset.jpThemeLight === light",
            arg=str(name == "Light").lower(),
        )

    def screens(self, name, locator):
        """Write a picture of an element in both themes."""
        SCREENS.mkdir(parents=True, exist_ok=True)
        for theme in ("Dark", "Light"):
            self.theme(theme)
            locator.screenshot(path=str(SCREENS / f"{name}-{theme.lower()}.png"))

    def run_cell(self, text, seconds=30):
        """Run one cell, and wait for it."""
        sources = ["".join(cell["source"]) for cell in self.cells()]
        (index,) = [i for i, source in enumerate(sources) if text in source]
        self.page.evaluate(RUN_ONE, index)
        self.page.wait_for_function("() => window.ran", timeout=1000 * seconds)
