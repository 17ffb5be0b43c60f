from dataclasses import replace

import pytest
from tests.support.situations import MPIS, machine, situation

from mpiric.launchers import dialects, render, spell
from mpiric.model.job import Spelling
from mpiric.model.situation import Situation

LINES = {"srun": "srun -n 2 ./a", "aprun": "aprun -n 2 ./a", "direct": "./a"}


@pytest.fixture
def situation_of(parse):
    """`here("openmpi4", "mpirun -n 2 ./a")`: the situation of a line on a node of two sockets."""

    def make(
        dialect: str, line: str = "", mpi_dialect: str = "", nodes: int = 1, **environment: str
    ) -> Situation:
        job = parse(line or LINES.get(dialect, "mpirun -n 2 ./a"), dialect, **environment)
        base = situation(MPIS[0], ranks=job.ranks or 2, on=machine(2, 4), nodes=nodes)
        return replace(base, job=job, mpi=replace(base.mpi, dialect=mpi_dialect or dialect))

    return make


BINDING = {
    "openmpi4": {"none": "--bind-to none", "core": "--bind-to core", "hwthread": "--bind-to hwthread",
                 "l3": "--bind-to l3cache", "numa": "--bind-to numa", "package": "--bind-to socket"},
    "openmpi5": {"none": "--bind-to none", "core": "--bind-to core", "hwthread": "--bind-to hwthread",
                 "l3": "--bind-to l3cache", "numa": "--bind-to numa", "package": "--bind-to package"},
    "hydra": {"none": "-bind-to none", "core": "-bind-to core", "hwthread": "-bind-to hwthread",
              "l3": "-bind-to l3cache", "numa": "-bind-to numa", "package": "-bind-to socket"},
    "intelmpi": {"none": "I_MPI_PIN=0", "core": "I_MPI_PIN=1 I_MPI_PIN_DOMAIN=core",
                 "hwthread": "I_MPI_PIN=1 I_MPI_PIN_CELL=unit I_MPI_PIN_DOMAIN=1",
                 "l3": "I_MPI_PIN=1 I_MPI_PIN_DOMAIN=cache3", "numa": "I_MPI_PIN=1 I_MPI_PIN_DOMAIN=numa",
                 "package": "I_MPI_PIN=1 I_MPI_PIN_DOMAIN=socket"},
    "srun": {"none": "--cpu-bind=none", "core": "--cpu-bind=cores", "hwthread": "--cpu-bind=threads",
             "l3": None, "numa": "--cpu-bind=ldoms", "package": "--cpu-bind=sockets"},
    "aprun": {"none": "-cc none", "core": "-cc cpu", "hwthread": None, "l3": None, "numa": "-cc numa_node",
              "package": None},
    "pals": {"none": "--cpu-bind none", "core": "--cpu-bind core", "hwthread": "--cpu-bind thread",
             "l3": None, "numa": "--cpu-bind numa", "package": "--cpu-bind socket"},
    "direct": {"none": None, "core": None, "hwthread": None, "l3": None, "numa": None, "package": None},
}  # fmt: skip


def text_of(spelling: Spelling | None) -> str | None:
    if spelling is None:
        return None
    variables = {**spelling.environment, **{o[1]: o[2] for o in spelling.options if o[0] == "-genv"}}
    options = [word for option in spelling.options if option[0] != "-genv" for word in option]
    return " ".join([*(f"{name}={value}" for name, value in sorted(variables.items())), *options])


@pytest.mark.parametrize("name", dialects())
def test_every_launcher_has_its_words_for_binding(situation_of, name):
    assert {
        value: text_of(spell("binding", value, situation_of(name))) for value in BINDING[name]
    } == BINDING[name]


MAPPING = [
    ("openmpi4", "compact", "--map-by slot"),
    ("openmpi4", "spread-package", "--map-by socket"),
    ("openmpi5", "spread-package", "--map-by package"),
    ("openmpi5", "spread-numa", "--map-by numa"),
    ("openmpi5", "node-round-robin", "--map-by node"),
    ("hydra", "spread-numa", "-bind-to core -map-by numa"),
    ("hydra", "node-round-robin", None),
    ("intelmpi", "spread-numa", "I_MPI_PIN_ORDER=scatter"),
    ("srun", "spread-package", "--distribution=block:cyclic"),
    ("srun", "node-round-robin", "--distribution=cyclic"),
    ("srun", "spread-numa", None),
    ("aprun", "spread-numa", "-S 1"),
    ("aprun", "compact", None),
    ("pals", "compact", None),
]


@pytest.mark.parametrize(("name", "value", "expected"), MAPPING)
def test_a_launcher_has_its_words_for_mapping(situation_of, name, value, expected):
    assert text_of(spell("mapping", value, situation_of(name))) == expected


def test_ranks_go_round_several_nodes_one_by_one(situation_of):
    assert text_of(spell("mapping", "node-round-robin", situation_of("hydra", nodes=2))) == "-ppn 1"
    assert text_of(spell("mapping", "node-round-robin", situation_of("intelmpi", nodes=2))) == "-perhost 1"


@pytest.mark.parametrize("line", ["mpirun --map-by ppr:2:node ./a", "mpirun -npernode 2 ./a"])
def test_a_mapping_that_also_counts_ranks_is_not_exchanged(situation_of, line):
    assert spell("mapping", "spread-numa", situation_of("openmpi4", line)) is None


