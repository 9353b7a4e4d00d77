"""`python -m benchmarks NAME [options]` runs one comparison and prints one JSON object as its last line."""

import importlib
import json
import pkgutil
import sys
from pathlib import Path


def names() -> list[str]:
    modules = (module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)]))
    return sorted(name for name in modules if not name.startswith("_"))


def main(argv: list[str]) -> int:
    if not argv or argv[0] in ("-h", "--help", "--list"):
        for name in names():
            line = (importlib.import_module(f"benchmarks.{name}").__doc__ or "").strip().splitlines()[0]
            print(f"{name:16s} {line}")
        return 0
    name, *options = argv
    if name not in names():
        print(f"unknown benchmark {name!r}; there are: {', '.join(names())}", file=sys.stderr)
        return 2
    print(json.dumps(importlib.import_module(f"benchmarks.{name}").main(options)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
