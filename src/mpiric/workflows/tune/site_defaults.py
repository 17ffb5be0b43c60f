"""Settings that suit every program as defaults of the library: files for an administrator to install."""

from collections.abc import Mapping
from pathlib import Path

from mpiric import mpis
from mpiric.host.owned_files import write_whole
from mpiric.lab.render import as_variables
from mpiric.model.configuration import Configuration
from mpiric.model.errors import writing
from mpiric.model.evidence import Evidence
from mpiric.model.quoting import comment, parameter_value, sh_word, tcl_word, variable_name
from mpiric.model.situation import Situation
from mpiric.report.tuned_text import interval

# Parameter files of MPI libraries: variable prefix → file name, and its path below the installation prefix.
_PARAMETER_FILES = {
    "OMPI_MCA_": ("openmpi-mca-params.conf", "etc/openmpi-mca-params.conf"),
    "PRTE_MCA_": ("prte-mca-params.conf", "etc/prte-mca-params.conf"),
}


def write_site(
    directory: Path, configuration: Configuration, situation: Situation, evidence: Evidence
) -> list[str]:
    """Write the files into ``directory``/site; return sentences on their kinds and places.

    They hold only settings that were shown to contribute. Settings that other MPI libraries also read are
    in the modulefile alone, which belongs to one library. Nothing is installed: the files take effect when
    somebody copies them.
    """
    shown = shown_to_contribute(configuration, evidence)
    variables = dict(sorted(as_variables(shown, situation).environment.items())) if shown else {}
    if not variables:
        return ["nothing that was shown to contribute can be a default for every program"]
    exclusive = {
        name: value
        for name, value in variables.items()
        if mpis.is_read_by_alone(name, situation.mpi.implementation)
    }
    program, gain = " ".join(situation.job.program), f"{evidence.ratio:.2f}x"
    part = "" if shown == configuration else f", of {configuration}"
    title = f"{situation.mpi.label}: {shown}{part}; proved {gain} {interval(evidence)} for {program}"
    files = {"mpiric-site.tcl": _module(variables, title, situation)}
    sentences = ["site defaults to install:"]
    for prefix, (name, file) in _PARAMETER_FILES.items():
        parameters = {
            key.removeprefix(prefix): value for key, value in exclusive.items() if key.startswith(prefix)
        }
        if parameters:
            files[name] = _parameters(parameters, title)
            sentences.append(f"append {directory}/site/{name} to {situation.mpi.prefix}/{file}")
    if exclusive:
        files["mpiric-site.sh"] = _shell(exclusive, title)
        sentences.append(f"or source {directory}/site/mpiric-site.sh from /etc/profile.d")
    sentences.append(
        f"{'or ' if exclusive else ''}offer {directory}/site/mpiric-site.tcl as an environment module"
    )
    if shared := sorted(variables.keys() - exclusive.keys()):
        sentences.append(
            f"{', '.join(shared)}: other MPI libraries read this too, so only the module of "
            f"{situation.mpi.label} sets it"
        )
    with writing(f"{directory}/site", "name another --store"):
        (directory / "site").mkdir(exist_ok=True)
        for name in ("mpiric-site.sh", *(name for name, _ in _PARAMETER_FILES.values())):
            (directory / "site" / name).unlink(missing_ok=True)
        for name, text in files.items():
            write_whole(directory / "site" / name, text.encode())
    return sentences


def shown_to_contribute(configuration: Configuration, evidence: Evidence) -> Configuration:
    """Return the settings of an answer that were shown to contribute, or without which it does not run."""
    settings = {
        name: value
        for name, value in configuration.items
        if (share := evidence.share_of(name)) is not None
        and (share.shown or share.is_needed or (share.is_estimated and share.low > 1))
    }
    return Configuration.of(settings)


def _shell(variables: Mapping[str, str], title: str) -> str:
    lines = [
        f'[ -n "${{{variable_name(name)}:-}}" ] || export {name}={sh_word(value)}'
        for name, value in variables.items()
    ]
    return "\n".join([comment(title), "# A setting of the user takes precedence.", *lines, ""])


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
