"""Defaults for a site: only what was shown to contribute, and for one library what others would read too."""

from pathlib import Path

import pytest
from tests.support.situations import BY_LABEL, situation

from mpiric import mpis
from mpiric.model.configuration import Configuration
from mpiric.model.evidence import Evidence, Share, Verdict
from mpiric.workflows.tune.write_results import write_site


def proved(configuration: Configuration, **shown: bool) -> Evidence:
    shares = tuple(Share((name,), 1.1, 1.05, 1.2, 9, shown=is_shown) for name, is_shown in shown.items())
    pairs = ((1.1, 1.0),) * 12
    return Evidence(
        configuration, Verdict.FASTER, 1.1, 1.05, 1.2, pairs, 0.99, 0.01, "decided", shares=shares
    )


def site(
    tmp_path: Path, label: str, configuration: Configuration, **shown: bool
) -> tuple[list[str], dict[str, str]]:
    sentences = write_site(
        tmp_path, configuration, situation(BY_LABEL[label]), proved(configuration, **shown)
    )
    directory = tmp_path / "site"
    paths = directory.iterdir() if directory.is_dir() else ()
    return sentences, {path.name: path.read_text() for path in paths}


def test_settings_not_shown_to_contribute_are_in_no_file(tmp_path: Path) -> None:
    configuration = Configuration.of({"binding": "core", "ofi-provider": "tcp"})
    _, files = site(tmp_path, "openmpi-5.0.11", configuration, binding=True, **{"ofi-provider": False})
    assert files
    assert not [name for name, text in files.items() if "FI_PROVIDER" in text]
    sentences, files = site(
        tmp_path / "none", "openmpi-5.0.11", configuration, binding=False, **{"ofi-provider": False}
    )
    assert files == {}
    assert "shown to contribute" in sentences[0]


@pytest.mark.parametrize("label", ["openmpi-5.0.11", "mpich-5.0.2"])
def test_settings_read_by_several_libraries_are_in_the_module_of_one(tmp_path: Path, label: str) -> None:
    _, files = site(tmp_path, label, Configuration.of({"ofi-provider": "tcp"}), **{"ofi-provider": True})
    assert list(files) == ["mpiric-site.tcl"]
    assert "FI_PROVIDER" in files["mpiric-site.tcl"]


@pytest.mark.parametrize(
    ("variable", "implementation", "alone"),
    [
        ("OMPI_MCA_pml", "openmpi", True),
        ("PRTE_MCA_hwloc_default_binding_policy", "openmpi", True),
        ("I_MPI_FABRICS", "intelmpi", True),
        ("MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM", "mpich", False),
        ("FI_PROVIDER", "intelmpi", False),
        ("UCX_TLS", "openmpi", False),
        ("MALLOC_TRIM_THRESHOLD_", "openmpi", False),
        ("OMPI_MCA_pml", "mpich", False),
    ],
)
def test_readers_of_a_variable(variable: str, implementation: str, alone: bool) -> None:
    assert mpis.is_read_by_alone(variable, implementation) is alone
