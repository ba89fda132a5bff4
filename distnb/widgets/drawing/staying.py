"""Widgets with a picture that stays in the notebook when they have gone, with their kernel."""

from __future__ import annotations

import contextlib
from typing import Any

from distnb.client.reports.referrers import shell

__all__ = ["Staying"]

#: For the stylesheet: the picture is not seen where the widget above it lives.
_MARK = '<span class="distnb-stored"></span>'


class Staying:
    """Is displayed as a widget, and below it as a picture for a notebook that is opened again.

    A notebook's file has no widgets, and JupyterLab takes no other form of an output that has one:
    hence a second output.
    """

    #: Where it is displayed: the widget, and the picture.
    _outputs: list[tuple[Any, Any]]
    _repr_mimebundle_: Any

    def _picture(self) -> str:
        """Return a page of what there is now; none if the widget has become a page itself."""
        raise NotImplementedError

    def _stored(self) -> dict[str, str]:
        page = self._picture()
        return {"text/plain": "", "text/html": page and page + _MARK}

    def _store(self) -> None:
        """Bring the pictures up to date."""
        for _, stored in self._outputs:
            with contextlib.suppress(Exception):  # nobody is there to see it
                stored.update(self._stored(), raw=True)

    def _ipython_display_(self) -> None:
        from IPython.display import display

        found = self._repr_mimebundle_()
        bundle, metadata = found if isinstance(found, tuple) else (found, {})
        stays = self._picture() and getattr(shell(), "kernel", None) is not None
        if stays:  # two pages of one widget might disagree
            bundle["text/html"] = ""
        shown = display(bundle, metadata=metadata, raw=True, display_id=True)
        if stays:
            self._outputs.append((shown, display(self._stored(), raw=True, display_id=True)))
