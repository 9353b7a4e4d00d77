"""Solid parts that hang together with no support: they float in the void, carry nothing and slow the solver down."""

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import label

# An element is solid if its modulus is above this share of the largest.
SOLID = 1e-4


def floating(modulus: NDArray[np.float64], anchors: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Solid elements of the parts that touch no anchor. Parts are connected through faces.

    Args:
        modulus: (*shape,).
        anchors: (*node_shape,), nodes that are held (or otherwise of interest).

    Returns:
        (*shape,) bool.
    """
    parts = np.zeros(modulus.shape, np.int32)
    anchored = np.zeros(label(solid(modulus), output=parts) + 1, bool)  # type: ignore[operator]
    anchored[parts[touching(anchors)]] = True
    anchored[0] = True
    return ~anchored[parts]


def solid(modulus: NDArray[np.float64]) -> NDArray[np.bool_]:
    return modulus > SOLID * modulus.max()


def touching(nodes: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Elements of which at least one corner is marked. nodes : (*node_shape,) -> (*shape,)"""
    for axis in range(nodes.ndim):
        nodes = np.moveaxis(nodes, axis, 0)
        nodes = np.moveaxis(nodes[1:] | nodes[:-1], 0, axis)
    return nodes


def corners(elements: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Nodes that are corners of marked elements. elements : (*shape,) -> (*node_shape,)"""
    return touching(np.pad(elements, 1))
