"""Schedulers, one per file or folder: recognition of allocations, submission and tracking of jobs."""

from mpiric.schedulers._batch import BatchScheduler
from mpiric.schedulers._registry import (
    NO_JOB,
    batch_scheduler,
    batch_scheduler_here,
    batch_schedulers,
    find_allocation,
    installed_batch_scheduler,
    job_around,
    schedulers,
)
from mpiric.schedulers._scheduler import JobRequest, Patience, SubmitSettings
from mpiric.schedulers._script import LayoutRequest, ScriptOptions, plan_layout, script_lines, text_of
from mpiric.schedulers._site_defaults import SiteDefaults, read_site_defaults
from mpiric.schedulers._submission import (
    INPUT,
    JOBS,
    LOG,
    NAME_VARIABLE,
    OUTPUT,
    ROUNDS,
    SCRIPT,
    STATUS,
    Submission,
    array_settings,
    element_of,
    job_settings,
    name_of,
    request_of,
    round_script,
    submission_script,
)
