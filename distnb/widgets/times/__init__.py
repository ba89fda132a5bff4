"""Reports as HTML, text, plots and timeline.

Reads reports only. The rooms of the widgets after it may import it, and ``magics``.
"""
