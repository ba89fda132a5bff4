"""What all pictures share: words, numbers, tables, bars, elements of SVG and HTML.

All rooms of the widgets may import it.
"""
