"""Fourier transforms, convolution, polynomials and windows.

Rooms of the client after it may import it.
"""
