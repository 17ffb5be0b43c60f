"""Common parts of hydra in MPICH, MVAPICH and Intel MPI: options, host files, and their syntax.

Options take any number of dashes, either case, and ``-name=value``; ``-genv`` takes NAME VALUE or NAME=VALUE.
Source: src/pm/hydra/mpiexec/options.c and src/pm/hydra/lib/utils/args.c of MPICH.
"""

from collections.abc import Mapping

from mpiric.launchers._dialect import Grammar, Option, Speller, Words, Writer, flags, separate, valued
from mpiric.launchers._host_format import HostFormat, by_commas, colon, first_word
from mpiric.launchers._placement import ranks_on_each
from mpiric.model.job import Meaning
from mpiric.model.situation import Situation
from mpiric.model.spelling import Spelling

GRAMMAR = Grammar(equals=True, fold_case=True, long_after_one_dash=True, pair_in_one_word=True)

OPTIONS = (
    Option(("n", "np"), 1, Meaning.RANKS),
    Option(("ppn",), 1, Meaning.RANKS_PER_NODE),
    Option(("hosts", "host", "hostlist", "machine", "machines", "machinelist"), 1, Meaning.HOSTS),
    Option(("f", "hostfile", "machinefile"), 1, Meaning.HOSTFILE, variable="HYDRA_HOST_FILE"),
    Option(("genv", "env"), 2, Meaning.ENVIRONMENT),
    Option(("genvlist", "envlist"), 1, Meaning.ENVIRONMENT_LIMIT, variable="HYDRA_ENV"),
    Option(("genvnone", "envnone"), 0, Meaning.ENVIRONMENT_LIMIT, implied="none", variable="HYDRA_ENV"),
    Option(("genvall", "envall"), 0, Meaning.ENVIRONMENT_LIMIT, implied="all", variable="HYDRA_ENV"),
    Option(("wdir",), 1, Meaning.WORKING_DIRECTORY),
    Option(("configfile",), 1, Meaning.PROGRAM_FILE),
    Option(("launcher", "bootstrap"), 1, Meaning.BOOTSTRAP, variable="HYDRA_LAUNCHER"),
    Option(("launcher-exec", "bootstrap-exec"), 1, Meaning.BOOTSTRAP, variable="HYDRA_LAUNCHER_EXEC"),
    Option(("rmk",), 1, variable="HYDRA_RMK"),
    Option(("iface",), 1, variable="HYDRA_IFACE"),
    Option(("topolib",), 1, variable="HYDRA_TOPOLIB"),
    *flags("help h profile prepend-rank l enable-x disable-x report-bindings debug disable-auto-cleanup"),
    *flags("dac disable-hostname-propagation enable-auto-cleanup enable-hostname-propagation hybrid-hosts"),
    *flags("info pmi-port print-all-exitcodes skip-launch-node v verbose version pmi_args"),
    *valued("rankmap output-from prepend-pattern outfile-pattern errfile-pattern outfile errfile demux"),
    *valued("memory-alloc-kinds g gpus-per-proc gpu-subdevs-per-proc localhost nameserver order-nodes usize"),
)


def _limit(values: Words) -> Words:
    return (f"-genv{values[0]}",) if values[0] in {"all", "none"} else ("-genvlist", *values)


def _environment(values: Words) -> Words | None:
    """Write ``-genv`` for a variable that is set; the launcher passes on all others by default."""
    return ("-genv", *values) if len(values) == 2 else ()


WRITE: Mapping[Meaning, Writer] = {
    **separate(
        {
            Meaning.RANKS: "-n",
            Meaning.RANKS_PER_NODE: "-ppn",
            Meaning.HOSTS: "-hosts",
            Meaning.HOSTFILE: "-f",
            Meaning.WORKING_DIRECTORY: "-wdir",
            Meaning.BOOTSTRAP: "-launcher",
        }
    ),
    Meaning.ENVIRONMENT: _environment,
    Meaning.ENVIRONMENT_LIMIT: _limit,
}


def _nodes(situation: Situation, value: str) -> Spelling:
    return Spelling(options=(("-ppn", str(ranks_on_each(situation, int(value)))),))


SPELLINGS: Mapping[str, Speller] = {
    "nodes": _nodes,
}

# ``n1:4`` in lists and lines: HYDU_parse_hostfile.
HOSTS = HostFormat(by_commas, first_word, colon, colon, has_slots=True)
