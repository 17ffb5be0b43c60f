"""Take the pictures of the report in docs/guides/images anew.

    .venv/bin/python tools/capture/screenshots.py

Needs Debian's Open MPI and Chromium. To be run when the page looks different.
"""

import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs/guides/images"
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=3000")


def profiled(place: Path) -> str:
    """Return the page on 16 ranks of the heat solver."""
    program = ("mpicc.openmpi", "-O2", ROOT / "examples/heat3d/heat3d.c", "-lm", "-o", place / "heat")
    subprocess.run(program, check=True)
    launch = ("mpirun.openmpi", "--oversubscribe", "-n", "16", "./heat", "96", "40")
    subprocess.run(["mpiric", "profile", "-q", "-o", "p", "--", *launch], cwd=place, check=True)
    return (place / "p/report.html").read_text(encoding="utf-8")


def take_screenshot(
    page: str, name: str, width: int, height: int, place: Path, *flags: str, only: str = ""
) -> None:
    """Take a picture of the top of the page, or of one section."""
    style = f"<style>body > :not(#{only}) {{ display: none }} h2 {{ margin-top: 0 }}</style></head>"
    shown = place / "shown.html"
    shown.write_text(page.replace("</head>", style, 1) if only else page, encoding="utf-8")
    picture = f"--screenshot={IMAGES / name}.png"
    window = f"--window-size={width},{height}"
    browser = f"--user-data-dir={place}/browser"
    command = ["chromium", *FLAGS, *flags, browser, window, picture, shown.as_uri()]
    subprocess.run(command, check=True, capture_output=True)


def main() -> None:
    """Take pictures of the first screen, of sections, and of a phone in dark mode."""
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        page = profiled(place)
        take_screenshot(page, "profile-report", 1080, 880, place)
        take_screenshot(page, "profile-timeline", 1080, 780, place, only="timeline")
        take_screenshot(page, "profile-matrix", 1080, 800, place, only="traffic")
        dark = ("--blink-settings=preferredColorScheme=0", "--force-device-scale-factor=2")
        take_screenshot(page, "profile-phone", 390, 844, place, *dark)


if __name__ == "__main__":
    main()
