"""How much memory a solve on a grid takes, told before it is started."""

# Nodes outnumber elements, and grids are padded so that they can be halved: a tenth more, in practice.
MARGIN = 1.1
# Factor of the coarsest matrix, compiled kernels, index lists, vectors of loads that go together: bytes.
BASE = 32 * 2**20


def bytes_needed(n_elements: int, dim: int, dofs: int, cases: int = 1) -> int:
    """Bytes that the native back-end allocates, with one modulus and energy field of the caller and a force and a
    solution for each load case.

    Args:
        n_elements: in the whole grid, void included.
        dim: 2 or 3.
        dofs: values per node: `dim` for elasticity, 1 for conduction.
        cases: loads that are solved in one call.
    """
    return BASE + int(n_elements * _bytes_per_element(dim, dofs, cases))


def elements_that_fit(available_bytes: int, dim: int, dofs: int, cases: int = 1) -> int:
    """The largest grid that `bytes_needed` puts into so much memory; 0 if there is none."""
    return max(0, int((available_bytes - BASE) / _bytes_per_element(dim, dofs, cases)))


def _bytes_per_element(dim: int, dofs: int, cases: int) -> float:
    children, active = 2**dim, (2**dim - 1) * dofs
    packed = active * (active + 1) // 2
    double = 8 * (3 * dofs + 3 + 2 * dofs * cases)  # r, p, q; modulus twice and energies; x and force of each case
    single = 4 * (3 * dofs + 2)  # b, z, d of the cycle; modulus and inverse diagonal
    masks = dofs + 1
    coarse_vectors = 4 * 4 * dofs / (children - 1)  # b, z, d, D^-1 on all coarser levels
    coarse_matrices = 4 + 4 * packed / children / (children - 1)  # Hadamard moduli, packed matrices from level 2 on
    return MARGIN * (double + single + masks + coarse_vectors + coarse_matrices)
