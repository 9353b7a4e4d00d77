"""Members too thin to trust, found on the voxels by openings with cubes of growing size."""

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import binary_dilation, binary_opening, find_objects, label

Mask = NDArray[np.bool_]


def thinnest(mask: Mask, widest: int = 4) -> tuple[int, int]:
    """Width in voxels of the thinnest member, up to `widest`, and how many are that thin. mask : (nx, ny, nz).

    A member is thinner than k if an opening with a cube of k voxels removes it and what was removed joins two parts of
    the rest that are not joined within two voxels of it anyway. Bumps and fins are not members. One layer is opened in
    its plane. A slanted member counts as up to a voxel thinner than it is.
    """
    for k in range(2, widest + 1):
        bridges = _bridges(mask, k)
        if bridges:
            return k - 1, bridges
    return widest, 0


def _bridges(mask: Mask, k: int) -> int:
    cube = np.ones([k if n > 1 else 1 for n in mask.shape], bool)
    opened: Mask = np.asarray(binary_opening(mask, cube), bool)
    touch = np.ones((3, 3, 3), bool)
    thin = np.zeros(mask.shape, np.int32)
    label(mask & ~opened, touch, output=thin)
    bridges = 0
    for number, place in enumerate(find_objects(thin), start=1):
        around = tuple(slice(max(0, s.start - 2), s.stop + 2) for s in place)
        near = np.zeros(thin[around].shape, np.int32)
        label(opened[around], touch, output=near)
        contact = np.asarray(binary_dilation(thin[around] == number, touch), bool) & (near > 0)
        bridges += len(np.unique(near[contact])) > 1
    return bridges
