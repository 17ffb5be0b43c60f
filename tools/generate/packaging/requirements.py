"""Print the pinned dependencies for one Python and processor (``3.11-x86_64``) as pip reads them."""

import sys

from tools.generate._target import ROOT
from tools.generate.packaging.project import read_pins, read_project


def requirements(platform: str) -> list[str]:
    """A line for each distribution: ``name==version --hash=sha256:…``."""
    pins = [pin for pin in read_pins(read_project(ROOT)) if platform in pin.files]
    return [f"{pin.name}=={pin.version} --hash=sha256:{pin.files[platform][1]}" for pin in pins]


if __name__ == "__main__":
    print("\n".join(requirements(sys.argv[1])))
