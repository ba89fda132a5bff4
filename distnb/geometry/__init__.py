"""Who owns which element: sections, kinds of axes, layouts, views, overlaps.

Pure arithmetic on integers and tuples; no data, no messages. Everybody may import it but
``common``.
"""
