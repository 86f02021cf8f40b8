"""MathVista, and how values of its types are compared."""
