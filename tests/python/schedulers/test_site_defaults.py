import pytest

from mpiric.model.batch import NodeShape
from mpiric.model.errors import MpiricError, NotFoundError
from mpiric.schedulers._script import SYSTEM, parse_site_defaults, read_site_defaults

SITE = """
[script]
account = "nn1234k"
partition = "normal"
mpi = "pmix"
modules = ["OpenMPI/5.0", "FFTW"]
directives = ["--qos=normal"]
environment = { OMP_STACKSIZE = "64M" }

[node]
sockets = 2
cores_per_socket = 64
threads_per_core = 2
"""


def test_the_shape_of_a_node_is_read():
    assert parse_site_defaults(SITE, "site.toml").shape == NodeShape(2, 64, 2)


def test_modules_become_one_line():
    assert parse_site_defaults(SITE, "site.toml").options.setup == ("module load OpenMPI/5.0 FFTW",)


def test_the_users_file_comes_before_the_systems():
    files = {SYSTEM: SITE, "/home/u/.config/mpiric/site.toml": '[script]\naccount = "mine"\n'}
    assert read_site_defaults({"HOME": "/home/u"}, None, files.get).options.account == "mine"


def test_the_environment_names_a_file_before_both():
    files = {SYSTEM: SITE, "/x.toml": '[script]\naccount = "x"\n'}
    assert read_site_defaults({"MPIRIC_SITE": "/x.toml"}, None, files.get).options.account == "x"


def test_without_a_file_there_is_a_plain_shell():
    assert read_site_defaults({}, None, {}.get).options.shebang == "#!/bin/bash"


def test_a_missing_named_file_is_an_error():
    with pytest.raises(NotFoundError, match=r"/x\.toml"):
        read_site_defaults({"MPIRIC_SITE": "/x.toml"}, None, {}.get)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[script", "is not TOML"),
        ("[script]\nacount = 'x'", "'acount' is not known"),
        ("[script]\naccount = 3", "account must be a text"),
        ("[node]\nsockets = 2", "cores_per_socket"),
    ],
)
def test_contradictory_values_are_an_error_that_names_them(text, says):
    with pytest.raises(MpiricError, match=says):
        parse_site_defaults(text, "site.toml")
