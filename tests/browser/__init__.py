"""JupyterLab as people see it, in a real browser."""
