"""NumPy's own tests, run on distnb: ``python -m tools.numpy_suite`` (``make numpy-suite``).

NumPy's wheel carries its tests. Those that are about arrays (``scope``) run as they are, but for
what their imports find (``doors``): distnb, with arrays on three engines in this process, and never
NumPy in place of a public name. They run first on NumPy itself, through the same doors: what fails
there does not apply. What fails on distnb is sorted (``verdicts``) and counted, as JSON and as a
page (``page``).
"""
