"""Draws docs/images/optimizers.svg: how the design optimizers converge. `python docs/optimizers.py`"""

import argparse
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt

import optim
from optim import Stop
from optim.design import GCMMA, MMA, SQP, AugmentedLagrangian, OptimalityCriteria
from topopt import Settings, presets
from topopt.density import DensityDesign
from topopt.functional import ComplianceFunctional, posed

HERE = Path(__file__).parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--evaluations", type=int, default=100, help="on the beam")
    parser.add_argument("--out", type=Path, default=HERE / "images" / "optimizers.svg")
    options = parser.parse_args()
    plt.rcParams.update({"svg.hashsalt": "optimizers", "font.size": 10, "axes.spines.top": False})
    plt.rcParams["axes.spines.right"] = False
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    beam(left, options.evaluations)
    toy(right)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(options.out, metadata={"Date": None})


def beam(axes: Any, evaluations: int) -> None:
    """Compliance of the MBB beam, where the volume is met."""
    J = ComplianceFunctional(DensityDesign(presets.mbb_beam(60, 20), Settings(radius=2.4)))
    stop = Stop(max_iter=evaluations, max_evals=evaluations, tol_kkt=None, tol_x=None)
    for name, method in [("OC", OptimalityCriteria()), ("MMA", MMA(move=0.2)), ("GCMMA", GCMMA(move=0.2))]:
        history = optim.minimize(posed(J), J.x0, method, stop=stop).history
        axes.semilogy(history["n_f"], history["f"], label=name)
    axes.set(xlabel="evaluations", ylabel="compliance", title="MBB beam, 60 x 20", ylim=(225, 700))
    axes.set_yticks([230, 250, 300, 400, 500, 700], ["230", "250", "300", "400", "500", "700"])
    axes.minorticks_off()
    axes.legend(frameon=False)


def toy(axes: Any) -> None:
    """Nearest point to the origin in two balls (Svanberg 2007)."""
    centres = np.array([[5.0, 2, 1], [3, 4, 3]])
    f = optim.smooth(lambda x: (x @ x, 2 * x))
    balls = optim.constraint(lambda x: (((x - centres) ** 2).sum(1) - 9, 2 * (x - centres)))
    problem, x0 = optim.Problem(f, None, 0.0, 5.0, (balls,)), np.array([4.0, 3, 2])
    methods = {
        "MMA": MMA(),
        "GCMMA": GCMMA(),
        "SQP": SQP(),
        "SLP": SQP(hessian="none", move=0.5),
        "augmented Lagrangian": AugmentedLagrangian(),
    }
    for name, method in methods.items():
        history = optim.minimize(problem, x0, method, stop=Stop(tol_kkt=1e-9, tol_feas=1e-9, max_iter=40)).history
        axes.semilogy(history["n_f"], np.maximum(history["kkt"], history["feas"]), marker=".", label=name)
    axes.set(xlabel="evaluations", ylabel="distance from optimality", title="Two balls, three variables", xlim=(0, 80))
    axes.legend(frameon=False)


if __name__ == "__main__":
    main()
