"""What holds for every program, as the library's own defaults: files for an administrator to put in place."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from mpiric.host.owned_files import write_whole
from mpiric.model.configuration import Configuration
from mpiric.model.errors import writing
from mpiric.model.evidence import Evidence
from mpiric.model.job import Segment
from mpiric.model.quoting import comment, parameter_value, sh_word, tcl_word, variable_name
from mpiric.model.situation import Situation
from mpiric.report.tuned_text import interval
from mpiric.workflows.launch.spelling import render

# Parameter files an MPI reads by itself: variable prefix → file name, and where it belongs below the prefix.
_PARAMETER_FILES = {
    "OMPI_MCA_": ("openmpi-mca-params.conf", "etc/openmpi-mca-params.conf"),
    "PRTE_MCA_": ("prte-mca-params.conf", "etc/prte-mca-params.conf"),
}


def write_site(
    directory: Path, configuration: Configuration, situation: Situation, evidence: Evidence
) -> list[str]:
    """Write the files into ``directory``/site; the sentences that say what they are and where they go.

    Nothing is installed: they take effect when somebody copies them.
    """
    variables = site_variables(configuration, situation)
    if not variables:
        return ["nothing of what was found can be a default for every program"]
    program, gain = " ".join(situation.job.program), f"{evidence.ratio:.2f}x"
    proof = f"proved {gain} {interval(evidence)} for {program}"
    title = f"{situation.mpi.label}: {configuration}; {proof}"
    files = {
        "mpiric-site.sh": _shell(variables, title),
        "mpiric-site.tcl": _module(variables, title, situation),
    }
    words = ["site defaults, for you to put in place:"]
    for prefix, (name, file) in _PARAMETER_FILES.items():
        own = {key.removeprefix(prefix): value for key, value in variables.items() if key.startswith(prefix)}
        if own:
            files[name] = _parameters(own, title)
            words.append(f"append {directory}/site/{name} to {situation.mpi.prefix}/{file}")
    words.append(f"or source {directory}/site/mpiric-site.sh from /etc/profile.d")
    words.append(f"or offer {directory}/site/mpiric-site.tcl as an environment module")
    with writing(f"{directory}/site", "name another --store"):
        (directory / "site").mkdir(exist_ok=True)
        for name, text in files.items():
            write_whole(directory / "site" / name, text.encode())
    return words


def site_variables(configuration: Configuration, situation: Situation) -> dict[str, str]:
    """The environment that says the same without touching a launch line.

    A launcher's options have no place in a default; spelled for a program that is started directly, they
    become variables wherever the library knows one.
    """
    program = situation.job.program
    direct = replace(
        situation.job,
        dialect="direct",
        prefix=(),
        launcher_words=(),
        segments=(Segment((), program),),
        argv=program,
    )
    launch = render(configuration, replace(situation, job=direct))
    return dict(sorted(launch.environment.items()))


def _shell(variables: Mapping[str, str], title: str) -> str:
    lines = [
        f'[ -n "${{{variable_name(name)}:-}}" ] || export {name}={sh_word(value)}'
        for name, value in variables.items()
    ]
    return "\n".join([comment(title), "# A user's own setting stays.", *lines, ""])


def _module(variables: Mapping[str, str], title: str, situation: Situation) -> str:
    lines = [
        f"if {{ ![info exists ::env({variable_name(name)})] }} {{ setenv {name} {tcl_word(value)} }}"
        for name, value in variables.items()
    ]
    what = tcl_word(f"measured defaults for {situation.mpi.label}")
    head = ["#%Module1.0", comment(title), f"module-whatis {what}"]
    return "\n".join([*head, *lines, ""])


def _parameters(parameters: Mapping[str, str], title: str) -> str:
    lines = (f"{parameter_value(name)} = {parameter_value(value)}" for name, value in parameters.items())
    return "\n".join([comment(title), *lines, ""])
