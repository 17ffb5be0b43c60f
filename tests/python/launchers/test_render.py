import pytest

from mpiric.launchers import dialects, render
from mpiric.model.errors import MismatchError
from mpiric.model.job import Spelling

LINES = {
    "openmpi4": "mpirun -np 2 ./a",
    "openmpi5": "mpirun -np 2 ./a",
    "hydra": "mpiexec -n 2 ./a",
    "intelmpi": "mpirun -n 2 ./a",
    "srun": "srun -n2 ./a",
    "aprun": "aprun -n 2 ./a",
    "pals": "mpiexec -n 2 ./a",
    "direct": "./a",
}
EVERY_DIALECT = pytest.mark.parametrize("name", dialects())
LAUNCHERS = pytest.mark.parametrize("name", [name for name in dialects() if name != "direct"])


def rendered(job, **spelling):
    return render(job, [("knob", "value", Spelling(**spelling))])


@EVERY_DIALECT
def test_a_variable_on_one_node_goes_by_the_environment(parse, name):
    launch = rendered(parse(LINES[name], name), environment={"A": "1"})
    assert (launch.environment, " ".join(launch.argv)) == ({"A": "1"}, LINES[name])
    assert launch.settings[0].where == "environment"


@EVERY_DIALECT
def test_a_variable_the_user_has_set_is_named_as_overridden(parse, name):
    launch = rendered(parse(LINES[name], name, A="0"), environment={"A": "1"})
    assert launch.settings[0].overrides == "A=0 (environment)"


@LAUNCHERS
def test_a_preload_never_reaches_the_launcher_itself(parse, name):
    launch = rendered(parse(LINES[name], name), preload=("/l.so",))
    assert "LD_PRELOAD" not in launch.environment
    assert any("LD_PRELOAD" in word for word in launch.argv)
    assert launch.settings[0].where == "command line"


def test_a_preload_without_a_launcher_is_in_the_environment(parse):
    launch = rendered(parse("./a", "direct"), preload=("/l.so",))
    assert launch.environment == {"LD_PRELOAD": "/l.so"}


@EVERY_DIALECT
def test_a_preload_is_placed_before_the_users_own(parse, name):
    launch = rendered(parse(LINES[name], name, LD_PRELOAD="/own.so"), preload=("/l.so",))
    assert "/l.so:/own.so" in launch.shell_line()


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("openmpi4", ("-x", "LD_PRELOAD=/l.so")),
        ("openmpi5", ("-x", "LD_PRELOAD=/l.so")),
        ("hydra", ("-genv", "LD_PRELOAD", "/l.so")),
        ("intelmpi", ("-genv", "LD_PRELOAD", "/l.so")),
        ("srun", ("--export=ALL,LD_PRELOAD=/l.so",)),
        ("aprun", ("-e", "LD_PRELOAD=/l.so")),
        ("pals", ("--env", "LD_PRELOAD=/l.so")),
    ],
)
def test_each_launcher_has_its_own_word_for_a_variable_of_the_ranks(parse, name, option):
    argv = rendered(parse(LINES[name], name), preload=("/l.so",)).argv
    assert argv[1 : 1 + len(option)] == option


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("openmpi4", "mpirun --host n1,n2 ./a"),
        ("openmpi5", "mpirun --hostfile h -n 2 ./a"),
        ("hydra", "mpiexec -hosts n1,n2 -n 2 ./a"),
        ("intelmpi", "mpirun -machinefile h -n 2 ./a"),
        ("pals", "mpiexec --hosts n1,n2 -n 2 ./a"),
        ("aprun", "aprun -L n1,n2 -n 2 ./a"),
    ],
)
def test_a_variable_is_forwarded_to_other_nodes_by_option(parse, name, line):
    launch = rendered(parse(line, name), environment={"A": "1"})
    assert launch.environment == {}
    assert "A" in " ".join(launch.argv).replace("=", " ").split()


def test_an_allocation_of_several_nodes_counts_as_other_nodes(parse):
    launch = rendered(parse("mpirun -n 4 ./a", "openmpi4", SLURM_NNODES="2"), environment={"A": "1"})
    assert launch.argv[:3] == ("mpirun", "-x", "A=1")


def test_a_host_file_in_the_environment_counts_as_other_nodes(parse):
    job = parse("mpiexec -n 4 ./a", "hydra", HYDRA_HOST_FILE="hosts")
    assert rendered(job, environment={"A": "1"}).argv[:4] == ("mpiexec", "-genv", "A", "1")


def test_mca_variables_travel_to_other_nodes_by_themselves(parse):
    launch = rendered(parse("mpirun --host n1,n2 ./a", "openmpi4"), environment={"OMPI_MCA_btl": "tcp"})
    assert launch.environment == {"OMPI_MCA_btl": "tcp"}


def test_srun_passes_its_environment_to_every_node(parse):
    launch = rendered(parse("srun -N2 -n2 ./a", "srun"), environment={"A": "1"})
    assert launch.environment == {"A": "1"}


