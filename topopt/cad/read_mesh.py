"""Triangulated bodies through trimesh: STL (ASCII and binary), OBJ, PLY; checked, welded, faces recognised."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from topopt.cad.body import Body, Face, Surface
from topopt.cad.closed import check_closed, part, shells, weld
from topopt.cad.closest import TriangleTree
from topopt.cad.recognise import recognise
from topopt.errors import BodyError

Points = NDArray[np.float64]

HEADER, RECORD = 84, 50  # bytes of a binary STL: header with the count, one triangle


def read_mesh(path: Path, scale: float) -> dict[str, Body]:
    """The bodies of a mesh file by name: one, or several when its shells lie outside one another.

    Args:
        path: .stl, .obj or .ply.
        scale: mm per unit of the file.

    Raises:
        BodyError: the file cannot be read, or its surface is not finite, closed, oriented and of positive volume.
    """
    if path.suffix.lower() == ".stl":
        _check_stl_length(path)
    named = _load(path)
    corners = np.concatenate(list(named.values())) * scale
    source = np.repeat(np.arange(len(named)), [len(c) for c in named.values()])
    if not np.isfinite(corners).all():
        bad = int((~np.isfinite(corners)).any(axis=(1, 2)).sum())
        raise BodyError(f"{path.name} has {bad} triangles with coordinates that are not numbers: export it again")
    surface, kept = weld(corners)
    if not len(surface.faces):
        raise BodyError(f"{path.name} has no triangle with an area: check the units of the export, then export again")
    check_closed(surface, path.name)
    labels = _names(surface, source[kept], list(named), path.stem)
    return {name: _body(name, solid, path.name) for name, solid in _solids(surface, labels, path.name)}


def _check_stl_length(path: Path) -> None:
    """Tell text from binary by the length, as the word "solid" may open both."""
    size = path.stat().st_size
    with path.open("rb") as file:
        start = file.read(4096)
    count = int.from_bytes(start[80:HEADER], "little") if size >= HEADER else 0
    if size >= HEADER and size == HEADER + RECORD * count:
        if count == 0:
            raise BodyError(f"{path.name} holds no triangles: export the body again")
        return
    if start.lstrip()[:5].lower() == b"solid" and b"\0" not in start:
        if b"facet" not in start.lower():
            raise BodyError(f"{path.name} holds no triangles: export the body again")
        return
    if size < HEADER:
        raise BodyError(f"{path.name} is not an STL file: it is only {size} bytes long")
    raise BodyError(
        f"{path.name} announces {count} triangles, but its length fits {(size - HEADER) / RECORD:g}: the file was cut "
        "off or damaged; copy or export it again"
    )


def _load(path: Path) -> dict[str, Points]:
    """Triangle corners, (m, 3, 3), of every named piece of the file."""
    import trimesh

    try:
        scene = trimesh.load_scene(path, process=False)
    except Exception as failure:  # the loader raises whatever its parser met
        raise BodyError(f"{path.name} cannot be read as {path.suffix}: {failure}; export it again") from failure
    pieces: dict[str, Points] = {}
    for name, piece in scene.geometry.items():
        if isinstance(piece, trimesh.Trimesh) and len(piece.faces):
            pieces[str(name)] = np.asarray(piece.vertices, float)[np.asarray(piece.faces)]
    if not pieces:
        raise BodyError(f"{path.name} holds no triangles: export the body as a mesh, not as points or curves")
    return pieces


def _names(surface: Surface, source: NDArray[np.int64], named: list[str], stem: str) -> list[tuple[str, Surface]]:
    """Shells with their names: those of the file's pieces where each is one shell, numbered otherwise."""
    shell = shells(surface)
    count = int(shell.max()) + 1
    owners = [np.unique(source[shell == k]) for k in range(count)]
    own_names = len(named) == count and all(len(o) == 1 for o in owners) and count > 1
    if own_names:
        titles = [named[int(o[0])] for o in owners]
    else:
        titles = [stem] if count == 1 else [f"{stem} {k + 1}" for k in range(count)]
    return [(title, part(surface, shell == k)) for k, title in enumerate(titles)]


def _solids(surface: Surface, named: list[tuple[str, Surface]], file: str) -> list[tuple[str, Surface]]:
    """Outer shells, each with the cavities inside it.

    A shell of positive volume bounds material from outside, one of negative volume a cavity; a cavity belongs to the
    smallest outer shell around it. Everything else is a body in a body or inside out.
    """
    volumes = [shell.volume for _, shell in named]
    size = float(np.prod(np.ptp(surface.bounds, axis=0)))
    for (name, _), volume in zip(named, volumes, strict=True):
        if abs(volume) <= 1e-9 * size:
            raise BodyError(f"{name} in {file} encloses no volume: export it as a solid")
    if sum(volumes) < 0:
        raise BodyError(f"{file} is inside out (volume {sum(volumes):.6g} mm3): flip its triangles and export again")
    outer = [k for k, volume in enumerate(volumes) if volume > 0]
    if len(named) == 1:
        return named
    trees = {k: TriangleTree.of(named[k][1].corners) for k in outer}
    groups: dict[int, list[int]] = {k: [k] for k in outer}
    for k, (name, shell) in enumerate(named):
        around = [o for o in outer if o != k and trees[o].inside(shell.vertices).any()]
        if k in outer and around:
            raise BodyError(
                f"{name} and {named[around[0]][0]} in {file} overlap: unite the shells, or turn the inner one inside "
                "out if it is a cavity"
            )
        if k not in outer:
            around = [o for o in around if trees[o].inside(shell.vertices).all()]
            if not around:
                raise BodyError(f"{name} in {file} is inside out: flip its triangles and export again")
            groups[min(around, key=lambda o: volumes[o])].append(k)
    return [(named[k][0], _joined([named[i][1] for i in members])) for k, members in groups.items()]


def _joined(pieces: list[Surface]) -> Surface:
    offsets = np.cumsum([0] + [len(p.vertices) for p in pieces[:-1]])
    vertices = np.concatenate([p.vertices for p in pieces])
    return Surface(vertices, np.concatenate([p.faces + o for p, o in zip(pieces, offsets, strict=True)]))


def _body(name: str, surface: Surface, file: str) -> Body:
    if not surface.volume > 0:
        raise BodyError(f"{name} in {file} encloses no volume: export it as a solid")
    faces: tuple[Face, ...] = recognise(surface)
    return Body(name, surface, faces, surface.volume)
