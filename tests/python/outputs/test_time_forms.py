"""Dates, times and durations are not results, at any minute of a day and on any day of a year."""

from collections.abc import Callable
from datetime import datetime, timedelta, timezone

import pytest

from mpiric.outputs import time_forms
from mpiric.outputs.equivalence import learn
from mpiric.outputs.time_forms import without_times

CET = timezone(timedelta(hours=1))


def _fortran(now: datetime) -> str:
    return f"{now.hour:2d}:{now.minute:2d}:{now.second:2d}"


def _qe_date(now: datetime) -> str:
    return f"{now.day:2d}{now:%b%Y}"


MOMENTS: tuple[Callable[[datetime], str], ...] = (
    lambda t: f"     Program PWSCF v.6.7MaX starts on {_qe_date(t)} at {_fortran(t)}",
    lambda t: f"   This run was terminated on:  {_fortran(t)}  {_qe_date(t)}",
    lambda t: f'    <created DATE="{_qe_date(t)}" TIME="{_fortran(t)}">made then</created>',
    lambda t: f"- ( at {t:%H}h{t:%M} )",
    lambda t: f"- ( at {t.hour:2d}h{t:%M} )",
    lambda t: f".Starting date : {t:%a} {t.day:2d} {t:%b} {t:%Y}.",
    lambda t: f"Run Date/Time: {t:%Y-%m-%d, %H-%M-%S}",
    lambda t: f" executed on             LinuxIFC date {t:%Y.%m.%d  %H:%M:%S}",
    lambda t: f">> Start of run:  {t:%d-%b-%Y}  {t:%H:%M:%S}".upper(),
    lambda t: f" date            = {t:%a %b} {t.day:2d} {t:%H:%M:%S %Y}",
    lambda t: f" Normal termination of Gaussian 16 at {t:%a %b} {t.day:2d} {t:%H:%M:%S %Y}.",
    lambda t: f"Log file opened on {t:%a %b} {t.day:2d} {t:%H:%M:%S %Y}",
    lambda t: f"Date   : {t:%b} {t.day:2d} {t:%Y}",
    lambda t: f"Date   : {t:%b %d %Y}",
    lambda t: f"Time   : {t:%H:%M:%S}",
    lambda t: f"| Run on {t:%m/%d/%Y} at {t:%H:%M:%S}",
    lambda t: f" **** **** ******  PROGRAM STARTED AT {t:%Y-%m-%d %H:%M:%S.%f}",
    lambda t: f"{t:%a %b} {t.day:2d} {t:%H:%M:%S} CET {t:%Y}",
    lambda t: f"{t:%a %b} {t.day:2d} {t:%I:%M:%S %p} UTC {t:%Y}",
    lambda t: f"{t:%a %d %b %Y %I:%M:%S %p} CET",
    lambda t: f"{t:%a, %d %b %Y %H:%M:%S} +0100",
    lambda t: f"{t:%A, %B} {t.day}, {t:%Y}",
    lambda t: f"{t.day} {t:%B %Y}, {t:%H:%M}",
    lambda t: f"{t.day}. {t:%B %Y}",
    lambda t: t.isoformat(),
    lambda t: t.replace(tzinfo=CET).isoformat(),
    lambda t: f"{t:%Y-%m-%dT%H:%M:%S}Z INFO solver started",
    lambda t: f"[{t:%Y-%m-%d %H:%M:%S},{t.microsecond // 1000:03d}] root INFO done",
    lambda t: f"{t:%Y-%m-%d %H:%M:%S}.123456+01:00 begun",
    lambda t: f"{t:%Y%m%dT%H%M%S} checkpoint",
    lambda t: f"stamp {t:%Y%m%d_%H%M%S}",
    lambda t: f"run {t:%Y%m%d-%H%M}",
    lambda t: f"date {t:%Y%m%d}",
    lambda t: f"date: {t:%d.%m.%Y} {t:%H:%M}",
    lambda t: f"date: {t:%d/%m/%y} {t:%H:%M:%S}",
    lambda t: f"DATE {t.month}/{t.day}/{t:%Y}",
    lambda t: f"Today is {t:%Y/%m/%d}",
    lambda t: f"Today is {t.year}/{t.month}/{t.day}",
    lambda t: f"{t:%Y-%b-%d} log",
    lambda t: f"{t:%d-%b-%y} {t:%H:%M:%S}",
    lambda t: f"{t:%A}",
    lambda t: f"{t:%b %d} {t:%H:%M:%S} node17 app[3]: ready",
    lambda t: f"{t:%H:%M:%S} step",
    lambda t: f"[{t:%H:%M:%S}.{t.microsecond // 1000:03d}] step",
    lambda t: f"finished at {t:%H:%M}",
    lambda t: f"Start time {t.hour}:{t:%M}",
    lambda t: f"started {t.hour}:{t.minute}:{t.second}",
    lambda t: f"it is {t:%I:%M} {t:%p}",
    lambda t: f"ended at {t:%H-%M-%S}",
    lambda t: f"seconds since 1970 {int(t.timestamp())}",
    lambda t: f"stamp={t.timestamp():.6f}",
    lambda t: f"ms {int(t.timestamp() * 1000)}",
    lambda t: f'{{"begun": "{t:%Y-%m-%dT%H:%M:%S}", "ended_unix": {t.timestamp():.3f}, "energy": -3.5}}',
    lambda t: f"run_date: {t:%Y-%m-%d %H:%M:%S}",
    lambda t: f"<start>{t:%Y-%m-%dT%H:%M:%S}</start>",
    lambda t: f':history = "{t:%a %b} {t.day:2d} {t:%H:%M:%S %Y}: ncks -O in.nc out.nc" ;',
    lambda t: f"# Created {t:%c}",
    lambda t: f"writing /scratch/me/out_{t:%Y-%m-%d_%H-%M-%S}/field.dat",
    lambda t: f"Rundate {t:%d%b%Y}".upper(),
    lambda t: f"it {t:%y/%m/%d} {t:%H:%M:%S}",
    lambda t: f"LAST CHANGE: {t:%d-%m-%Y %H:%M}",
    lambda t: f"Sep. form: {t:%b}. {t.day}, {t:%Y}",
    lambda t: f"{t.day}{'th'} of month, {t:%B} {t.day}th, {t:%Y}".split(", ", 1)[1],
)

