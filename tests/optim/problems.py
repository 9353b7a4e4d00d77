"""Problems with known answers, written once for NumPy, torch and JAX. Sources: Svanberg (1987, 2007), Hock and
Schittkowski (1981)."""

from typing import Any

import numpy as np

import optim

LIBRARIES = ("numpy", "torch", "jax")


def library(name: str) -> tuple[Any, Any]:
    """(array, stack)"""
    if name == "numpy":
        return np.asarray, np.stack
    if name == "torch":
        import torch

        return lambda a: torch.as_tensor(np.asarray(a)), torch.stack
    import jax

    jax.config.update("jax_enable_x64", True)
    return jax.numpy.asarray, jax.numpy.stack


def toy(name: str = "numpy") -> tuple[optim.Problem, Any]:
    """Svanberg's toy: nearest point to the origin in two balls. f* = 8.7702459028."""
    array, _ = library(name)
    a = array([[5.0, 2, 1], [3, 4, 3]])
    f = optim.smooth(lambda x: (x * x).sum(), grad=lambda x: 2 * x, hvp=lambda x, v: 2 * v)
    g = optim.constraint(lambda x: ((x - a) * (x - a)).sum(1) - 9, jac=lambda x: 2 * (x - a))
    return optim.Problem(f, None, 0.0, 5.0, (g,)), array([4.0, 3, 2])


TOY = np.array([2.01751859, 1.78001144, 1.23750715])
K = np.array([61, 37, 19, 7, 1.0])


def beam() -> tuple[optim.Problem, Any]:
    """Cantilever of five segments: f* = .0624 S^(4/3), x* = c^(1/4) S^(1/3), S = sum c^(1/4)."""
    f = optim.smooth(lambda x: (0.0624 * x.sum(), np.full(5, 0.0624)))
    g = optim.constraint(lambda x: (np.array([(K / x**3).sum() - 1]), (-3 * K / x**4)[None]))
    return optim.Problem(f, None, 1.0, 10.0, (g,)), np.full(5, 5.0)


def truss() -> tuple[optim.Problem, Any]:
    """Two bars: area x1 and half-width x2 of the supports. f* = 1.5086524175."""

    def weight(x):
        length = np.sqrt(1 + x[1] ** 2)
        return x[0] * length, np.array([length, x[0] * x[1] / length])

    def stress(x):
        length, sign = np.sqrt(1 + x[1] ** 2), np.array([1, -1.0])
        q = 8 / x[0] + sign / (x[0] * x[1])
        by_area = 0.124 * length * (-8 / x[0] ** 2 - sign / (x[0] ** 2 * x[1]))
        by_width = 0.124 * (x[1] / length * q - length * sign / (x[0] * x[1] ** 2))
        return 0.124 * length * q - 1, np.stack([by_area, by_width], 1)

    problem = optim.Problem(
        optim.smooth(weight), None, np.array([0.2, 0.1]), np.array([4, 1.6]), (optim.constraint(stress),)
    )
    return problem, np.array([1.5, 0.5])


def hs71(name: str = "numpy") -> tuple[optim.Problem, Any]:
    array, stack = library(name)
    f = optim.smooth(
        lambda x: x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2],
        grad=lambda x: stack(
            [x[3] * (2 * x[0] + x[1] + x[2]), x[0] * x[3], x[0] * x[3] + 1, x[0] * (x[0] + x[1] + x[2])]
        ),
    )
    g = optim.constraint(lambda x: stack([25 - x.prod()]), jac=lambda x: -(x.prod() / x)[None])
    h = optim.constraint(lambda x: stack([(x * x).sum() - 40]), "eq", jac=lambda x: 2 * x[None])
    return optim.Problem(f, None, 1.0, 5.0, (g, h)), array([1.0, 5, 5, 1])


def on_a_line() -> tuple[optim.Problem, Any]:
    """min x^2 + y^2 with x + y = 1: (1/2, 1/2), multiplier -1."""
    h = optim.constraint(lambda x: (np.array([x.sum() - 1]), np.ones((1, 2))), "eq")
    return optim.Problem(optim.smooth(lambda x: (x @ x, 2 * x)), constraints=(h,)), np.array([3.0, -1.0])


def rosenbrock(n: int, name: str = "numpy", lower: float | None = None, upper: float | None = None) -> Any:
    from scipy.optimize import rosen_der, rosen_hess_prod

    array, _ = library(name)

    def fn(x):
        return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()

    f = optim.smooth(fn, grad=rosen_der, hvp=rosen_hess_prod) if name == "numpy" else optim.smooth(fn)
    return optim.Problem(f, None, lower, upper), array(np.full(n, -1.2))
