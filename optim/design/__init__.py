"""Optimizers for designs: many bounded variables, few constraints, expensive gradients."""
