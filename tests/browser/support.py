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
#: The first of each cell: a widget may have outputs of its own.
OUTPUTS = ".jp-Notebook .jp-CodeCell > .jp-Cell-outputWrapper > .jp-Cell-outputArea"
THEMED = """light => document.body.dataset.jpThemeLight === light
  && !document.getElementById("jupyterlab-splash")"""

#: Two frames: in the first, what draws itself is told of its size.
NARROW = """style => {
  let sheet = document.getElementById("narrow");
  if (!sheet) {
    sheet = document.createElement("style");
    sheet.id = "narrow";
    document.head.append(sheet);
  }
  sheet.textContent = style;
  const frame = () => new Promise(requestAnimationFrame);
  return frame().then(frame).then(frame);
}"""


class Notebook:
    """A notebook on a page."""

    def __init__(self, page, lab, name):
        self.page, self.name = page, name
        page.goto(lab.url(f"lab/tree/{name}.ipynb?reset"))
        self.wait()

    def wait(self):
        """Wait for a kernel that has nothing to do."""
        self.page.wait_for_function(READY, timeout=200_000)

    def start(self):
        """Begin to run all cells."""
        self.page.evaluate(RUN)

    def finish(self, seconds=200):
        """Wait until all cells have run; none may have failed."""
        self.page.wait_for_function("() => window.ran", timeout=1000 * seconds)
        outputs = [output for cell in self.cells() for output in cell.get("outputs", [])]
        errors = [o for o in outputs if o["output_type"] == "error"]
        assert not errors, "\n".join(errors[0]["traceback"])

    def run(self, seconds=200):
        """Run all cells."""
        self.start()
        self.finish(seconds)

    def cells(self):
        """Return the cells as the notebook's file would have them."""
        read = "() => window.jupyterapp.shell.currentWidget.context.model.toJSON().cells"
        return self.page.evaluate(read)

    def output(self, text):
        """Return what the cell shows whose source contains some text."""
        selector, index = self.place(text)
        return self.page.locator(selector).nth(index)

    def theme(self, name):
        """Change the theme, Light or Dark, and wait until it is seen."""
        change = "theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme})"
        self.page.evaluate(change, f"JupyterLab {name}")
        self.page.wait_for_function(THEMED, arg=str(name == "Light").lower())

    def narrow(self, width):
        """Make outputs so wide, and wait until what draws itself has seen it."""
        style = f"{OUTPUTS} {{ width: {width}px !important; flex: none !important; }}"
        self.page.evaluate(NARROW, style)

    def screens(self, name, locator, point=lambda: None):
        """Write a picture of an element in both themes; first point at something."""
        SCREENS.mkdir(parents=True, exist_ok=True)
        for theme in ("Dark", "Light"):
            self.theme(theme)
            point()
            locator.screenshot(path=str(SCREENS / f"{name}-{theme.lower()}.png"))

    def start_cell(self, text):
        """Begin to run one cell."""
        self.page.evaluate(RUN_ONE, self.index(text, self.cells()))

    def run_cell(self, text, seconds=200):
        """Run one cell, and wait for it."""
        self.start_cell(text)
        self.finish(seconds)

    def place(self, text):
        """Return the selector of outputs, and the index of the output of a cell."""
        codes = [cell for cell in self.cells() if cell["cell_type"] == "code"]
        return OUTPUTS, self.index(text, codes)

    def index(self, text, cells):
        """Return the index of the one cell whose source contains some text."""
        sources = ["".join(cell["source"]) for cell in cells]
        if text in sources:
            return sources.index(text)
        (found,) = [i for i, source in enumerate(sources) if text in source]
        return found
