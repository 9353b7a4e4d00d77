"""Exact Wasserstein barycenters and distances of densities on a grid, with certificates.

from transport import barycenter, w2

found = barycenter([mu, nu], weights=[1, 2])      # arrays of one shape, two or three axes
found.density, found.shape_value, found.shape_bound
"""

from transport.ascent import Row, Settings
from transport.barycenter import Barycenter, barycenter, barycenters
from transport.debiased import DebiasedSettings
from transport.distance import Distance, w2
from transport.domain import Domain
from transport.errors import AscentError, ImageError, TransportError
from transport.published import PublishedSettings

__all__ = [
    "AscentError",
    "Barycenter",
    "DebiasedSettings",
    "Distance",
    "Domain",
    "ImageError",
    "PublishedSettings",
    "Row",
    "Settings",
    "TransportError",
    "barycenter",
    "barycenters",
    "w2",
]
