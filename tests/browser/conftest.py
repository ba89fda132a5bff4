"""JupyterLab and a browser for tests: both are new, live in temporary folders, and end here.

Nothing but 127.0.0.1 is reached. Where there is no Chromium, these tests are skipped.
"""

import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from urllib.request import urlopen

import nbformat
import pytest

from tests.browser.support import ROOT

#: Seconds after which `timeout` ends a server, should nobody else do it; until when it is used.
WATCHDOG, FRESH = 900, 600
SETTINGS = {
    # All cells are drawn, seen or not.
    "notebook-extension/tracker": {"windowingMode": "none", "recordTiming": False},
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
}
CHROMIUM = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    # No names but this machine's are looked up.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
KERNELSPEC = {"name": "python3", "display_name": "Python 3", "language": "python"}


@pytest.fixture(scope="session")
def chromium():
    """The path of Chromium."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if path := shutil.which(name):
            return path
    return pytest.skip("no Chromium: apt-get install chromium")


@pytest.fixture(scope="package")
def browser(chromium, tmp_path_factory):
    """A browser with an empty profile, which knows JupyterLab from the second module on.

    It does not stay for the other tests of this process: its driver has a running event loop and
    a stack of its own. (The folder is a package, for else that scope would be the whole run.)
    """
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            str(tmp_path_factory.mktemp("browser")),
            executable_path=chromium,
            args=list(CHROMIUM),
            viewport={"width": 1280, "height": 2000},
        )
        context.set_default_timeout(200_000)
        yield context
        context.close()


@pytest.fixture(scope="module")
def page(browser):
    """A page for the tests of a module; errors in scripts of widgets fail."""
    found = browser.new_page()
    errors = []
    found.on("pageerror", lambda error: errors.append(f"{error}\n{error.stack}"))
    yield found
    found.close()
    # anywidget loads ours as blobs; what JupyterLab itself does wrong is not ours to mend
    assert not [error for error in errors if "blob:" in error]


class Lab:
    """A running JupyterLab."""

    def __init__(self, folder):
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.token = secrets.token_hex(16)
        self.log = folder / "lab.log"
        self.root = folder / "notebooks"
        self.root.mkdir()
        for name, values in SETTINGS.items():
            path = folder / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
            path.parent.mkdir(parents=True)
            path.write_text(json.dumps(values))
        self.until = time.monotonic() + FRESH
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                self._command(), env=self._environment(), stdout=log, stderr=log, cwd=folder
            )

    def _command(self):
        watched = ["timeout", "-k", "5", str(WATCHDOG)] if shutil.which("timeout") else []
        return [
            *watched,
            *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"),
            *("--ip=127.0.0.1", f"--port={self.port}", "--ServerApp.port_retries=0"),
            *(f"--IdentityProvider.token={self.token}", f"--ServerApp.root_dir={self.root}"),
            *("--LabApp.expose_app_in_browser=True", "--LabApp.extension_manager=readonly"),
            *("--ServerApp.terminals_enabled=False", "--ServerApp.use_redirect_file=False"),
        ]

    def _environment(self):
        folders = ("config", "data", "runtime")
        own = {f"JUPYTER_{name.upper()}_DIR": str(self.folder / name) for name in folders}
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        return {
            **os.environ,
            **own,
            "JUPYTERLAB_SETTINGS_DIR": str(self.folder / "settings"),
            "JUPYTERLAB_WORKSPACES_DIR": str(self.folder / "workspaces"),
            "IPYTHONDIR": str(self.folder / "ipython"),
            "PYTHONPATH": path,  # kernels import what is tested
        }

    def wait(self, seconds=200):
        """Return when the server answers."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.process.poll() is None:
            try:
                with urlopen(f"{self.url('api')}", timeout=60):
                    return
            except OSError:
                time.sleep(0.1)
        pytest.fail(f"JupyterLab did not start:\n{self.log.read_text()[-4000:]}")

    def url(self, path):
        mark = "&" if "?" in path else "?"
        return f"http://127.0.0.1:{self.port}/{path}{mark}token={self.token}"

    def stop(self):
        """End the server, and with it the kernels."""
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def add(self, name, *cells):
        """Write a notebook of code cells."""
        made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
        made.metadata["kernelspec"] = KERNELSPEC
        nbformat.write(made, self.root / f"{name}.ipynb")


@pytest.fixture(scope="session")
def labs(chromium):
    """The servers that run; workers of xdist may come back to these tests much later."""
    found = []
    yield found
    for lab in found:
        lab.stop()


@pytest.fixture(scope="module")
def lab(labs, tmp_path_factory):
    """JupyterLab; kernels import this tree."""
    if not labs or time.monotonic() > labs[-1].until:
        labs.append(Lab(tmp_path_factory.mktemp("lab")))
        labs[-1].wait()
    return labs[-1]
