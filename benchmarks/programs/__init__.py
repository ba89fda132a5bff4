"""Small programs as scientists write them for NumPy, for NumPy and distnb side by side."""
