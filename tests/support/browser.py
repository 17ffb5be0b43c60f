"""Pages in Chromium, without a window."""

import html
import json
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--enable-logging=stderr", "--v=0"),
)
DARK = "--blink-settings=preferredColorScheme=0"


def browse(page: str, tmp_path: Path, task: str = "--dump-dom", *flags: str) -> tuple[str, list[str]]:
    """Return the page as the browser has it after its scripts ran, and the lines of its console."""
    path = tmp_path / "report.html"
    path.write_text(page, encoding="utf-8")
    browser = (shutil.which("chromium"), *FLAGS, f"--user-data-dir={tmp_path}/browser")
    done = subprocess.run(
        [*browser, "--virtual-time-budget=3000", *flags, task, path.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def faults(
    pages: Mapping[str, str], widths: Sequence[int], tmp_path: Path, *flags: str
) -> dict[str, list[str]]:
    """Return the faults of layout and contrast of each page at each width, as "name at width" → faults."""
    frames = "".join(
        f'<iframe name="{name} at {width}" width="{width}" height="900" style="border: 0"'
        f' srcdoc="{html.escape(page)}"></iframe>'
        for name, page in pages.items()
        for width in widths
    )
    script = Path(__file__).with_name("page_faults.js").read_text()
    dom, _ = browse(f"<body>{frames}<script>{script}</script></body>", tmp_path, "--dump-dom", *flags)
    match = re.search(r'data-faults="([^"]*)"', dom)
    assert match is not None, dom[-2000:]
    by_frame: dict[str, Any] = json.loads(html.unescape(match[1]))
    assert len(by_frame) == len(pages) * len(widths)
    return by_frame
