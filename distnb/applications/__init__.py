"""Algorithms on graphs and data, each a page of array code as a user would write it.

They use what :mod:`distnb` offers everybody and nothing else; nothing of distnb imports them but
:mod:`distnb.graph` and :mod:`distnb.learn`.
"""
