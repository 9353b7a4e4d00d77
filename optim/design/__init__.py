"""Optimizers for designs: many bounded variables, few constraints, expensive gradients."""

from optim.design.augmented_lagrangian import AugmentedLagrangian
from optim.design.gcmma import GCMMA
from optim.design.mma import MMA
from optim.design.oc import OptimalityCriteria
from optim.design.projected_lbfgs import ProjectedLBFGS
from optim.design.sqp import SQP
from optim.design.trust_region_newton import TrustRegionNewton

__all__ = [
    "GCMMA",
    "MMA",
    "SQP",
    "AugmentedLagrangian",
    "OptimalityCriteria",
    "ProjectedLBFGS",
    "TrustRegionNewton",
]
