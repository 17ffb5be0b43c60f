# Not run with Spack where it was written; mpiric needs cloup, which Spack's own repository does not have.
from spack_repo.builtin.build_systems.python import PythonPackage

from spack.package import *


class PyCloup(PythonPackage):
    """Option groups and command sections for click."""

    homepage = "https://github.com/janLuke/cloup"
    pypi = "cloup/cloup-3.0.8.tar.gz"

    license("BSD-3-Clause")

    version("3.0.8", sha256="f91c080a725196ddf74feabd6250266f466e97fc16dfe21a762cf6bc6beb3ecb")

    depends_on("py-setuptools", type="build")
    depends_on("py-setuptools-scm", type="build")
    depends_on("py-click@8.0:8", type=("build", "run"))
    depends_on("py-typing-extensions", type=("build", "run"))
