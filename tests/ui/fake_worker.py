"""A stand-in for `python -m jobs.worker FOLDER`: writes what a worker writes, in about a second, without solving."""

import os
import sys
import time
from pathlib import Path

import trimesh

from jobs.store import Run

STEPS = 12


def main(folder: str, pause: float) -> int:
    run = Run(Path(folder))
    run.set_status("running", "optimise", "finding the form")
    print("optimise: finding the form", flush=True)
    for iteration in range(len(run.progress()) + 1, STEPS + 1):
        if (run.folder / "stop").exists():
            (run.folder / "stop").unlink()
            run.set_status("stopped", "optimise", f"stopped after iteration {iteration - 1}; it can be resumed")
            return 75
        run.append_progress(
            {
                "iteration": iteration,
                "compliance": 100.0 + 400.0 / iteration,
                "volume": 0.3,
                "change": 0.2,
                "grey": 0.6 / iteration,
                "beta": 1.0,
                "cg_iterations": 8,
                "seconds": pause,
                "seconds_left": pause * (STEPS - iteration),
            }
        )
        _shape(30 - iteration).export(run.folder / "preview.part.glb")
        (run.folder / "preview.part.glb").replace(run.preview)
        time.sleep(pause)
    finish(run)
    return 0


def finish(run: Run) -> None:
    """Files and result.json of a run that went well."""
    mesh = _shape(16)
    run.artifacts.mkdir(exist_ok=True)
    exports = []
    for kind in ("stl", "glb"):
        mesh.export(run.artifacts / f"part.{kind}")
        about = {"kind": kind, "watertight": True, "components": 1, "volume_mm3": mesh.volume}
        exports.append({"path": f"artifacts/part.{kind}", **about})
    (run.artifacts / "report.html").write_text("<h1>Report</h1>")
    (run.artifacts / "unlisted.txt").write_text("not handed over")
    claim = 133.3
    run.write_json(
        "result.json",
        {
            "status": "succeeded",
            "voxels": [24, 12, 6],
            "iterations": STEPS,
            "compliance": claim,
            "volume_fraction": 0.3,
            "mass_kg": 0.271,
            "exports": exports,
            "referee": {"compliance": 1.01 * claim, "relative_difference": 0.01},
            "reanalysis": {
                "compliance": 1.02 * claim,
                "relative_difference": 0.02,
                "max_displacement_mm": 0.0138,
                "von_mises_max_mpa": 26.2,
                "von_mises_p999_mpa": 17.7,
                "safety_factor": 8.8,
            },
            "pictures": [],
            "report": "artifacts/report.html",
            "notes": [],
        },
    )
    run.set_status("succeeded", "done", "the part is ready")


def _shape(width: float) -> trimesh.Trimesh:
    return trimesh.creation.box((60, width, 12))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], float(os.environ.get("FAKE_PAUSE", "0.1"))))