DURATIONS: tuple[Callable[[float], str], ...] = (
    lambda s: f"     PWSCF        : {_qe_time(s)} CPU {_qe_time(s * 1.3)} WALL",
    lambda s: f"total {_minutes(s)}",
    lambda s: f"Elapsed: {_hours(s)}",
    lambda s: f"real\t{int(s // 60)}m{s % 60:.3f}s",
    lambda s: f"Total wall time: {timedelta(seconds=int(s))}",
    lambda s: f"Elapsed {_slurm(s)}",
    lambda s: f"{int(s // 60)}:{s % 60:05.2f}elapsed",
    lambda s: (
        f" Elapsed time: {int(s // 86400):7d} days {int(s // 3600) % 24:2d} hours {int(s // 60) % 60:2d} "
        f"minutes {s % 60:4.1f} seconds."
    ),
    lambda s: f"took {s:.2f} s" if s >= 1 else f"took {s * 1000:.1f} ms",
    lambda s: f"took {s:.2f} seconds" if s < 60 else f"took {s / 60:.1f} minutes",
    lambda s: f"solve: {s * 1e6:.3g} µs",
    lambda s: f"[{int(s // 3600):02d}:{int(s // 60) % 60:02d}:{int(s) % 60:02d}] step",
    lambda s: f"{s:.3f} seconds" if s != 1 else "1 second",
    lambda s: f"ExecutionTime = {s:.2f} s  ClockTime = {int(s)} s",
    lambda s: f"time (min) {s / 60:8.2f}",
)


def _qe_time(s: float) -> str:
    if s >= 3600:
        return f"{int(s // 3600):2d}h{int(s // 60) % 60:2d}m"
    return f"{int(s // 60):2d}m{s % 60:5.2f}s" if s >= 60 else f"{s:9.2f}s"


def _minutes(s: float) -> str:
    return f"{s:.1f}s" if s < 60 else f"{int(s // 60):02d}m {s % 60:04.1f}s"


def _hours(s: float) -> str:
    return f"{int(s // 3600)}h{int(s // 60) % 60:02d}m"


def _slurm(s: float) -> str:
    days = f"{int(s // 86400)}-" if s >= 86400 else ""
    return f"{days}{int(s // 3600) % 24:02d}:{int(s // 60) % 60:02d}:{int(s) % 60:02d}"


def _printed(now: datetime) -> str:
    return "".join(f"{form(now)}\n" for form in MOMENTS) + "energy -42.0625\n"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[datetime], str]:
    """Move the clock, and print in every form what time it is."""

    def at(now: datetime) -> str:
        monkeypatch.setattr(time_forms, "now_s", now.timestamp)
        return _printed(now)

    return at


def _disagreements(clock: Callable[[datetime], str], learned: datetime, moments: list[datetime]) -> list[str]:
    expected = learn([clock(learned)] * 2)
    comparisons = ((moment, expected.compare(clock(moment))) for moment in moments)
    return [f"{moment}: {wrong}" for moment, wrong in comparisons if wrong is not None]


def test_at_least_sixty_forms_are_tested() -> None:
    assert len(MOMENTS) + len(DURATIONS) >= 60
    assert len({form(datetime(2026, 11, 6, 8, 2, 3)) for form in MOMENTS}) == len(MOMENTS)


@pytest.mark.slow
@pytest.mark.parametrize("learned", [datetime(2026, 11, 26, 23, 59, 58), datetime(2026, 3, 4, 5, 6, 7, 8000)])
def test_the_same_agrees_at_every_minute_of_a_day(clock, learned: datetime) -> None:
    day = learned.replace(hour=0, minute=0)
    assert (
        _disagreements(clock, learned, [day + timedelta(minutes=m, seconds=m % 60) for m in range(1440)])
        == []
    )


