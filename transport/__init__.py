"""Exact Wasserstein barycenters and distances."""