def test_a_limited_export_list_is_extended(parse):
    launch = rendered(parse("srun --export=PATH -n2 ./a", "srun"), environment={"A": "1,2"})
    assert launch.argv == ("srun", "--export=PATH,A", "-n2", "./a")
    assert launch.environment == {"A": "1,2"}


def test_an_export_of_nothing_becomes_an_export_of_the_settings(parse):
    launch = rendered(parse("srun --export=NONE -n2 ./a", "srun"), environment={"A": "1"})
    assert launch.argv[1] == "--export=A"


def test_an_export_list_in_the_environment_is_respected(parse):
    launch = rendered(parse("srun -n2 ./a", "srun", SLURM_EXPORT_ENV="PATH"), environment={"A": "1"})
    assert launch.argv[1] == "--export=PATH,A"


def test_a_preload_for_the_ranks_overrides_the_one_of_srun(parse):
    launch = rendered(parse("srun -n2 ./a", "srun", LD_PRELOAD="/own.so"), preload=("/l.so",))
    assert launch.unset == ("LD_PRELOAD",)
    assert launch.argv[1] == "--export=ALL,LD_PRELOAD=/l.so:/own.so"


def test_a_limited_environment_of_hydra_is_extended_by_option(parse):
    launch = rendered(parse("mpiexec -genvnone -n 2 ./a", "hydra"), environment={"A": "1"})
    assert launch.argv[1:4] == ("-genv", "A", "1")


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("openmpi4", "mpirun -x A=0 -n 2 ./a"),
        ("hydra", "mpiexec -genv A 0 -n 2 ./a"),
        ("hydra", "mpiexec -env A=0 -n 2 ./a"),
        ("srun", "srun --export=ALL,A=0 -n 2 ./a"),
        ("aprun", "aprun -e A=0 -n 2 ./a"),
        ("pals", "mpiexec --env A=0 -n 2 ./a"),
    ],
)
def test_the_users_own_option_for_a_variable_is_replaced(parse, name, line):
    launch = rendered(parse(line, name), environment={"A": "1"})
    assert "A=1" in launch.shell_line()
    assert "0" not in launch.shell_line()
    assert launch.settings[0].overrides == "A=0 (command line)"


def test_an_option_that_would_win_over_a_variable_is_taken_away(parse):
    launch = rendered(
        parse("mpirun --mca btl self -n 2 ./a", "openmpi4"), environment={"OMPI_MCA_btl": "tcp,self"}
    )
    assert launch.argv == ("mpirun", "-n", "2", "./a")
    assert launch.settings[0].overrides == "--mca btl self (command line)"


def test_an_option_names_the_variable_it_wins_over(parse):
    job = parse("mpirun -n 2 ./a", "openmpi4", OMPI_MCA_btl="tcp")
    launch = rendered(job, options=(("--mca", "btl", "self"),))
    assert launch.settings[0].overrides == "OMPI_MCA_btl=tcp (environment)"


def test_an_option_replaces_the_one_of_the_same_meaning_under_another_name(parse):
    launch = rendered(parse("mpirun --bind-to-core -n 2 ./a", "openmpi4"), options=(("--bind-to", "none"),))
    assert launch.argv == ("mpirun", "--bind-to", "none", "-n", "2", "./a")
    assert launch.settings[0].overrides == "--bind-to-core (command line)"


def test_parameters_of_other_names_stay(parse):
    launch = rendered(parse("mpirun --mca pml ucx -n 2 ./a", "openmpi4"), options=(("--mca", "btl", "self"),))
    assert launch.argv == ("mpirun", "--mca", "btl", "self", "--mca", "pml", "ucx", "-n", "2", "./a")


def test_qualifiers_of_the_users_mapping_stay_when_the_policy_changes(parse):
    job = parse("mpirun --map-by slot:pe=2,oversubscribe -n 2 ./a", "openmpi4")
    launch = rendered(job, options=(("--map-by", "numa"),))
    assert launch.argv[1:3] == ("--map-by", "numa:pe=2,oversubscribe")


def test_the_users_own_ranks_per_node_stay_when_a_width_is_set(parse):
    job = parse("mpirun --map-by ppr:2:node -n 2 ./a", "openmpi5")
    launch = rendered(job, options=(("--map-by", ":pe=4"),))
    assert launch.argv[1:3] == ("--map-by", "ppr:2:node:pe=4")


def test_the_number_of_ranks_can_be_another(parse):
    launch = rendered(parse("mpirun -np 2 ./a", "openmpi4"), ranks=7)
    assert launch.argv == ("mpirun", "-np", "7", "./a")
    assert launch.settings[0].overrides == "-np 2 (command line)"


def test_ranks_of_several_programs_cannot_be_varied(parse):
    with pytest.raises(MismatchError, match="several programs"):
        rendered(parse("mpirun -np 2 ./a : -np 1 ./b", "openmpi4"), ranks=7)


def test_ranks_cannot_be_varied_without_a_launcher(parse):
    with pytest.raises(MismatchError, match="has no option for ranks"):
        rendered(parse("./a", "direct"), ranks=7)