@pytest.mark.slow
def test_the_same_agrees_on_every_day_of_a_year(clock) -> None:
    wrong: list[str] = []
    for number in range(366):
        learned = datetime(2027, 12, 31, 23, 59, 59) + timedelta(days=number)
        wrong += _disagreements(clock, learned, [learned + timedelta(seconds=8)])
    assert wrong == []


@pytest.mark.parametrize("form", range(len(DURATIONS)))
def test_a_duration_of_any_length_agrees(form: int) -> None:
    lengths = [
        0.57,
        0.999,
        1.0,
        9.99,
        57.53,
        58.7,
        59.96,
        60.0,
        60.53,
        75.25,
        599.9,
        3599.4,
        3600.0,
        4000.0,
        86399.0,
    ]
    lengths += [86400.0 * 1.5, 86400 * 3 + 14706.0]
    shown = DURATIONS[form]
    expected = learn([shown(0.57) + "\n"] * 2)
    assert [wrong for s in lengths if (wrong := expected.compare(shown(s) + "\n"))] == []


@pytest.mark.parametrize(
    ("original", "candidate"),
    [
        ("energy 13.08", "energy 13.09"),
        ("13.08 13.10", "13.08 13.11"),
        ("rows 1-2", "rows 1-3"),
        ("interval 10-20", "interval 10-21"),
        ("ratio 3:4", "ratio 3:5"),
        ("ratio 16:10", "ratio 16:09"),
        ("grid 16:16:32", "grid 16:16:33"),
        ("dimensions 4:8:8", "dimensions 4:8:9"),
        ("slice 1:64", "slice 1:65"),
        ("dims 12, 34, 56", "dims 12, 34, 57"),
        ("matrix 1024x1024", "matrix 1024x1025"),
        ("matrix size 10 x 20 x 30", "matrix size 10 x 20 x 31"),
        ("converged in 13 iterations", "converged in 14 iterations"),
        ("E(13:08) = -1.5", "E(13:08) = -1.6"),
        ("E at 13:08:02 is -1.5", "E at 13:08:02 is -1.6"),
        ("12:30 s energy -3.25", "12:30 s energy -3.26"),
        ("nonzeros 1234567890", "nonzeros 1234567891"),
        ("checksum 20261341", "checksum 20261342"),
        ("model date 1850-01-01 00:00:00", "model date 1850-01-01 06:00:00"),
        ("2000-01-24_12:00:00 T=3", "2000-01-25_12:00:00 T=3"),
        ("compiled Jan 5 2019", "compiled Jan 6 2019"),
        ("version 4.1.14", "version 4.1.15"),
        ("depth 5.0 m", "depth 5.1 m"),
        ("mass 3.5 d", "mass 3.6 d"),
        ("rank 12 of 34", "rank 12 of 35"),
        ("1h overlap = 2.5", "1h overlap = 2.6"),
        ("residue 12:34 ok", "residue 12:35 ok"),
        (
            '{"start": "2026-11-26T13:08:50", "energy": -3.5}',
            '{"start": "2026-11-26T13:08:50", "energy": -3.6}',
        ),
        ('{"wall_s": 1.25, "energy": -3.5}', '{"wall_s": 1.25, "energy": -3.6}'),
        ("<wall>1.25</wall><etot>-3.5</etot>", "<wall>1.25</wall><etot>-3.6</etot>"),
        ("phase 12-34-56", "phase 12-34-57"),
        ("99:99:99", "99:99:98"),
        ("t2 = 3:45", "t2 = 3:46"),
        ("mars 5 decades 3", "mars 5 decades 4"),
        ("march 99 x", "march 98 x"),
    ],
)
def test_similar_text_is_compared(original: str, candidate: str) -> None:
    assert learn([original] * 3).compare(original) is None
    assert learn([original] * 3).compare(candidate) is not None


def test_names_of_files_of_one_moment_are_those_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    first, then = datetime(2026, 11, 26, 13, 8, 2), datetime(2026, 11, 26, 13, 10, 33)
    monkeypatch.setattr(time_forms, "now_s", then.timestamp)
    for form in (
        "miniFE.2x2x2.P2.%Y:%m:%d-%H:%M:%S.yaml",
        "HPCG-Benchmark_3.1_%Y-%m-%d_%H-%M-%S.txt",
        "hpcg%Y%m%dT%H%M%S.txt",
        "out/run_%Y%m%d_%H%M%S/log",
        "log.%d%b%Y",
        "trace-%s.out",
        "out.%Y-%m-%dT%H:%M:%SZ.json",
    ):
        assert without_times(first.strftime(form)) == without_times(then.strftime(form)), form
    for name in ("wrfout_d01_2000-01-24_12:00:00", "step-0010.vtk", "out_1024_2048.bin", "frame20250101.png"):
        assert without_times(name) == name
