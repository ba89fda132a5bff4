"""Every view of a notebook, as a cell that shows it, with the question that it is to answer."""

from dataclasses import replace
from typing import NamedTuple

from distnb.client.reports.scaling import Run, Scaling
from distnb.measure.events import Moment, Notebook
from tests.unit.runs import MS, report, span, step

START = """import time
import numpy as np
import distnb as dnb
%load_ext distnb
session = dnb.inprocess(4)
dnb.config.cutoff, dnb.config.place = 0, "engines"
from distnb.widgets import TimeReport
from distnb.widgets.times.scaling import ScalingReport
from tests.browser import views
A = dnb.random.default_rng(0).random((2000, 1000))
B = dnb.ones((160, 160), dist=("block", "block"))
skew = dnb.ones(2_000_000, dist=("irregular", (0, 200_000, 600_000, 1_800_000, 2_000_000)))"""


class View(NamedTuple):
    """A view: the question that it answers in five seconds, and the cell that shows it.

    Other cells run before, or after.
    """

    question: str
    cell: str
    before: str = ""
    after: str = ""

    @property
    def cells(self):
        """All of its cells."""
        return [cell for cell in (self.before, self.cell, self.after) if cell]


VIEWS = {
    "array": View("What is in it, and who holds it?", "A"),
    "view": View("Which part of its base is it?", "A[10:900, ::-2]"),
    "number": View("What is the number?", "A.mean()"),
    "layout": View("Who owns which elements?", "B.layout"),
    "several": View("What is sent if I combine them?", "%distlayout B B.T"),
    "sparse": View(
        "What is in it, and who holds it?",
        "S",
        "S = dnb.sparse.random_array((2000, 1000), density=0.002, rng=0)",
    ),
    "report": View("What cost most, what should I do, and where?", "TimeReport(views.stencil())"),
    "comparison": View(
        "Is it faster now, and by what?",
        "TimeReport(views.stencil(1)).diff(TimeReport(views.stencil()))",
    ),
    "timeline": View("Who waits for whom, and when?", "TimeReport(views.stencil()).timeline()"),
    "chooser": View(
        "What would another layout save?",
        "chooser = dnb.choose_layout(B)\nchooser.kinds[0].value = 'whole'\nchooser",
        "shifted = B[1:] + B[:-1]\nshifted.sum().item()",
    ),
    "scaling": View(
        "Is it worth more engines, and what is in the way?", "ScalingReport(views.scaling())"
    ),
    "memory": View("What fills the memory?", "%distmem"),
    "doctor": View("What could be cheaper?", "%distdoctor", "for i in range(40):\n    B[i, 0] = i"),
    "status": View("Which engines have I?", "%distnb status"),
    "dashboard": View(
        "Who is busy, who holds most, what can go?",
        "board = dnb.dashboard()\nboard",
        after="for _ in range(8):\n    C = np.sqrt(A) + A[::-1]\n    C.sum().item()\n    board.refresh()",
    ),
}


def stencil(excess=2):
    """Return the report of a loop over an array of which one engine holds more than the others."""
    lines = ("In [3] line 2: t = a[1:] + a[:-1]", "In [3] line 3: a[1:] = t / 2")
    steps, now = [], 2.0
    moments = [Moment(0, 0, 0, 0), Moment(round(2 * MS), round(2 * MS), 0, 0)]
    for k in range(12):
        last = 4.0 + 2.0 * (k % 2)
        own = last / 2 if excess == 2 else last * 2 / 3 - 0.3
        most = last - 0.3 if excess == 2 else own
        wait = most + 0.3 - own - 0.3
        spans = [
            span(now, own, wait, 0.2, 0.1, waits=[(2, wait)] if wait > 0 else []),
            span(now, own, wait, 0.2, 0.1, waits=[(2, wait)] if wait > 0 else []),
            span(now, most, 0, 0.2, 0.1, sent=[(1, 1, 8000)]),
        ]
        op = ("add", "divide")[k % 2]
        held = (500, 500, 500 * excess)
        steps.append(step(*spans, op=op, line=lines[k % 2], held=held))
        now += most + 0.3
        if k % 3 == 2:
            pause, did = 0.8, moments[-1].computed
            ends = round(now * MS), round((now + pause) * MS)
            moments += [Moment(ends[0], did, 0, 0), Moment(ends[1], did + round(0.7 * MS), 0, 0)]
            now += pause
    did = Notebook(moments[-1].computed / 1e9, moments=tuple(moments))
    return replace(report(steps), notebook=did)


def scaling():
    """Return runs on 1, 2, 4 and 8 engines, of which more and more time is spent waiting."""
    runs = [
        Run(n, 8.0 / n + 0.15 * (n - 1), (8.0 + 0.05 * n, 0.07 * n * (n - 1), 0.02 * n * (n - 1)))
        for n in (1, 2, 4, 8)
    ]
    return Scaling(
        tuple(
            run._replace(spent=(*run.spent, 0.0, run.engines * run.seconds - sum(run.spent)))
            for run in runs
        )
    )
