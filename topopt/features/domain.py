"""A planar part as it is set up: a face with holes, supports and loads by place, and what must stay.

Places are functions of points, so the same supports and loads serve the mesh of the optimiser and, later, that of the
finished outline (`topopt.cad.outline`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pde.grid import Elasticity
from topopt.cad.outline import OutlineAnalysis, PlanarLoad, PlanarSupport, outline_compliance
from topopt.cad.region import Region
from topopt.cad.wires import Wire
from topopt.features.errors import FeatureError
from topopt.features.mesh import Mesh, mesh_of
from topopt.features.pixel_domain import pixel_problem
from topopt.features.pixels import PixelPlate
from topopt.features.plate import SOFT, TrianglePlate
from topopt.features.problem import FeatureProblem
from topopt.features.shapes import Shape
from topopt.interpolation import SIMP

if TYPE_CHECKING:
    from topopt.cad.parameters import PlanarDesign
    from topopt.features.finish import Result

Field = NDArray[np.float64]
Where = Callable[[Field], NDArray[np.bool_]]
NEAR = 1e-6  # mm
SLIVER = 0.5  # of an element: chips of less mean width are not seen by the optimiser, and are left out


@dataclass(frozen=True)
class Domain:
    """A face and what acts on it.

    Args:
        region: the face, mm. supports: at least one. cases: load cases, each a list of loads that act together.
        weights: of the cases, default 1 each.
        keep: closed wires within which material stays; they may reach beyond the face.
        E: Young's modulus, MPa. nu: Poisson's ratio. plane: "strain" or "stress". thickness: mm.
    """

    region: Region
    supports: tuple[PlanarSupport, ...]
    cases: tuple[tuple[PlanarLoad, ...], ...]
    weights: tuple[float, ...] = ()
    keep: tuple[Wire, ...] = ()
    E: float = 1.0
    nu: float = 0.3
    plane: str = "strain"
    thickness: float = 1.0

    def mesh(self, h: float) -> Mesh:
        """Triangles of edge h mm, with nodes at the anchors of the loads."""
        return mesh_of(self.region, h, [anchor for case in self.cases for load in case for anchor in load.anchors])

    def plate(self, mesh: Mesh | float, interpolation: SIMP = SOFT) -> TrianglePlate:
        """On a mesh, or on one of triangles of so many mm.

        Raises:
            FeatureError: a support or a load without a node.
        """
        mesh = mesh if isinstance(mesh, Mesh) else self.mesh(mesh)
        fixed = np.zeros((len(mesh.nodes), 2), bool)
        for number, support in enumerate(self.supports, 1):
            fixed[_found(support.where, mesh.nodes, f"support {number}")] |= np.array(support.components)
        forces = np.zeros((len(self.cases), len(mesh.nodes), 2))
        for number, case in enumerate(self.cases):
            for load in case:
                found = _found(load.where, mesh.nodes, f"a load of case {number + 1}")
                forces[number, found] += np.array(load.force) / found.sum()
        material = Elasticity(nu=self.nu, element="standard", plane=self.plane)  # pyright: ignore[reportArgumentType]
        return TrianglePlate(mesh, fixed, forces, self.weights, material, self.E, self.thickness, interpolation)

    def pixels(self, h: float, interpolation: SIMP = SOFT) -> PixelPlate:
        """On the grid engine, with pixels of about h mm; see `topopt.features.pixel_domain`.

        Raises:
            FeatureError: a support or a load without a node. DesignError: a piece that nothing holds.
        """
        return PixelPlate(pixel_problem(self, h), interpolation)

    def kept(self, points: Field) -> NDArray[np.bool_]:
        """Which points (m, 2) lie where material stays, (m,)."""
        out = np.zeros(len(points), bool)
        for wire in self.keep:
            out |= wire.contains(points)
        return out

    def problem(
        self,
        plate: TrianglePlate | PixelPlate,
        goal: float,
        start: Sequence[Shape],
        name: str = "",
        *,
        solid: bool = False,
    ) -> FeatureProblem:
        """What `optimize` takes. goal: volume fraction of the face. solid: the features are bars."""
        return FeatureProblem(plate, goal, tuple(start), self.kept(plate.points), solid, name=name)

    def design(self, result: "Result", name: str = "") -> "PlanarDesign":
        """The finished part as it is edited and exported: `topopt.cad.planar_export.export_design` writes STEP, DXF,
        SVG and the parameters."""
        from topopt.cad.parameters import PlanarDesign, domain_of, shape_of

        shapes, solid = tuple(map(shape_of, result.shapes)), result.problem.solid
        return PlanarDesign(  # pyright: ignore[reportCallIssue]
            name=name or result.problem.name or "part",
            thickness=self.thickness if result.thickness is None else result.thickness,
            domain=domain_of(self.region),
            voids=() if solid else shapes,
            bars=shapes if solid else None,
            keep=tuple(map(shape_of, self.keep)),
            sliver=SLIVER * result.problem.plate.h,
        )

    def reanalysed(self, result: "Result", h: float, order: int = 1, seconds: float = 60.0) -> OutlineAnalysis:
        """The finished design cut exactly, meshed to fit with triangles of h mm, and solved again.

        Raises:
            ReanalysisError, ExportError: the outline cannot be cut, meshed or solved.
        """
        wires = [shape.wires() for shape in result.shapes]
        bars = wires if result.problem.solid else None
        thickness = self.thickness if result.thickness is None else result.thickness
        return outline_compliance(
            self.region,
            [] if result.problem.solid else wires,
            self.supports,
            self.cases,
            h=h,
            weights=self.weights or None,
            bars=bars,
            keep=self.keep,
            E=self.E,
            nu=self.nu,
            plane=self.plane,  # pyright: ignore[reportArgumentType]
            thickness=thickness,
            order=order,
            sliver=SLIVER * result.problem.plate.h,
            seconds=seconds,
        )


def within(box: tuple[tuple[float, float], tuple[float, float]]) -> Where:
    """The place between two corners, its border included."""
    low, high = np.array(box[0]) - NEAR, np.array(box[1]) + NEAR
    return lambda points: ((points >= low) & (points <= high)).all(1)


def _found(where: Where, nodes: Field, name: str) -> NDArray[np.bool_]:
    found = np.asarray(where(nodes), bool)
    if not found.any():
        raise FeatureError(f"{name} meets no node of the mesh: check its place, or take a smaller h")
    return found
