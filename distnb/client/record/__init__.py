"""What all functions are made of: the handle of an array, and how operations on it are recorded.

Public functions belong in the rooms after this one (but creation), which may all import it.
"""