def test_an_option_without_a_launcher_is_refused(parse):
    with pytest.raises(MismatchError, match="needs a launcher"):
        rendered(parse("./a", "direct"), options=(("--bind-to", "core"),))


def test_every_program_of_open_mpi_gets_the_variable(parse):
    job = parse("mpirun --host h -np 1 ./a : -x A=0 -np 1 ./b", "openmpi4")
    argv = rendered(job, environment={"A": "1"}).argv
    assert " ".join(argv) == "mpirun -x A=1 --host h -np 1 ./a : -x A=1 -np 1 ./b"


def test_every_program_of_hydra_gets_the_global_variable_once(parse):
    job = parse("mpiexec -hosts h -n 1 ./a : -env A 0 -n 1 ./b", "hydra")
    argv = rendered(job, environment={"A": "1"}).argv
    assert " ".join(argv) == "mpiexec -genv A 1 -hosts h -n 1 ./a : -n 1 ./b"


def test_tunables_of_several_knobs_and_the_user_are_joined(parse):
    job = parse("./a", "direct", GLIBC_TUNABLES="glibc.malloc.check=3:glibc.malloc.hugetlb=2")
    spellings = [
        ("one", "x", Spelling(environment={"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"})),
        ("two", "y", Spelling(environment={"GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"})),
    ]
    expected = "glibc.malloc.check=3:glibc.malloc.hugetlb=1:glibc.malloc.tcache_count=0"
    assert render(job, spellings).environment == {"GLIBC_TUNABLES": expected}


def test_two_knobs_that_set_one_variable_differently_are_refused(parse):
    spellings = [(knob, knob, Spelling(environment={"A": knob})) for knob in ("one", "two")]
    with pytest.raises(MismatchError, match="one and two set A to different values"):
        render(parse("./a", "direct"), spellings)


def test_a_removed_variable_is_absent_from_options_and_environment(parse):
    launch = rendered(parse("mpirun -x A=1 -n 2 ./a", "openmpi4", A="0"), unset=("A",))
    assert (launch.argv, launch.unset) == (("mpirun", "-n", "2", "./a"), ("A",))


def test_removing_an_absent_variable_changes_nothing(parse):
    launch = rendered(parse("mpirun -n 2 ./a", "openmpi4"), unset=("A",))
    assert (launch.unset, launch.settings) == ((), ())


def test_variables_of_the_launcher_stay_in_its_environment(parse):
    launch = rendered(parse("mpiexec -hosts a,b -n 2 ./a", "hydra"), launcher_environment={"HYDRA_X": "1"})
    assert launch.environment == {"HYDRA_X": "1"}


def test_new_options_are_placed_before_the_users_own(parse):
    """Otherwise a word of theirs could be taken for the value of an option that mpiric does not know."""
    launch = rendered(parse("mpirun --tomorrow -n 2 ./a", "openmpi4"), options=(("--bind-to", "core"),))
    assert launch.argv[1:3] == ("--bind-to", "core")


def test_an_option_of_another_launcher_is_refused(parse):
    with pytest.raises(MismatchError, match="srun does not have the option '--bind-to core'"):
        rendered(parse("srun -n 2 ./a", "srun"), options=(("--bind-to", "core"),))


def test_one_value_does_not_replace_different_lists_of_several_programs(parse):
    job = parse("mpirun -x LD_LIBRARY_PATH=/a -np 1 ./a : -x LD_LIBRARY_PATH=/b -np 1 ./b", "openmpi4")
    with pytest.raises(MismatchError, match="different values of LD_LIBRARY_PATH"):
        render(job, [("mpi", "x", Spelling(library_path=("/c",)))])


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("mpirun -np 2 env A=4 ./a", "A=2 mpirun -np 2 env A=2 ./a"),
        ("mpirun -np 2 env -i ./a", "A=2 mpirun -np 2 env -i A=2 ./a"),
        ("mpirun -np 2 env -u A ./a", "A=2 mpirun -np 2 env -u A A=2 ./a"),
        ("mpirun -np 2 env B=1 ./a", "A=2 mpirun -np 2 env B=1 ./a"),
        ("mpirun -np 2 taskset -c 1 env A=1 ./a", "A=2 mpirun -np 2 taskset -c 1 env A=2 ./a"),
    ],
)
def test_a_variable_reaches_a_program_behind_env(parse, line, expected):
    launch = render(parse(line, "openmpi4"), [("x", "2", Spelling(environment={"A": "2"}))])
    assert launch.shell_line() == expected


def test_a_wrapper_that_sets_the_cpus_is_known(parse):
    lines = ("taskset -c 1 ./a", "numactl -C 0-3 ./a", "numactl --localalloc ./a", "./a taskset")
    wrappers = [parse(f"mpirun -np 2 {line}", "openmpi4").binding_wrapper for line in lines]
    assert wrappers == ["taskset -c 1", "numactl -C 0-3", "", ""]
