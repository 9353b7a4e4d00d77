"""The matrix-free engine: generated C kernels in mode space under multigrid-preconditioned conjugate gradients."""
