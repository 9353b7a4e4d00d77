"""The child of `read_body_safely`: `python -m topopt.cad.read_worker FOLDER` reads what FOLDER/request.json names."""

import json
import sys
from pathlib import Path

from pde.limits import limit_this_process


def main(folder: Path) -> None:
    """Limit this process, read the body, and leave it, or the reason against it, in the folder."""
    request = json.loads((folder / "request.json").read_text())
    limit_this_process(float(request["seconds"]), float(request["memory_gb"]))
    from topopt.cad.handover import WORDS, save_body
    from topopt.cad.read import read_body
    from topopt.errors import BodyError

    try:
        save_body(read_body(Path(request["path"]), request["units"]), folder)
    except BodyError as refusal:
        (folder / WORDS).write_text(json.dumps({"error": str(refusal)}))
    except MemoryError:
        reason = f"reading {Path(request['path']).name} needs more than {request['memory_gb']:g} GiB: simplify the body"
        (folder / WORDS).write_text(json.dumps({"error": reason}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
