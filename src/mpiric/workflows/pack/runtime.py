"""mpiric's part of a pack: its runtime for the program's ABI families, and a recipe's settings."""

import re
from collections.abc import Iterable
from dataclasses import field
from pathlib import Path

from mpiric import knobs, mpis
from mpiric.host.host import Host
from mpiric.host.installation.native import native_part
from mpiric.lab.render import spellings
from mpiric.model.configuration import Configuration
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import NotFoundError
from mpiric.model.pack import Content, ContentKind, LeftOut, SettingsNeed
from mpiric.model.situation import Situation
from mpiric.workflows.pack.glibc import FLOOR
from mpiric.workflows.run.run import AppliedRecipe

_PLACE, _LIBRARY = ".mpiric", "libmpiric.so"
_OF_NETWORK = "names a network or device of the cluster it was tuned on, in an option of the launcher"
_OF_SITE = "belongs to the machine it was tuned on: the site's MPI and launcher are taken"


@dataclass(frozen=True)
class Runtimes:
    """Runtime of each family in the image, and runtimes that are not packed."""

    contents: tuple[Content, ...]
    left_out: tuple[LeftOut, ...]
    by_mpi: tuple[tuple[str, str], ...]  # (name of an MPI library, name of the runtime in the image)


def runtimes_for(mpi_names: Iterable[str], glibc_needed: tuple[int, ...], host: Host) -> Runtimes:
    """Return the runtimes for these MPI libraries that require no newer glibc than the program."""
    contents: dict[str, Content] = {}
    left_out: dict[str, LeftOut] = {}
    by_mpi = []
    for mpi in mpi_names:
        family = mpis.family_of_soname(mpi)
        try:
            path = native_part(_LIBRARY, family)
        except NotFoundError as error:
            left_out[_LIBRARY] = LeftOut(_LIBRARY, error.message)
            continue
        elf = host.elf(path)
        needed = elf.glibc_needed if elf else ()
        if needed > max(glibc_needed, FLOOR):
            version = ".".join(map(str, needed))
            why = f"needs glibc {version}, and the program less: a released wheel of mpiric has one for 2.17"
            left_out[path] = LeftOut(path, why)
            continue
        name = f"{_PLACE}/{family.value if family else 'any'}/{_LIBRARY}"
        contents[name] = Content(name, path, ContentKind.RUNTIME, required=False)
        by_mpi.append((mpi, name))
    return Runtimes(tuple(contents.values()), tuple(left_out.values()), tuple(by_mpi))


@dataclass(frozen=True)
class PackedRecipe:
    """Part of a recipe that can be set in the image, and part for the launcher."""

    contents: tuple[Content, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()
    needs: tuple[SettingsNeed, ...] = ()  # requirements of settings that name a network or device
    preload: tuple[str, ...] = ()  # absolute paths on this machine
    for_launcher: Configuration = field(default_factory=Configuration)


def packed_recipe(applied: AppliedRecipe) -> PackedRecipe:
    """Return variables with paths in the image, preloads, and knobs that need launcher options."""
    situation, configuration = applied.situation, applied.recipe.configuration
    values = configuration.as_dict()
    settings: dict[str, str] = {}
    preload: list[str] = []
    launcher: dict[str, str] = {}
    left_out = []
    needs: list[SettingsNeed] = []
    contents = [Content(f"{_PLACE}/recipe.toml", str(applied.path), ContentKind.RECIPE, required=False)]
    policies = {path: f"{_PLACE}/{Path(path).name}" for path in _policies(situation)}
    for knob, spelling in spellings(configuration, situation).items():
        if bool(spelling.launcher_words or spelling.library_path):
            left_out.append(LeftOut(f"{knob}={values.get(knob, '')}", _OF_SITE))
            continue
        declared = knobs.knob_named(knob).needs
        need = declared(values[knob]) if declared and knob in values else None
        by_launcher = spelling.options or spelling.ranks or spelling.launcher_environment
        if need is not None:
            needs.append(SettingsNeed(tuple(spelling.environment), need.what, need.paths))
            if by_launcher:
                left_out.append(LeftOut(f"{knob}={values[knob]}", _OF_NETWORK))
        elif by_launcher:
            launcher |= {knob: values[knob]} if knob in values else {}
        preload += spelling.preload
        for name, value in spelling.environment.items():
            for path, inside in policies.items():
                if path in value:
                    value = value.replace(path, f"@/{inside}")
                    contents.append(Content(inside, path, ContentKind.RECIPE, required=False))
            settings[name] = value
    unique = {content.name: content for content in contents}
    return PackedRecipe(
        tuple(unique.values()),
        tuple(left_out),
        tuple(settings.items()),
        tuple(needs),
        tuple(preload),
        Configuration.of(launcher),
    )


def _policies(situation: Situation) -> tuple[str, ...]:
    """Return the policy files: the flat one, and the library's own format."""
    tuner = situation.tuner
    exported = (value for _, value in tuner.exported if re.fullmatch(r"/\S+", value))
    return tuple(filter(None, (tuner.policy, *exported)))
