from dataclasses import replace

import pytest

from mpiric.launchers import dialects, render, write_host_file
from mpiric.launchers._hosts import read_host_file
from mpiric.model.errors import MismatchError
from mpiric.model.job import LEFT_OUT, HostSlots, Spelling


def switched(job, dialect, launcher):
    return render(job, [("launch-route", "x", Spelling(dialect=dialect, launcher_words=(launcher,)))])


CARRIED = [
    ("mpirun -np 2 ./a", "openmpi4", "hydra", "mpiexec -n 2 ./a"),
    ("mpirun -np 2 -- ./a -x", "openmpi4", "hydra", "mpiexec -n 2 ./a -x"),
    ("mpiexec -n 4 -ppn 2 -hosts a,b ./a", "hydra", "intelmpi", "mpirun -n 4 -ppn 2 -hosts a,b ./a"),
    ("mpiexec -n 4 -bind-to core ./a", "hydra", "intelmpi", "mpirun -n 4 -genv I_MPI_PIN_DOMAIN core ./a"),
    (
        "mpiexec -n 4 -bind-to core:2 ./a",
        "hydra",
        "intelmpi",
        "mpirun -n 4 -genv I_MPI_PIN_DOMAIN 2:compact ./a",
    ),
    ("mpiexec -n 4 -launcher-exec /x ./a", "hydra", "intelmpi", "mpirun -n 4 -launcher-exec /x ./a"),
    ("mpirun -n 4 -l -genv A 1 ./a", "intelmpi", "hydra", "mpiexec -n 4 -l -genv A 1 ./a"),
    (
        "mpirun -np 4 --map-by ppr:2:node:pe=4 ./a",
        "openmpi4",
        "srun",
        "srun --ntasks=4 --ntasks-per-node=2 --cpus-per-task=4 ./a",
    ),
    (
        "mpirun -np 4 --map-by socket --bind-to socket ./a",
        "openmpi4",
        "openmpi5",
        "mpirun -np 4 --map-by package --bind-to package ./a",
    ),
    (
        "mpirun -np 4 --mca pml ob1 --hostfile h ./a",
        "openmpi4",
        "openmpi5",
        "mpirun -np 4 --mca pml ob1 --hostfile h ./a",
    ),
    ("mpirun -np 4 --mca pml ob1 ./a", "openmpi4", "srun", "OMPI_MCA_pml=ob1 srun --ntasks=4 ./a"),
    ("mpirun -np 4 -x A=1 -x B ./a", "openmpi4", "srun", "A=1 srun --ntasks=4 ./a"),
    ("mpirun -np 4 -x A=1 -x B ./a", "openmpi4", "hydra", "mpiexec -n 4 -genv A 1 ./a"),
    (
        "srun -n8 -N2 -c 4 --cpu-bind=cores --mpi=pmi2 ./a",
        "srun",
        "hydra",
        "mpiexec -n 8 -ppn 4 -bind-to core:4 ./a",
    ),
    ("srun -n8 -c 2 -m block:block ./a", "srun", "hydra", "mpiexec -n 8 -bind-to core:2 ./a"),
    ("srun -n8 --export=ALL,A=1 -D /w ./a", "srun", "openmpi5", "mpirun -np 8 -x A=1 --wdir /w ./a"),
    (
        "aprun -n 8 -N 4 -d 2 -cc cpu ./a",
        "aprun",
        "srun",
        "srun --ntasks=8 --ntasks-per-node=4 --cpus-per-task=2 --cpu-bind=cores ./a",
    ),
    (
        "mpiexec -n 8 --ppn 4 --cpu-bind socket ./a",
        "pals",
        "openmpi5",
        "mpirun -np 8 --map-by ppr:4:node --bind-to package ./a",
    ),
    ("mpirun -np 1 ./a : -np 2 ./b", "openmpi4", "hydra", "mpiexec -n 1 ./a : -n 2 ./b"),
    ("mpirun -np 2 --map-by core ./a", "openmpi4", "hydra", "mpiexec -n 2 ./a"),
    ("mpirun -np 2 --map-by core ./a", "openmpi4", "openmpi5", "mpirun -np 2 --map-by core ./a"),
    ("mpirun -np 2 --rank-by slot ./a", "openmpi4", "hydra", "mpiexec -n 2 ./a"),
    ("mpirun -np 2 --map-by core --rank-by slot ./a", "openmpi4", "hydra", "mpiexec -n 2 ./a"),
]