def test_ranks_that_must_share_cores_are_bound_all_the_same_when_asked(situation_of):
    crowded = situation_of("openmpi4", "mpirun -n 16 ./a")
    assert text_of(spell("binding", "core", crowded)) == "--bind-to core:overload-allowed"


THREADS = [
    ("openmpi4", "--map-by :pe=4 --bind-to core"),
    ("openmpi5", "--map-by :pe=4 --bind-to core"),
    ("hydra", "-bind-to core:4 -map-by core:4"),
    ("intelmpi", "I_MPI_PIN=1 I_MPI_PIN_DOMAIN=4:compact"),
    ("srun", "--cpus-per-task=4"),
    ("aprun", "-d 4 -cc depth"),
    ("pals", "--depth 4 --cpu-bind depth"),
    ("direct", None),
]


@pytest.mark.parametrize(("name", "expected"), THREADS)
def test_a_launcher_gives_each_rank_several_cpus(situation_of, name, expected):
    assert text_of(spell("threads-per-rank", "4", situation_of(name))) == expected


def together(place: Situation, **values: str) -> str:
    spellings = [(knob.replace("_", "-"), value) for knob, value in values.items()]
    return render(
        place.job, [(knob, value, spell(knob, value, place)) for knob, value in spellings]
    ).shell_line()


@pytest.mark.parametrize(
    ("name", "binding", "expected"),
    [
        ("openmpi5", "core", "mpirun --bind-to core --map-by numa:pe=4 -n 2 ./a"),
        ("hydra", "core", "mpirun -map-by numa -bind-to core:4 -n 2 ./a"),
        ("hydra", "numa", "mpirun -map-by numa -bind-to numa -n 2 ./a"),
        (
            "intelmpi",
            "core",
            "I_MPI_PIN=1 I_MPI_PIN_DOMAIN=4:compact I_MPI_PIN_ORDER=scatter mpirun -n 2 ./a",
        ),
        ("intelmpi", "numa", "I_MPI_PIN=1 I_MPI_PIN_DOMAIN=numa I_MPI_PIN_ORDER=scatter mpirun -n 2 ./a"),
    ],
)
def test_binding_mapping_and_width_make_one_placement(situation_of, name, binding, expected):
    knobs = {"binding": binding, "mapping": "spread-numa", "threads_per_rank": "4"}
    assert together(situation_of(name), **knobs) == expected
    assert together(situation_of(name), **dict(reversed(knobs.items()))) == expected


def test_unbound_stays_unbound_whatever_width_is_asked_for(situation_of):
    line = together(situation_of("intelmpi"), binding="none", threads_per_rank="4")
    assert "I_MPI_PIN=0" in line


def test_hydra_never_lets_wide_ranks_overlap(situation_of):
    line = "mpiexec -map-by core -bind-to core -n 2 ./a"
    wide = together(situation_of("hydra", line), threads_per_rank="4")
    assert wide == "mpiexec -map-by core:4 -bind-to core:4 -n 2 ./a"
    spelling = together(situation_of("hydra", "mpiexec -bind-to core:4 -n 2 ./a"), mapping="compact")
    assert spelling == "mpiexec -map-by core:4 -bind-to core:4 -n 2 ./a"
    both = together(situation_of("hydra"), mapping="compact", threads_per_rank="4")
    assert both == "mpirun -map-by core:4 -bind-to core:4 -n 2 ./a"


def test_a_width_leaves_the_users_mapping_to_hydra(situation_of):
    line = "mpiexec -bind-to core -map-by numa -n 2 ./a"
    wide = together(situation_of("hydra", line), threads_per_rank="4")
    assert wide == "mpiexec -map-by numa -bind-to core:4 -n 2 ./a"


@pytest.mark.parametrize(
    ("mpi_dialect", "expected"),
    [
        ("openmpi4", "OMPI_MCA_hwloc_base_binding_policy=socket"),
        ("openmpi5", "PRTE_MCA_hwloc_default_binding_policy=package"),
        ("hydra", "HYDRA_BINDING=socket"),
        ("intelmpi", "I_MPI_PIN=1 I_MPI_PIN_DOMAIN=socket"),
    ],
)
def test_a_launcher_inside_a_script_is_set_by_variables(situation_of, mpi_dialect, expected):
    assert text_of(spell("binding", "package", situation_of("direct", mpi_dialect=mpi_dialect))) == expected


def test_the_route_by_srun_needs_an_allocation(situation_of):
    assert spell("launch-route", "srun", situation_of("hydra")) is None
    assert text_of(spell("launch-route", "srun", situation_of("hydra", SLURM_JOB_ID="1"))) == "--mpi=pmi2"


def test_intel_ranks_find_slurm_only_by_its_library(situation_of):
    assert spell("launch-route", "srun", situation_of("intelmpi", SLURM_JOB_ID="1")) is None
    case = situation_of("intelmpi", SLURM_JOB_ID="1", I_MPI_PMI_LIBRARY="/usr/lib/libpmi2.so.0")
    assert text_of(spell("launch-route", "srun", case)) == "--mpi=pmi2"


def test_the_route_by_mpirun_takes_the_librarys_own_launcher(situation_of):
    place = situation_of("srun", mpi_dialect="hydra", SLURM_JOB_ID="1")
    spelling = spell("launch-route", "mpirun", place)
    assert (spelling.dialect, spelling.launcher_words) == ("hydra", (place.mpi.launcher,))


@pytest.mark.parametrize("name", dialects())
def test_a_knob_no_launcher_knows_is_left_to_others(situation_of, name):
    assert spell("eager-limit", "64KiB", situation_of(name)) is None
