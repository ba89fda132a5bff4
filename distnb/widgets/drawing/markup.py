"""Elements of SVG: what is in them is escaped, and each is closed, by construction."""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree.ElementTree import Element, tostring

__all__ = ["brief", "element", "pattern", "svg"]

#: The font of all pictures.
FONT = {"font_family": "sans-serif", "font_size": 10}


def element(tag: str, *inside: Element | str | None, **attributes: object) -> Element:
    """Return an element with others and text in it.

    Names of attributes have ``_`` for ``-``; what is None is left out.

    >>> tostring(element("text", "a < b", x=1, text_anchor="end"), encoding="unicode")
    '<text x="1" text-anchor="end">a &lt; b</text>'
    """
    given = {k.replace("_", "-"): str(v) for k, v in attributes.items() if v is not None}
    made = Element(tag, given)
    for part in inside:
        if isinstance(part, Element):
            made.append(part)
        elif part and len(made):
            made[-1].tail = (made[-1].tail or "") + part
        elif part:
            made.text = (made.text or "") + part
    return made


def pattern(name: str, size: int, *inside: Element) -> Element:
    """Return a pattern of square tiles, for ``fill="url(#name)"``."""
    return element(
        "pattern", *inside, id=name, width=size, height=size, patternUnits="userSpaceOnUse"
    )


def svg(
    title: str,
    description: str,
    size: tuple[float, float],
    inside: Iterable[Element],
    **attributes: object,
) -> str:
    """Return a picture as text: what it is and what it says come first, for those who listen."""
    words = [element("title", title), *([element("desc", description)] if description else [])]
    width, height = map(brief, size)
    start = {"role": "img", "xmlns": "http://www.w3.org/2000/svg", "width": width, "height": height}
    box = f"0 0 {width} {height}"  # so that it can be shown smaller
    made = element("svg", *words, *inside, **start, viewBox=box, **FONT, **attributes)
    # In text and attributes ">" is escaped, so this is the end of an element. Pages are small.
    return tostring(made, encoding="unicode").replace(" />", "/>")


def brief(value: float) -> str:
    """Return a coordinate with at most one digit after the point."""
    return f"{value:.1f}".removesuffix(".0")
