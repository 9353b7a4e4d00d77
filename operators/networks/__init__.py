"""Networks Psi(x; x_r, u_r) from features at points to values there; the reference may be absent.

Each is called as `psi(x, reference, mask, weights)`: x : (B, M, inputs), reference (x_r : (B, M, inputs),
u_r : (B, M, outputs)) or None, mask and weights : (B, M) or None; -> (B, M, outputs). `increment`, called in the same
way with a reference, is Psi(x; x_r, u_r) - Psi(x_r; x_r, u_r).
"""