@pytest.mark.parametrize(("line", "source", "target", "expected"), CARRIED)
def test_a_job_is_carried_over_to_another_launcher(parse, line, source, target, expected):
    launch = switched(parse(line, source), target, {"hydra": "mpiexec", "srun": "srun"}.get(target, "mpirun"))
    assert launch.shell_line() == expected


FILES = {
    "openmpi": "# ours\nn1 slots=2 max_slots=4\nroot@n2 slots = 1\n\nn3\nn3\n",
    "hydra": "n1:2 # first\nn2:1\nn3:2\n",
    "even": "n1:2\nn2:2\n",
    "slurm": "n[1-2]\nn3\n",
    "lines": "n1\nn2\n",
}
HOSTS_CARRIED = [
    ("mpirun -np 5 --hostfile openmpi ./a", "openmpi5", "hydra", "mpiexec -n 5 -hosts n1:2,n2:1,n3:2 ./a"),
    ("mpirun -np 3 --hostfile openmpi ./a", "openmpi5", "hydra", "mpiexec -n 3 -hosts n1:2,n2:1 ./a"),
    ("mpirun --hostfile openmpi ./a", "openmpi4", "intelmpi", "mpirun -n 5 -hosts n1:2,n2:1,n3:2 ./a"),
    (
        "mpirun --hostfile openmpi ./a",
        "openmpi4",
        "srun",
        "srun --ntasks=5 --nodes=3 --nodelist=n1,n1,n2,n3,n3 --distribution=arbitrary ./a",
    ),
    ("mpirun -np 5 --machinefile openmpi ./a", "openmpi4", "openmpi5", "mpirun -np 5 --hostfile openmpi ./a"),
    ("mpiexec -n 5 -machinefile hydra ./a", "hydra", "openmpi5", "mpirun -np 5 --host n1:2,n2:1,n3:2 ./a"),
    ("mpiexec -n 4 -f hydra ./a", "hydra", "intelmpi", "mpirun -n 4 -f hydra ./a"),
    (
        "mpiexec -n 4 -f even ./a",
        "hydra",
        "srun",
        "srun --ntasks=4 --nodes=2 --nodelist=n1,n2 --ntasks-per-node=2 ./a",
    ),
    ("mpiexec -n 4 -f even ./a", "intelmpi", "pals", "mpirun -n 4 --hosts n1,n2 --ppn 2 ./a"),
    ("mpiexec -n 4 -f even ./a", "hydra", "aprun", "mpirun -n 4 -L n1,n2 -N 2 ./a"),
    (
        "mpiexec -n 4 -hosts a,b -ppn 2 ./a",
        "hydra",
        "srun",
        "srun --ntasks=4 --nodes=2 --nodelist=a,b --ntasks-per-node=2 ./a",
    ),
    (
        "mpiexec -n 3 -hosts a,b ./a",
        "hydra",
        "srun",
        "srun --ntasks=3 --nodes=2 --nodelist=a,b,a --distribution=arbitrary ./a",
    ),
    ("srun -n 6 -F slurm ./a", "srun", "hydra", "mpiexec -n 6 -hosts n1:2,n2:2,n3:2 ./a"),
    ("srun -n 4 -w n[1-2] ./a", "srun", "openmpi5", "mpirun -np 4 --host n1:2,n2:2 ./a"),
    (
        "mpiexec -n 4 --hostfile lines ./a",
        "pals",
        "srun",
        "srun --ntasks=4 --nodes=2 --nodelist=n1,n2 --ntasks-per-node=2 ./a",
    ),
]


@pytest.mark.parametrize(("line", "source", "target", "expected"), HOSTS_CARRIED)
def test_every_rank_keeps_its_host(parse, line, source, target, expected):
    job = replace(parse(line, source), host_files=FILES)
    launch = switched(job, target, {"hydra": "mpiexec", "srun": "srun"}.get(target, "mpirun"))
    assert launch.shell_line() == expected


@pytest.mark.parametrize(
    ("name", "text"),
    [("openmpi5", "n1 slots=2\nn2 slots=1\n"), ("hydra", "n1:2\nn2:1\n"), ("pals", "n1\nn2\n")],
)
def test_host_files_are_written_as_they_are_read(name, text):
    form = dialects()[name].hosts
    assert form is not None
    assert write_host_file(form, (HostSlots("n1", 2), HostSlots("n2", 1))) == text
    assert [host.name for host in read_host_file(form, text)] == ["n1", "n2"]


