"""A mesh with the names of its parts: where the inflow is, and which cells are steel."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pde.fem.dolfinx_import import load
from pde.fem.errors import FemError


@dataclass(frozen=True)
class Meshed:
    """A mesh and its tags.

        fluid = shapes.channel(length=3.0, height=1.0, radius=0.2)
        F = ... * fluid.dx() - p * v * fluid.ds("left");    V = functionspace(fluid.mesh, ...)

    Attributes:
        mesh: dolfinx.mesh.Mesh.
        cell_tags, facet_tags: dolfinx MeshTags, or None.
        cell_names, facet_names: tag of each name.
    """

    mesh: Any
    cell_tags: Any = None
    facet_tags: Any = None
    cell_names: Mapping[str, int] = field(default_factory=dict)
    facet_names: Mapping[str, int] = field(default_factory=dict)

    def dx(self, *names: str | int) -> Any:
        """The measure of the named cells; of all cells without a name.

        Raises:
            FemError: there is no such name or tag.
        """
        whole = load().ufl.Measure("dx", self.mesh, subdomain_data=self.cell_tags)
        return whole(self._tags(names, self.cell_tags, self.cell_names, "cells")) if names else whole

    def ds(self, *names: str | int) -> Any:
        """The measure of the named facets of the boundary; of the whole boundary without a name.

        Raises:
            FemError: there is no such name or tag.
        """
        whole = load().ufl.Measure("ds", self.mesh, subdomain_data=self.facet_tags)
        return whole(self._tags(names, self.facet_tags, self.facet_names, "facets")) if names else whole

    def facets(self, *names: str | int) -> NDArray[np.int32]:
        """Numbers of the named facets on this process, sorted.

        Raises:
            FemError: there is no such name or tag.
        """
        tags = self._tags(names, self.facet_tags, self.facet_names, "facets")
        return np.unique(np.concatenate([self.facet_tags.find(tag) for tag in tags])).astype(np.int32)

    def dofs(self, V: Any, *names: str | int) -> Any:
        """Degrees of freedom of V, a space or (subspace, space), on the named facets, as `dirichletbc` takes them."""
        return load().fem.locate_dofs_topological(V, self.mesh.topology.dim - 1, self.facets(*names))

    def _tags(self, names: Any, tags: Any, known: Mapping[str, int], what: str) -> tuple[int, ...]:
        present = set() if tags is None else {int(value) for value in np.unique(tags.values)}
        # Another process may hold what this one does not.
        present = set().union(*self.mesh.comm.allgather(present)) | set(known.values())
        found = []
        for name in names:
            tag = known.get(name) if isinstance(name, str) else int(name)
            if tag is None or tag not in present:
                choice = ", ".join([*known, *(str(tag) for tag in sorted(present - set(known.values())))]) or "none"
                raise FemError(f"the mesh has no {what} tagged {name!r}: it has {choice}")
            found.append(tag)
        return tuple(found)


def tagged_boundary(mesh: Any, parts: Mapping[str, Any]) -> Meshed:
    """Tags 1, 2, ... for parts of the boundary, given as markers x : (3, k) -> (k,) bool, first come first served."""
    fe = load()
    rim = mesh.topology.dim - 1
    mesh.topology.create_connectivity(rim, mesh.topology.dim)
    tag_of: dict[int, int] = {}
    names = {name: tag for tag, name in enumerate(parts, 1)}
    for name, marker in parts.items():
        for facet in fe.mesh.locate_entities_boundary(mesh, rim, marker):
            tag_of.setdefault(int(facet), names[name])
    facets = np.array(sorted(tag_of), np.int32)
    values = np.array([tag_of[facet] for facet in facets.tolist()], np.int32)
    return Meshed(mesh, facet_tags=fe.mesh.meshtags(mesh, rim, facets, values), facet_names=names)


def mesh_of(points: NDArray[np.float64], cells: NDArray[np.int64], comm: Any = None) -> Any:
    """A dolfinx mesh of triangles or tetrahedra, spread over the processes.

    Args:
        points: (n, dim), used on process 0. cells: (m, 3 or 4), used on process 0. comm: None: all processes.
    """
    fe = load()
    comm = comm or fe.MPI.COMM_WORLD
    dim = points.shape[1]
    kind = {3: "triangle", 4: "tetrahedron", 2: "interval"}[cells.shape[1]]
    element = fe.basix.ufl.element("Lagrange", kind, 1, shape=(dim,))
    if comm.rank:
        points, cells = points[:0], cells[:0]
    return fe.mesh.create_mesh(comm, cells.astype(np.int64), element, np.ascontiguousarray(points, float))
