"""One launcher per file: its command line understood and written again; runs nothing.

``parse_command`` makes a Job of the user's words, ``spell`` says how a knob is written in the job's
dialect, ``render`` puts job and spellings together again.
"""

from mpiric.launchers._dialect import Dialect
from mpiric.launchers._hosts import named_hosts, write_host_file
from mpiric.launchers._parse import launcher_word, parse_command
from mpiric.launchers._registry import dialects
from mpiric.launchers._render import render
from mpiric.launchers._spell import recognise_launcher, spell

__all__ = [
    "Dialect",
    "dialects",
    "launcher_word",
    "named_hosts",
    "parse_command",
    "recognise_launcher",
    "render",
    "spell",
    "write_host_file",
]