REFUSED = [
    ("mpirun -np 2 --hostfile h ./a", "openmpi4", "hydra", "the file cannot be read"),
    ("aprun -n 2 -l nodes ./a", "aprun", "srun", "the file cannot be read"),
    ("mpirun -np 4 --host a:1,b:3 ./a", "openmpi4", "pals", "no syntax for hosts with these numbers"),
    (
        "mpirun -np 2 --bind-to board ./a",
        "openmpi4",
        "hydra",
        "'--bind-to board' cannot be translated",
    ),
    ("mpirun ./a", "openmpi4", "hydra", "does not set the number of ranks"),
    ("mpirun -np 2 --timeout 9 ./a", "openmpi4", "hydra", "'--timeout 9' cannot be translated"),
    ("mpiexec -launcher ssh -hosts n1 -n 2 ./a", "hydra", "openmpi5", "'-launcher ssh' cannot be translated"),
    ("mpirun -x A=1 -np 1 ./a : -np 1 ./b", "openmpi4", "openmpi5", "would apply to all programs"),
    ("mpirun -np 1 --host a ./a : --host b -np 1 ./b", "openmpi4", "hydra", "would apply to all programs"),
    ("mpiexec -hosts a,b -n 1 ./a : -n 1 ./b", "hydra", "openmpi5", "hosts cannot be translated"),
    ("srun -n 3 -N 2 ./a", "srun", "hydra", "'-N 2' cannot be translated"),
    ("srun -n 2 --multi-prog c", "srun", "hydra", "'--multi-prog' cannot be translated"),
    ("mpirun -np 1 -x A=1 ./a : -np 1 ./b", "openmpi4", "srun", "different variables"),
    ("./a", "direct", "srun", "command has no launcher"),
]


LEFT_OUT_OPTIONS = [
    ("mpirun -np 2 --mca btl self ./a", "openmpi4", "hydra", ["--mca btl self"]),
    ("mpirun -np 2 --prtemca a b ./a", "openmpi5", "openmpi4", ["--prtemca a b"]),
    (
        "mpirun -np 2 --report-bindings --display map ./a",
        "openmpi5",
        "hydra",
        ["--report-bindings", "--display map"],
    ),
    ("mpiexec -launcher ssh -n 2 ./a", "hydra", "srun", ["-launcher ssh"]),
    ("mpiexec -iface eth0 -v -n 2 ./a", "hydra", "openmpi5", ["-iface eth0", "-v"]),
    ("srun -n 2 -p short -A me --exclusive ./a", "srun", "hydra", ["-p short", "-A me", "--exclusive"]),
]


@pytest.mark.parametrize(("line", "source", "target", "expected"), LEFT_OUT_OPTIONS)
def test_options_that_only_concern_the_previous_launcher_are_left_out_and_reported(
    parse, line, source, target, expected
):
    launch = switched(parse(line, source), target, "x")
    assert [setting.name for setting in launch.settings if setting.value == LEFT_OUT] == expected
    assert launch.argv[-1] == "./a"
    assert not {word for name in expected for word in name.split()} & set(launch.argv)


SEVERAL_PROGRAMS = [
    (
        "mpirun -x A=1 -np 1 ./a : -x A=2 -np 1 ./b",
        "openmpi4",
        "hydra",
        "mpiexec -env A 1 -n 1 ./a : -env A 2 -n 1 ./b",
    ),
    ("mpirun -x A=1 -np 1 ./a : -np 1 ./b", "openmpi4", "hydra", "mpiexec -env A 1 -n 1 ./a : -n 1 ./b"),
    ("mpirun -x A=1 -np 1 ./a : -np 1 ./b", "openmpi5", "hydra", "mpiexec -genv A 1 -n 1 ./a : -n 1 ./b"),
    (
        "mpiexec -n 1 ./a : -n 1 -genv A 3 ./b",
        "hydra",
        "openmpi4",
        "mpirun -x A=3 -np 1 ./a : -np 1 -x A=3 ./b",
    ),
    (
        "mpiexec -genv A 1 -n 1 ./a : -n 1 -env A 2 ./b",
        "intelmpi",
        "openmpi5",
        "mpirun -x A=1 -np 1 ./a : -np 1 -x A=2 ./b",
    ),
    (
        "mpirun --bind-to core -np 1 ./a : -np 1 ./b",
        "openmpi4",
        "hydra",
        "mpiexec -bind-to core -n 1 ./a : -n 1 ./b",
    ),
    (
        "mpirun --wdir /t -np 1 /a : -np 1 /b",
        "openmpi4",
        "intelmpi",
        "mpirun -wdir /t -n 1 /a : -wdir /work -n 1 /b",
    ),
]


