"""Inverse of the Neumann Laplacian by cosine transforms: the gradient of the dual in the Sobolev space H^1.

    -Laplace g = r,  dg/dn = 0,  mean(g) = 0:     g^_k = r^_k / sum_a 2 (1 - cos(pi k_a / n_a)) / h_a^2

is the exact inverse of the (2d+1)-point stencil; the DCT-II diagonalises it (Strang 1999).
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from transport.domain import Domain

Field = NDArray[np.float64]


def inverse_laplacian(r: NDArray, domain: Domain, *, threads: int = 1) -> tuple[NDArray, Field]:
    """Solve for every right-hand side of a stack; it is overwritten.

    Args:
        r: (m, n_1, ..., n_d) float64 or float32; the mean of each right-hand side is ignored.

    Returns:
        g, same shape and type, each of mean zero, and the squared dual norms |r|^2_{H^-1} = <r, g> / N : (m,) float64.
    """
    axes = tuple(range(1, 1 + domain.dim))
    spectrum: NDArray = fft.dctn(r, axes=axes, norm="ortho", workers=threads, overwrite_x=True)  # type: ignore[assignment]
    energy = np.empty(len(spectrum))
    inverse = inverse_eigenvalues(domain, r.dtype == np.float32)
    for i, s in enumerate(spectrum):
        scaled = s * inverse
        energy[i] = np.vdot(s, scaled) / domain.size
        s[...] = scaled
    return fft.idctn(spectrum, axes=axes, norm="ortho", workers=threads, overwrite_x=True), energy  # type: ignore[return-value]


@lru_cache(maxsize=4)
def inverse_eigenvalues(domain: Domain, single: bool) -> NDArray:
    axes = [2 * (1 - np.cos(np.pi * np.arange(n) / n)) / h**2 for n, h in zip(domain.shape, domain.steps, strict=True)]
    eigenvalues = np.sum(np.meshgrid(*axes, indexing="ij"), axis=0)
    eigenvalues[(0,) * domain.dim] = np.inf
    return (1 / eigenvalues).astype(np.float32 if single else np.float64)
