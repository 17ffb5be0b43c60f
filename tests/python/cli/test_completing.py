"""Completions of option values, requested as shells do."""

import pytest
from click.shell_completion import ShellComplete

from mpiric.cli._verbs import mpiric


def offered(line: str) -> set[str]:
    *arguments, last = line.split(" ")
    return {
        completion.value
        for completion in ShellComplete(mpiric, {}, "mpiric", "").get_completions(arguments, last)
    }


@pytest.mark.parametrize(
    ("line", "among"),
    [
        ("place --policy ", {"compact", "spread", "per-numa"}),
        ("place --launcher s", {"srun"}),
        ("run --set bind", {"binding="}),
        ("tune --only malloc,hu", {"malloc,huge-pages"}),
        ("place --hardware-threads ", {"core", "one", "all"}),
        ("scr", {"script"}),
    ],
)
def test_tab_completes_verbs_options_and_their_values(line: str, among: set[str]) -> None:
    assert among <= offered(line)
