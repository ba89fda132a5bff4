"""Small array programs, written for NumPy. Each is a function of the namespace and of a size."""