@pytest.mark.parametrize(("line", "source", "target", "expected"), SEVERAL_PROGRAMS)
def test_every_program_of_a_launch_keeps_its_own_settings(parse, line, source, target, expected):
    launch = switched(parse(line, source), target, {"hydra": "mpiexec"}.get(target, "mpirun"))
    assert launch.shell_line() == expected


def test_a_binding_set_by_a_parameter_is_carried_over(parse):
    line = "mpirun -np 2 --mca hwloc_base_binding_policy core ./a"
    assert (
        switched(parse(line, "openmpi4"), "hydra", "mpiexec").shell_line() == "mpiexec -n 2 -bind-to core ./a"
    )


@pytest.mark.parametrize(("line", "source", "target", "reason"), REFUSED)
def test_options_without_a_counterpart_are_refused_by_name(parse, line, source, target, reason):
    with pytest.raises(MismatchError, match=reason):
        switched(parse(line, source), target, "x")


def test_the_same_dialect_only_changes_the_launcher_word(parse):
    launch = switched(
        parse("mpirun -n 2 -print-all-exitcodes ./a", "hydra"), "hydra", "/opt/mpich/bin/mpiexec"
    )
    assert launch.argv == ("/opt/mpich/bin/mpiexec", "-n", "2", "-print-all-exitcodes", "./a")


def test_a_switch_is_reported_with_the_replaced_values(parse):
    setting = switched(parse("mpirun -np 2 ./a", "openmpi4"), "srun", "srun").settings[0]
    assert (setting.value, setting.overrides) == ("srun", "mpirun -np 2 (command line)")


def test_options_given_with_the_switch_are_written_for_the_new_launcher(parse):
    spelling = Spelling(dialect="srun", launcher_words=("srun",), options=(("--mpi=pmix",),))
    launch = render(parse("mpirun -np 2 ./a", "openmpi4"), [("launch-route", "srun", spelling)])
    assert launch.argv == ("srun", "--mpi=pmix", "--ntasks=2", "./a")


def test_two_knobs_that_want_different_launchers_are_refused(parse):
    spellings = [(name, "x", Spelling(dialect=name, launcher_words=(name,))) for name in ("srun", "hydra")]
    with pytest.raises(MismatchError, match="require different launchers"):
        render(parse("mpirun -np 2 ./a", "openmpi4"), spellings)


@pytest.mark.parametrize("source", [name for name in dialects() if name != "direct"])
@pytest.mark.parametrize("target", [name for name in dialects() if name != "direct"])
def test_ranks_are_carried_between_any_two_launchers(parse, source, target):
    word = dialects()[source].launcher_names[0]
    launch = switched(parse(f"{word} -n 3 ./a", source), target, "launcher")
    assert (
        parse(" ".join(launch.argv).replace("launcher", dialects()[target].launcher_names[0]), target).ranks
        == 3
    )


@pytest.mark.parametrize(
    ("line", "source", "target", "expected"),
    [
        ("mpiexec -n 4 ./a", "hydra", "openmpi5", "mpirun --oversubscribe -np 4 ./a"),
        (
            "mpiexec -n 2 ./a : -n 2 ./b",
            "hydra",
            "openmpi4",
            "mpirun --oversubscribe -np 2 ./a : --oversubscribe -np 2 ./b",
        ),
        ("mpirun --oversubscribe -np 4 ./a", "openmpi4", "openmpi5", "mpirun --oversubscribe -np 4 ./a"),
        ("mpirun --oversubscribe -np 4 ./a", "openmpi4", "hydra", "mpiexec -n 4 ./a"),
        ("mpiexec -n 4 ./a", "hydra", "srun", "srun --overcommit --ntasks=4 ./a"),
    ],
)
def test_launchers_that_need_an_option_for_more_ranks_than_cpus_get_it(parse, line, source, target, expected):
    argv = (expected.split()[0],)
    spelling = Spelling(dialect=target, launcher_words=argv, crowded=True)
    launch = render(parse(line, source), [("mpi", "x", spelling)])
    assert " ".join(launch.argv) == expected
