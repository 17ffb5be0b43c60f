"""``python -m benchmarks``: which benchmarks there are."""

import sys

import benchmarks
from mpiric.model.registry import modules_of


def main() -> int:
    """Name and first line of each."""
    for name, module in modules_of(benchmarks).items():
        said = (module.__doc__ or "").strip().splitlines()[0]
        print(f"python -m benchmarks.{name:<16} {said}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
