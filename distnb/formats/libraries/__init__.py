"""Formats that other libraries read and write: pictures, tables, groups of arrays.

Each module knows one format, and imports its library when it is used. What needs none is beside
this room. The table of all formats, rooms after this one and the client's tables may import it.
"""
