"""What the part is made of: a small catalogue with sources, in mm, N, MPa and tonne."""

import difflib
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from topopt.errors import DesignError


@dataclass(frozen=True)
class Material:
    """Isotropic, linear elastic.

    Attributes:
        E: Young's modulus, MPa. nu: Poisson's ratio.
        density: tonne/mm3 (1 kg/m3 = 1e-12 tonne/mm3).
        yield_strength: MPa.
        source: where the numbers come from.
    """

    name: str
    E: float
    nu: float
    density: float
    yield_strength: float
    source: str = "stated by the user"

    def mass_kg(self, volume: float) -> float:
        """Of a volume in mm3."""
        return self.density * volume * 1e3


@cache
def catalogue() -> dict[str, Material]:
    """All materials that ship, by name."""
    rows = tomllib.loads(Path(__file__).with_name("materials.toml").read_text(encoding="utf-8"))
    return {
        name: Material(name, row["E"], row["nu"], row["density"] * 1e-12, row["yield_strength"], row["source"])
        for name, row in rows.items()
    }


def material(name: str) -> Material:
    """Look a material up.

    Raises:
        DesignError: it is not in the catalogue.
    """
    known = catalogue()
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.0)[0]
        raise DesignError(
            f"material {name!r} is not in the catalogue: did you mean {near!r}? It holds {', '.join(known)}; "
            "or give E, nu, density and yield_strength"
        )
    return known[name]
