"""Choosing a layout by hand: boxes for axes and grid, and what they would mean, as a picture.

Only native controls are used, so all of it can be done with the keyboard. What a button does is
done when the cell that runs has ended. Where there are no widgets, the picture stays.
"""

from __future__ import annotations

from html import escape
from typing import Any

import ipywidgets as widgets

from distnb.client.batching.call_sites import user_frame
from distnb.common.errors import LayoutError, explain
from distnb.geometry.layout import Layout
from distnb.widgets.drawing.staying import Staying
from distnb.widgets.layouts.proposal import (
    KINDS,
    WHERE,
    Choice,
    Outlook,
    grids_of,
)

__all__ = ["LayoutChooser"]

_AUTOMATIC = "as square as possible"
#: Boxes go to the next line where there is no room.
_WRAPPED = {"flex_flow": "row wrap", "overflow": "visible"}


class LayoutChooser(Staying, widgets.VBox):
    """Boxes to choose a layout for an array; *Apply* moves the array there, in place.

    Parameters
    ----------
    array : DistArray
        All of a base.
    name : str, optional
        What the array is called in the line of code that does the same; by default as the code
        that calls this calls it.

    Attributes
    ----------
    choice : Choice
        What is chosen now.
    chosen : Layout or None
        The layout that this means, None if there is none such.
    outlook : Outlook or None
        What it would mean.
    """

    def __init__(self, array: Any, name: str | None = None) -> None:
        if not isinstance(name, str | None):
            raise TypeError(explain("name", type(name).__name__, "text", "choose for one array"))
        if not array.dview.is_whole(array.dbase.shape):
            raise LayoutError(
                explain("array to choose for", "a view", "a whole array", "choose for its base")
            )
        self.array, self.name = array, name or _name_of(array)
        self.chosen: Layout | None = None
        self.outlook: Outlook | None = None
        self._outputs = []
        start = Choice.of(array.dbase.layout, array.ndim)
        self._boxes(start)
        super().__init__(
            [self.lead, self.where, self.engine, *self._rows, self.grid, self._end(), self.view]
        )
        for box in (self.where, self.engine, self.grid, *self.kinds, *self.sizes, *self.weights):
            box.observe(self._changed, "value")
        self.apply_button.on_click(self.apply)
        self._offer(start.grid)
        self.update()

    # -- boxes -------------------------------------------------------------------------------

    def _boxes(self, start: Choice) -> None:
        style = {"description_width": "initial"}  # as wide as the words are
        fits = {"max_width": "100%"}
        self.where = widgets.ToggleButtons(
            options=WHERE, value=start.where, description="elements", style={"button_width": "auto"}
        )
        last = self.array.session.size - 1
        self.engine = widgets.BoundedIntText(
            start.engine, min=0, max=last, description="engine", style=style
        )
        self.kinds, self.sizes, self.weights, self._rows = [], [], [], []
        for a, n in enumerate(self.array.shape):
            kind = widgets.Dropdown(
                options=KINDS,
                value=start.kinds[a],
                description=f"axis {a}: {n:,}",
                style=style,
                layout=fits,
            )
            size = widgets.BoundedIntText(
                start.sizes[a], min=1, max=max(1, n), description="block size", style=style
            )
            weights = widgets.Text(
                start.weights[a],
                placeholder="1 2 1",
                description="weights",
                style=style,
                continuous_update=False,
            )
            self.kinds.append(kind)
            self.sizes.append(size)
            self.weights.append(weights)
            self._rows.append(widgets.HBox([kind, size, weights], layout=_WRAPPED))
        self.grid = widgets.Dropdown(options=[_AUTOMATIC], description="grid", style=style)
        self.lead, self.view = widgets.HTML(), widgets.HTML()

    def _end(self) -> Any:
        self.apply_button = widgets.Button(
            description="Apply", tooltip="Move the array to this layout, for the cells to come"
        )
        self.code = widgets.HTML()
        self.status = widgets.HTML()
        line = widgets.HBox([self.apply_button, self.code], layout=_WRAPPED)
        return widgets.VBox([line, self.status])

    def _offer(self, chosen: Any = None) -> None:
        """Offer the grids for as many axes as are split, and show the boxes that matter."""
        choice = self.choice
        sizes = grids_of(self.array.session.size, choice.split) if choice.split > 1 else []
        options: list[tuple[str, Any]] = [(_AUTOMATIC, None)]
        options += [(" x ".join(map(str, g)), g) for g in sizes]
        if chosen is not None and chosen not in sizes:
            options.append((" x ".join(map(str, chosen)), chosen))
        if tuple(options) != tuple(self.grid.options):
            self.grid.options, self.grid.value = options, chosen
        split = choice.where == "split"
        _show(self.engine, choice.where == "one engine")
        _show(self.grid, split and choice.split > 1)
        for row, kind, size, weights in zip(
            self._rows, choice.kinds, self.sizes, self.weights, strict=True
        ):
            _show(row, split)
            _show(size, kind == "block-cyclic")
            _show(weights, kind == "irregular")

    @property
    def choice(self) -> Choice:
        """What the boxes say."""
        grid = self.grid.value
        return Choice(
            tuple(box.value for box in self.kinds),
            tuple(box.value for box in self.sizes),
            tuple(box.value for box in self.weights),
            self.where.value,
            self.engine.value,
            None if grid == _AUTOMATIC else grid,
        )

    # -- what happens ------------------------------------------------------------------------

    def _changed(self, change: Any = None) -> None:
        self._offer()
        self.update()

    def update(self) -> None:
        """Show what the boxes say, and what it would mean."""
        choice, shape = self.choice, self.array.shape
        try:
            self.chosen = choice.layout(shape, self.array.session.size)
        except LayoutError as error:
            self.chosen = self.outlook = None
            self._tell(str(error))
            self.apply_button.disabled = True
            return
        self.outlook = Outlook(self.array, self.chosen, self.outlook)
        self.lead.value, self.view.value = self.outlook.lead(), self.outlook.html(lead=False)
        self.code.value = f"<code>{escape(choice.code(self.name, shape))}</code>"
        same = self.chosen == self.array.dbase.layout
        self.apply_button.disabled = same
        self._tell("This is where it lies now." if same else "")
        self._store()

    def apply(self, button: Any = None) -> None:
        """Move the array to what is chosen."""
        if self.chosen is None:
            return
        try:
            self.array.move(self.chosen)
        except Exception as error:
            self._tell(str(error))
            return
        self.update()
        self._tell(f"Done: {self.array.dbase.layout.spell()}, with all views and names of it.")

    def _tell(self, text: str) -> None:
        self.status.value = f'<span role="status">{escape(text)}</span>'

    def __repr__(self) -> str:
        return "<LayoutChooser>" if self.outlook is None else self.outlook.text()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        """Return the widget, and the picture and the numbers for where there are no widgets."""
        found = super()._repr_mimebundle_(include=include, exclude=exclude)
        data = dict(found[0] if isinstance(found, tuple) else found or {})
        if self.outlook is not None:
            data["text/plain"], data["text/html"] = self.outlook.text(), self._picture()
        return data

    def _picture(self) -> str:
        return "" if self.outlook is None else self.outlook.html()


def _name_of(array: Any) -> str:
    """Return the name of an array in the user's code, x if it has none."""
    frame = user_frame()
    known = {} if frame is None else {**frame.f_globals, **frame.f_locals}
    names = (name for name, value in known.items() if value is array)
    return next((n for n in names if n.isidentifier() and not n.startswith("_")), "x")


def _show(box: Any, on: bool) -> None:
    box.layout.display = "" if on else "none"
