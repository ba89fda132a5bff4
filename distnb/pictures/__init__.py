"""Pictures of large arrays by matplotlib, made of what engines reduce to the pixels of the axes.

They use what :mod:`distnb` offers everybody; nothing of distnb imports them but :mod:`distnb.plot`
and the extension for notebooks.
"""
