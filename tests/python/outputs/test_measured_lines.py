"""Lines that hold measurements alone may come and go; results may not."""

import pytest

from mpiric.outputs.equivalence import learn

STEPS = "step 100 energy -1.234567e+03\nstep 200 energy -1.345678e+03\n"
TABLE = """\
 Computing:       Num   Num      Call    Wall time  Giga-Cycles
                 Ranks Threads  Count      (s)      total sum    %
-------------------------------------------------------------
 Domain decomp.      2    1         13       0.031       0.124   1.7
 Comm. load          2    1         12       0.000       0.002   0.1
 Force               2    1        501       1.234       5.678  70.1
-------------------------------------------------------------
"""
NOTE = """\
NOTE: 5.2 % of the available CPU time was lost due to load imbalance
      in the domain decomposition.
"""
ORIGINALS = [STEPS + TABLE, STEPS + TABLE.replace("0.031", "0.029")]


def complaint(output: str, **options) -> str:
    return str(learn(ORIGINALS).compare(output, **options) or "")


def test_counts_in_a_table_of_times_may_differ():
    assert complaint(STEPS + TABLE.replace("   12 ", "    5 ")) == ""


def test_a_row_of_a_table_of_times_may_be_missing_or_new():
    rows = [line for line in TABLE.splitlines(keepends=True) if "Comm. load" not in line]
    assert complaint(STEPS + "".join(rows)) == ""
    more = " Comm. bounds        2    1         11       0.001       0.003   0.1\n"
    assert complaint(STEPS + "".join([*rows[:4], more, *rows[4:]])) == ""


def test_a_remark_on_lost_time_may_be_new():
    assert complaint(STEPS + TABLE + NOTE) == ""


@pytest.mark.parametrize(
    "line",
    [
        "ERROR: 5.2 % of the rows are wrong\n",  # an alarm
        "lost nan % of the available CPU time\n",
        "charge 5.2 in the domain\n",  # a result
        "in the domain decomposition.\n",  # words that continue no measurement
    ],
)
def test_other_lines_may_not_be_new(line):
    assert "never prints" in complaint(STEPS + TABLE + line)


def test_results_beside_a_table_of_times_are_compared():
    assert complaint(STEPS.replace("1.345678", "1.345679") + TABLE)
    assert complaint(STEPS.splitlines()[0] + "\n" + TABLE)


def test_whole_numbers_beside_one_time_are_compared():
    rows = "rank   rows   time\n0 1000 0.53\n1 1200 0.61\n"
    varied = rows.replace("0.53", "0.52")
    assert learn([rows, varied]).compare(rows.replace("1200", "1300")) is not None


def test_whole_numbers_in_a_table_without_calls_are_compared():
    rows = "kind   tasks   wall time   share\nwrite 4 0.53 70.1\nread 4 0.61 29.9\n"
    varied = rows.replace("0.53", "0.52")
    assert learn([rows, varied]).compare(rows.replace(" 4 0.61", " 8 0.61")) is not None


def test_a_result_in_a_table_of_times_is_compared():
    rows = "iteration   time   residual\n1 0.53 1.23456e-05\n2 0.61 1.03456e-05\n"
    varied = rows.replace("0.53", "0.52")
    assert learn([rows, varied]).compare(rows.replace("1.03456", "1.03457")) is not None


SOLVED = "residual 1.234567e-05\n"
TIMER = """\
 FUNCTION              CALLS  DEPTH      OWN TIME       ALL TIME
                     MAXIMUM         AVERAGE MAXIMUM AVERAGE MAXIMUM
 main                      1    1.0    0.013   0.019   1.232   1.235
 integrate                 3    2.0    0.000   0.001   1.051   1.052
 forces                   28    3.1    0.001   0.001   0.906   0.907
 transfer_ab1cd2         375    4.6    0.000   0.000   0.274   0.274
 solve                    31    3.6    0.002   0.003   0.312   0.334
"""


def test_a_table_of_times_may_have_two_lines_of_headers():
    assert (
        learn([SOLVED + TIMER] * 2).compare(SOLVED + TIMER.replace("0.274   0.274", "0.301   0.302")) is None
    )


def table(*times: str) -> str:
    """Return a table without any word for time."""
    return SOLVED + "".join(f"{name}  {time}  0.274\n" for name, time in zip("abcdefgh", times, strict=False))


VARYING = [
    table("0.013", "0.021", "0.101", "0.000", "0.001", "0.000"),
    table("0.015", "0.022", "0.112", "0.000", "0.001", "0.000"),
]


def test_short_numbers_in_a_table_whose_rows_vary_are_not_compared():
    """The short times of some functions were equal in all originals by chance."""
    assert learn(VARYING).compare(table("0.014", "0.021", "0.101", "0.001", "0.000", "0.001")) is None


def test_the_rows_of_a_table_in_which_one_varies_are_compared():
    originals = [VARYING[0], VARYING[0].replace("0.013", "0.014")]
    assert learn(originals).compare(VARYING[0].replace("d  0.000", "d  0.001")) is not None


def test_long_numbers_in_a_table_whose_rows_vary_are_compared():
    with_result = [text + "energy  -1.234567  0.274\n" for text in VARYING]
    assert learn(with_result).compare(with_result[0].replace("-1.234567", "-1.234568")) is not None


STEPS_OF_SOLVER = """\
  Step  Method         Time   Change    Energy
  ------------------------------------------------
     1  Mix_1/Direct.  0.40E+00  0.1  0.00123400  -17.123456789
     2  Mix_1/Direct.  0.24E-05  0.0  0.00000380  -17.158421711
"""


def test_short_times_beside_a_word_and_results_are_not_compared():
    outputs = [STEPS_OF_SOLVER] * 2
    assert learn(outputs).compare(STEPS_OF_SOLVER.replace("  0.0  ", "  0.1  ")) is None
    assert learn(outputs).compare(STEPS_OF_SOLVER.replace("58421711", "58421712")) is not None


@pytest.mark.parametrize(
    ("original", "other"),
    [
        ("  xmpi_tag_ub ................   2147483647", "  xmpi_tag_ub ................   8388607"),
        ("MPI_TAG_UB = 2147483647", "MPI_TAG_UB = 8388607"),
        ("tag upper bound: 2147483647", "tag upper bound: 8388607"),
        ("MPI_WTICK  1.0E-009", "MPI_WTICK  3.8519096032375583E-010"),
        ("MPI_MAX_PROCESSOR_NAME 256", "MPI_MAX_PROCESSOR_NAME 128"),
        ("MPI version 3.1", "MPI version 4.0"),
        ("2 processes, MPI standard 3.1", "2 processes, MPI standard 4.1"),
        ("MPI v3.1: Open MPI v4.1.4", "MPI v4.0: MPICH Version: 4.0.2"),
        (
            "Open MPI v4.1.4, package: Debian OpenMPI",
            "MPICH Version: 4.0.2\nMPICH ABI: 14:2:2\nMPICH CC: gcc -O2",
        ),
        ("Library Intel(R) MPI Library 2021.19 for Linux* OS", "Library Open MPI v4.1.4"),
    ],
)
def test_lines_about_the_mpi_library_may_differ(original, other):
    expectation = learn([STEPS + original + "\n"] * 2)
    assert not expectation.compare(STEPS + other + "\n")
    assert expectation.compare(STEPS.replace("1.345678", "1.345679") + other + "\n")


def test_an_error_of_the_mpi_library_is_a_difference():
    assert learn([STEPS] * 2).compare(STEPS + "Open MPI 4: error: no component\n")
