"""B6c. Which body of given volume disturbs a creeping flow least?

    min over shapes  int |grad v|^2      -Laplace v + grad q = 0,  div v = 0 in the unit channel around the body,
                                         v = sin(pi y) e_x at the inlet, v = 0 on walls and body, no force at the outlet
    with the body's area and barycentre as they are at the start, a disc of radius 0.126157 in the middle

Pironneau (1974): the best body is slender, with wedges of 90 degrees in front and behind. The control is a pressure h
on the body's boundary; the fluid around it gives way as an elastic material does, 500 times softer at the walls than at
the body. The least dissipation has no closed form; what is known is the shape.
"""

from typing import Any

import numpy as np

from optim.result import Stop
from pde.fem import shapes
from pde.fem.dolfinx_import import Dolfinx, load
from pde.fem.extension import Extended
from pde.fem.form import Integral
from pde.fem.gathered import points_of
from pde.fem.meshed import Meshed
from pde.fem.motion import MeshMotion, stiffness
from pde.fem.reduced import Reduced
from pde.problems.posed import Posed, Vector

SOFT = 1 / 500  # modulus at the walls, where the body has 1


def pose(n: int = 16, *, comm: Any = None) -> Posed:
    """Args: n cells along each wall; the body is a polygon of 4 n sides."""
    fe = load()
    ufl, fem, element = fe.ufl, fe.fem, fe.basix.ufl.element
    fluid = shapes.channel(n, comm=comm)
    mesh = fluid.mesh
    quadratic, linear = element("Lagrange", "triangle", 2, shape=(2,)), element("Lagrange", "triangle", 1)
    W = fem.functionspace(mesh, fe.basix.ufl.mixed_element([quadratic, linear]))
    w = fem.Function(W)
    v, q = ufl.split(w)
    dv, dq = ufl.split(ufl.TestFunction(W))

    F = (ufl.inner(ufl.grad(v), ufl.grad(dv)) - q * ufl.div(dv) - dq * ufl.div(v)) * ufl.dx
    J = ufl.inner(ufl.grad(v), ufl.grad(v)) * ufl.dx

    D, H = fem.functionspace(mesh, ("Lagrange", 1, (2,))), fem.functionspace(mesh, ("Lagrange", 1))
    Phi, h = fem.Function(D), fem.Function(H)
    moved = Reduced(residual=F, objective=J, state=w, control=MeshMotion(Phi), bcs=_flow(fe, fluid, W))
    a, b = ufl.TrialFunction(D), ufl.TestFunction(D)
    walls = fluid.dofs(D, "left", "right", "bottom", "top")
    body = fluid.ds("obstacle")
    reduced = Extended(
        moved,
        stiffness(fe, a, b, mu=_moduli(fe, fluid, H), lam=0.0),
        h * ufl.inner(ufl.FacetNormal(mesh), b) * body,
        h,
        [fem.dirichletbc(np.zeros(2), walls, D)],
        active=fluid.dofs(H, "obstacle"),
        inner=lambda a, b: a * b * body,
    )
    x = ufl.SpatialCoordinate(mesh)
    area = Integral(fe, fem.Constant(mesh, 1.0) * ufl.dx)()
    kept = (
        reduced.equal(fem.Constant(mesh, 1.0) * ufl.dx, area),
        reduced.equal((x[0] - 0.5) * ufl.dx, 0.0),
        reduced.equal((x[1] - 0.5) * ufl.dx, 0.0),
    )
    start = reduced.value(reduced.x0)
    corners = np.unique(mesh.geometry.dofmaps[0][_beside(fe, fluid)])
    corners = corners[np.hypot(*(mesh.geometry.x[corners, :2] - 0.5).T) < 0.127]

    def measure(x: Vector) -> dict[str, float]:
        objective = reduced.value(x)
        outline = points_of(mesh, corners) - 0.5
        front, back = wedge(outline * [-1, 1]), wedge(outline)
        slenderness = float(np.ptp(outline[:, 0]) / np.ptp(outline[:, 1]))
        return {
            "objective": objective,
            "start": start,
            "front_angle": front,
            "back_angle": back,
            "slenderness": slenderness,
            "area_change": float(kept[0].value(x)[0]),
        }

    known = {"front_angle": 90.0, "back_angle": 90.0, "area_change": 0.0}
    stop = Stop(max_iter=250, tol_kkt=1e-3)
    return Posed(reduced, reduced.x0, "sqp", stop, known, measure, constraints=kept, parts=("velocity", "pressure"))


def wedge(outline: Vector, reach: float = 0.03) -> float:
    """The angle in degrees at the foremost point (largest x) of an outline (k, 2), by the points within reach of it."""
    tip = outline[outline[:, 0].argmax()]
    away = tip - outline
    near = (np.hypot(*away.T) < reach) & (np.hypot(*away.T) > 0)
    # Slopes of the flanks by least squares through the tip.
    angle = 0.0
    for side in (away[near & (away[:, 1] > 0)], away[near & (away[:, 1] < 0)]):
        angle += float(np.degrees(np.arctan2(np.abs(side[:, 1]).sum(), side[:, 0].sum())))
    return angle


def _flow(fe: Dolfinx, fluid: Meshed, W: Any) -> list[Any]:
    """The velocity on inlet, walls and body."""
    inlet, still = (fe.fem.Function(W.sub(0).collapse()[0]) for _ in range(2))
    inlet.interpolate(lambda x: np.array([np.sin(np.pi * x[1]), 0 * x[0]]))
    space = (W.sub(0), still.function_space)
    at_inlet = fe.fem.locate_dofs_topological((W.sub(0), inlet.function_space), 1, fluid.facets("left"))
    at_walls = fe.fem.locate_dofs_topological(space, 1, fluid.facets("bottom", "top", "obstacle"))
    return [fe.fem.dirichletbc(inlet, at_inlet, W.sub(0)), fe.fem.dirichletbc(still, at_walls, W.sub(0))]


def _moduli(fe: Dolfinx, fluid: Meshed, H: Any) -> Any:
    """A harmonic function, 1 at the body and `SOFT` at the walls."""
    fem, ufl = fe.fem, fe.ufl
    mu, v = fem.Function(H), ufl.TestFunction(H)
    walls = fluid.dofs(H, "left", "right", "bottom", "top")
    ends = [fem.dirichletbc(SOFT, walls, H), fem.dirichletbc(1.0, fluid.dofs(H, "obstacle"), H)]
    source = fem.Function(H)
    laplace = ufl.inner(ufl.grad(mu), ufl.grad(v)) * ufl.dx - source * v * ufl.dx
    harmonic = Reduced(laplace, mu * ufl.dx, mu, source, ends)
    harmonic.value(harmonic.x0)
    return mu


def _beside(fe: Dolfinx, fluid: Meshed) -> Any:
    """Cells with a facet on the body."""
    topology = fluid.mesh.topology
    topology.create_connectivity(1, 2)
    return np.unique(np.concatenate([topology.connectivity(1, 2).links(f) for f in fluid.facets("obstacle")]))
