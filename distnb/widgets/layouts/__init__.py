"""Pictures of layouts, side by side, and choosing one.

Reads specs only. The rooms of the widgets after it may import it, and ``magics``.
"""
