"""Launchers, one module each: parsing and rendering of command lines, and placement plans; nothing is run.

``parse_command`` turns the command of the user into a Job, ``spell`` writes a knob in the syntax of the job's
dialect, and ``render`` combines job and spellings. ``emit`` writes a placement plan.
"""

from mpiric.launchers._arguments import without_wrappers
from mpiric.launchers._dialect import Dialect, dialects, recognise_launcher
from mpiric.launchers._emission import runtime_variables
from mpiric.launchers._hosts import host_facets, named_hosts, write_host_file
from mpiric.launchers._parse import ambiguous_launcher_word, launcher_word, parse_command, with_parameters
from mpiric.launchers._placing import emit, emit_all, placing_launchers
from mpiric.launchers._render import render
from mpiric.launchers._spellers import spell, spell_carried
from mpiric.launchers._variables import given_to_ranks
