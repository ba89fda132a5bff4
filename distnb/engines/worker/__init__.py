"""Runs batches: decodes, runs each command or group, agrees on failures.

``engines.server`` may import it.
"""
