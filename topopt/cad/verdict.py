"""What the re-analysis of a formed body found, beside what the optimiser claimed."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pde.fem.quadratic import QuadraticTetrahedra
from topopt.cad.body import Points, Surface
from topopt.cad.gates import Gate
from topopt.cad.tetrahedra import Tetrahedra
from topopt.cad.whole import write_whole

VTK_TETRA = 10


@dataclass(frozen=True)
class CaseResult:
    """What one load case does to the body. Units mm, N, MPa.

    Attributes:
        compliance: work of all its loads, f . u, N mm.
        max_displacement_mm: the longest displacement.
        von_mises_max_mpa: at the sample points of the tetrahedra. Clamped edges are singular: it grows with refinement.
        von_mises_p99_mpa, von_mises_p999_mpa: stress that 99 % and 99.9 % of the volume stay below.
        reaction: resultant of the supports and its moment about the origin, (6,), N and N mm.
    """

    name: str
    weight: float
    compliance: float
    max_displacement_mm: float
    von_mises_max_mpa: float
    von_mises_p99_mpa: float
    von_mises_p999_mpa: float
    reaction: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Reanalysis:
    """The second opinion.

    Attributes:
        claim: the optimiser's compliance, sum over the cases of weight times f . u, N mm.
        yield_strength: of the material, MPa.
        per_case: one result per load case, in the order given.
        gates: area of each face found again, balance of forces, difference to the claim.
        mesh: the body as it was analysed.
        von_mises: (cases, n), MPa, at the vertices of `mesh`. displacement: (cases, n, 3), mm.
        dofs: unknowns of the quadratic elements, held ones included.
        seconds, seconds_meshing, seconds_solving: wall time, in all and of the two long steps.
    """

    claim: float
    yield_strength: float
    per_case: tuple[CaseResult, ...]
    gates: tuple[Gate, ...]
    mesh: Tetrahedra
    von_mises: NDArray[np.float64]
    displacement: NDArray[np.float64]
    dofs: int
    seconds: float
    seconds_meshing: float
    seconds_solving: float

    @property
    def compliance(self) -> float:
        """Sum over the cases of weight times f . u, N mm."""
        return sum(case.weight * case.compliance for case in self.per_case)

    @property
    def relative_difference(self) -> float:
        """compliance / claim - 1: positive if the body is softer than the optimiser said."""
        return self.compliance / self.claim - 1

    @property
    def max_displacement_mm(self) -> float:
        """The largest over the cases."""
        return max(case.max_displacement_mm for case in self.per_case)

    @property
    def von_mises_max_mpa(self) -> float:
        return max(case.von_mises_max_mpa for case in self.per_case)

    @property
    def von_mises_p99_mpa(self) -> float:
        return max(case.von_mises_p99_mpa for case in self.per_case)

    @property
    def von_mises_p999_mpa(self) -> float:
        return max(case.von_mises_p999_mpa for case in self.per_case)

    @property
    def safety_factor(self) -> float:
        """Yield strength over the 99.9th percentile of the von Mises stress in the worst case.

        Not over the maximum: that sits in singular corners of supports and rises with every refinement.
        """
        return self.yield_strength / self.von_mises_p999_mpa

    @property
    def tetrahedra(self) -> int:
        return len(self.mesh.cells)

    def picture(self) -> tuple[Surface, NDArray[np.float64], Points]:
        """Boundary, von Mises stress (n,) in MPa and displacement (n, 3) in mm at its vertices, in the worst case."""
        worst = int(np.argmax([case.von_mises_p999_mpa for case in self.per_case]))
        used, faces = np.unique(QuadraticTetrahedra(self.mesh.vertices, self.mesh.cells).boundary, return_inverse=True)
        surface = Surface(self.mesh.vertices[used], faces.reshape(-1, 3))
        return surface, self.von_mises[worst, used], self.displacement[worst, used]

    def summary(self) -> dict[str, Any]:
        """Every figure as plain data, for result.json and the report."""
        figures = (
            "compliance",
            "claim",
            "relative_difference",
            "max_displacement_mm",
            "von_mises_max_mpa",
            "von_mises_p99_mpa",
            "von_mises_p999_mpa",
            "safety_factor",
            "tetrahedra",
            "dofs",
            "seconds",
            "seconds_meshing",
            "seconds_solving",
        )
        return {name: getattr(self, name) for name in figures} | {
            "safety_factor_is": "yield strength / 99.9 % volume quantile of the von Mises stress, worst load case",
            "epsilon_mm": self.mesh.epsilon_mm,
            "per_case": [asdict(case) for case in self.per_case],
            "gates": [asdict(gate) for gate in self.gates],
        }

    def save(self, path: Path) -> Path:
        """Write mesh, stress and displacement of every case as a .vtu file for ParaView.

        Raises:
            ExportError: the file cannot be written.
        """
        import pyvista as pv
        from vtkmodules.vtkIOXML import vtkXMLUnstructuredGridWriter

        grid = pv.UnstructuredGrid({VTK_TETRA: self.mesh.cells}, self.mesh.vertices)
        for case, stress, displacement in zip(self.per_case, self.von_mises, self.displacement, strict=True):
            grid.point_data[f"von Mises, MPa: {case.name}"] = stress
            grid.point_data[f"displacement, mm: {case.name}"] = displacement
        writer = vtkXMLUnstructuredGridWriter()
        writer.SetInputData(grid)
        writer.SetDataModeToBinary()
        writer.WriteToOutputStringOn()
        writer.Write()
        return write_whole(path, writer.GetOutputString().encode())
