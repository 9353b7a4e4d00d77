"""The neural back-end: one latent space for ellipses, triangles and quadrilaterals, and a network for their field.

from topopt.features.neural.backend import Neural

After the published method of Heaviside-SDF topology optimisation (ICML 2025): `codes` is its shape code, `samples` its
training data, `networks` and `training` its networks, `placement` and `backend` its use in a design, `outlines` the way
to exact shapes. The modules `networks` and `model` need torch and are imported where they are used.
"""
