"""``python -m benchmarks``: list the benchmarks."""

import sys

import benchmarks
from mpiric.host.packaged import modules_of


def main() -> int:
    """Print the name of each benchmark and the first line of its docstring."""
    for name, module in modules_of(benchmarks).items():
        summary = (module.__doc__ or "").strip().splitlines()[0]
        print(f"python -m benchmarks.{name:<16} {summary}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
