"""Dates, times of day and durations in the forms in which programs print them.

A form is recognised independently of its digits, so that lines that differ in digits only are split once. A
later check (`can_be_time`) decides whether a value can be a time: a date must be within two days of today,
minutes and seconds must not exceed 60. Other values, such as the date of a model, are results in the form of
a time and are compared like other text.
"""

import re
import time
from collections.abc import Iterable, Iterator
from datetime import date, datetime, timezone

_DAYS_APART = 2  # tolerance for the time zones of hosts, and for runs at midnight
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)(?![a-z])\.?"
)
_WEEKDAY = r"(?<![a-z])(?:mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?(?![a-z])"
_ZONE = (
    r"(?:\s?(?:z|[+-]\d\d:?\d\d|utc|gmt|ces?t|[ecmp][sd]t|ak[sd]t|hst|ees?t|wes?t|bst|ist|jst|kst|msk"
    r"|a[ecw][sd]t|awst|nz[sd]t)(?![\w:]))"
)
_HALF = r"(?:\s?[ap]\.?m(?![a-z])\.?)"  # half of a day
_BEFORE, _AFTER = r"(?<![\d:.])", r"(?![\d:])"

_DAYS = r"\d{1,9}\s?d(?:ays?)?(?![a-z])"
_HOURS = r"\d{1,9}\s?h(?:(?:ou)?rs?)?(?![a-z])"
_MINUTES = r"\d{1,9}\s?m(?:in(?:ute)?s?)?(?![a-z])"
_SECONDS = r"\d{1,15}(?:\.\d{0,15})?\s?s(?:ec(?:ond)?s?)?(?![a-z])"
_THEN = r"(?:[ \t,:]|and\b)*"

# 13:08:02, 13: 8: 2 (Fortran's I2), 3-04:05:06 (Slurm), 1 day, 0:00:01 (Python), 13:08:02.5+02:00, 1:08:02 PM
_CLOCK_OF_3 = (
    rf"(?:\d{{1,9}}-|{_DAYS},?\s+)?{_BEFORE}\d{{1,4}}:[ \d]\d:[ \d]\d(?:[.,]\d+)?{_AFTER}{_HALF}?{_ZONE}?"
)
# 1:02.53 (GNU time), 1:08 PM, 1:02 min
_CLOCK_OF_2 = rf"{_BEFORE}\d{{1,4}}:\d\d(?:[.,]\d+{_AFTER}|{_HALF}|\s?(?:min(?:utes)?|h(?:rs?|ours)?)(?!\w))"
_MAYBE = rf"{_BEFORE}\d{{1,2}}(?::\d{{1,2}}){{1,2}}{_AFTER}|(?<![\d.-])\d\d-\d\d-\d\d(?![\d-]|\.\d)"

_UNIT = r"(?:(?:[numµμk]|milli|micro|nano)?s(?:ec(?:ond)?s?)?|min(?:ute)?s?|h(?:(?:ou)?rs?)?)(?!\w)(?!\s*=)"
# 57.53s, 1m 0.53s, 01m 00.0s, 1h02m, 13h08, 2d 3h, 0 days 0 hours 2 minutes 3.5 seconds, 350 µs
_SPAN = (
    r"(?<![\w.])(?:"
    rf"{_DAYS}{_THEN}{_HOURS}(?:{_THEN}{_MINUTES})?(?:{_THEN}{_SECONDS})?"
    rf"|{_HOURS}{_THEN}{_MINUTES}(?:{_THEN}{_SECONDS})?|{_HOURS}{_THEN}{_SECONDS}"
    rf"|{_MINUTES}{_THEN}{_SECONDS}"
    r"|\d{1,2}h[ \d]\d(?!\w)"
    rf"|(?:\d{{1,20}}(?:\.\d{{0,20}})?|\.\d{{1,20}})(?:[ed][-+]?\d{{1,4}})?\s?{_UNIT}"
    r")"
)

_YEAR = r"\d{4}(?!\d)"
_DAY_OF_MONTH = r"(?<![\d.:])\d{1,2}(?:st|nd|rd|th)?(?![\d:])(?!\.\d)"
_DATE = (
    rf"(?<![a-z]){_MONTH}[ -]*\d{{1,2}},?\s+{_CLOCK_OF_3}\s+{_YEAR}"  # Nov 26 13:08:02 UTC 2026 (ctime, date)
    r"|(?<!\d)\d{8}[T_-]\d{4}(?:\d\d)?(?!\d)z?"  # 20261126T130850Z
    r"|(?<![\d.])\d{4}(?:-\s?\d{1,2}-|/\s?\d{1,2}/|\.\d\d\.|:\d\d:)\s?\d{1,2}(?!\d)"  # 2026-11-26
    r"|(?<![\d./-])\d{1,2}[-/.]\s?\d{1,2}[-/.]\d{4}(?!\d)"  # 26.11.2026, 11/26/2026
    r"|(?<![\d./-])\d{1,2}/\s?\d{1,2}/\d\d(?![\d/])"  # 11/26/26
    rf"|{_DAY_OF_MONTH}[ ./-]*{_MONTH}(?:[ .,/-]*{_YEAR}|[-/']\d\d(?!\d))?"  # 26Nov2026, 26-Nov-26
    rf"|(?<![a-z]){_MONTH}[ -]*{_DAY_OF_MONTH}(?:[ ,]+{_YEAR})?"  # Nov 26, 2026
    rf"|{_YEAR}[ /-]*{_MONTH}[ /-]*{_DAY_OF_MONTH}"  # 2026-Nov-26
)
_TIME_OF_DATE = (
    rf"(?:{_CLOCK_OF_3}|\d{{1,2}}:[ \d]?\d(?::[ \d]?\d)?(?:[.,]\d+)?{_AFTER}{_HALF}?{_ZONE}?"
    r"|\d\d[-.]\d\d[-.]\d\d(?![\d-])|\d{1,2}h[ \d]\d(?!\w))"
)

DAY = (
    rf"(?:{_WEEKDAY}[,.]?\s*)?(?:{_DATE})(?:(?:[T_,;@\s-]|\bat\b){{1,6}}{_TIME_OF_DATE}(?:\s+{_YEAR})?)?"
    rf"|(?-i:(?=[A-Z])){_WEEKDAY},?"
)
CLOCK = rf"{_CLOCK_OF_3}|{_CLOCK_OF_2}|{_SPAN}"
MAYBE = _MAYBE  # a time if the text before it says so (`names_time`)

_SIZES = re.compile(
    r"\b(?:grids?|dims?|dimensions?|sizes?|shapes?|mesh(?:es)?|ratios?|ranges?|ind(?:ex|ices)|slices?|levels?"
    r"|hierarchy|odds|proportions?|ids?|blocks?|decomposition|layout|topology|residues?|atoms?|nodes?|ranks?|ports?"
    r"|versions?|bands?|[kq]-?points?|elements?|columns?|rows?|matri(?:x|ces)|procs?|processes|cores|boundary)"
    r"[^a-z]*$",
    re.IGNORECASE,
)
_TIME_WORDS = re.compile(
    r"\b(?:\w*time\w*|dates?|clock|at|since|until|after|took|taken|elapsed|wall|duration|eta|now|today|stamp"
    r"|(?:re)?started|starts|beg[au]n|begins|finish\w*|ended|ends|complet\w*|terminat\w*|created?|creation"
    r"|modified|written|generated|logged)\b",
    re.IGNORECASE,
)


def is_size(before: str) -> bool:
    """Return whether the text before a value names a size or a ratio, not a time: ``grid 16:16:32``."""
    return _SIZES.search(before[-80:]) is not None


def names_time(before: str) -> bool:
    """Return whether the text before an ambiguous value makes it a time: ``ended 13:08``."""
    return not is_size(before) and _TIME_WORDS.search(before) is not None


def now_s() -> float:
    """Return the current time in seconds since 1970, with which dates are compared."""
    return time.time()


def can_be_time(value: str) -> bool:
    """Return whether a value in the form of a time can be one: a recent date, fields up to 60."""
    if not re.fullmatch(r"\d\d-\d\d-\d\d", value):  # the form of a time of day, see MAYBE
        dates = [*_dates_in(value)]
        if dates or _HAS_DATE.search(value):
            return any(map(_is_recent, dates))
    return all(int(field) <= 60 for field in re.findall(r"[:-]\s?(\d\d?)(?!\d)", value))


def is_time_number(number: float) -> bool:
    """Return whether a number encodes a recent time: seconds since 1970, or the digits of a date."""
    now = now_s()
    if not 1e7 <= number < 1e19:  # NaN as well
        return False
    if any(abs(number / unit - now) < _DAYS_APART * 86400 for unit in (1, 1e3, 1e6, 1e9)):
        return True
    if number != int(number):
        return False
    day = next((int(number) // unit for unit in (1, 10**4, 10**6) if 1e7 <= number // unit < 1e8), 0)
    return bool(day) and _is_recent((day // 10000, day // 100 % 100, day % 100))


_DATE_IN_NAME = re.compile(
    r"(?<!\d)\d{4}[-_.:/]\d\d[-_.:/]\d\d(?!\d)|(?<!\d)\d\d?[-_.]\d\d?[-_.]\d{4}(?!\d)|(?<!\d)\d{8}(?!\d)"
    rf"|(?<!\d)\d{{1,2}}[-_.]?{_MONTH}[-_.]?\d{{2,4}}(?!\d)|(?<![a-z]){_MONTH}[-_. ]?\d{{1,2}}(?!\d)"
    r"(?:[-_. ]+\d{4}(?!\d))?",
    re.IGNORECASE,
)
_CLOCK_IN_NAME = re.compile(
    r"[-_.T@ ]{0,2}(?:\d\d[-:_.h]\d\d(?:[-:_.m]\d\d(?:\.\d+(?=[-_.]|$))?)?|\d{6}|\d{4})(?!\d)z?",
    re.IGNORECASE,
)
_NUMBER_IN_NAME = re.compile(r"(?<!\d)\d{10,19}(?!\d)(?:\.\d+(?=[-_.]|$))?")


def without_times(name: str) -> str:
    """Replace recent dates and the times of day after them by ``#`` in the name or path of a file."""
    out, position, begin = [], 0, 0
    while (match := _DATE_IN_NAME.search(name, begin)) is not None:
        if not any(map(_is_recent, _dates_in(match[0]))):
            begin = match.start() + 1
            continue
        clock = _CLOCK_IN_NAME.match(name, match.end())
        out += [name[position : match.start()], "#"]
        begin = position = clock.end() if clock else match.end()
    masked = "".join(out) + name[position:]
    return _NUMBER_IN_NAME.sub(lambda match: "#" if is_time_number(float(match[0])) else match[0], masked)


_HAS_DATE = re.compile(rf"{_MONTH}[^a-z]*\d|\d[^a-z]*{_MONTH}|\d+[-/.]\s?\d+[-/.]\s?\d", re.IGNORECASE)
_NUMERIC = re.compile(
    r"(?<!\d)(?:(\d{4})[-/.:_]\s?(\d{1,2})[-/.:_]\s?(\d{1,2})|(\d{1,2})[-/._]\s?(\d{1,2})[-/._]\s?(\d{4}|\d\d))(?!\d)"
)
_NAMED = re.compile(
    rf"(?<!\d)(?P<year>\d{{4}})?[ /-]*(?P<day>\d{{1,2}})?(?:st|nd|rd|th)?[ ./_-]*(?P<month>{_MONTH})"
    r"[ .,/'_-]*(?P<after>\d{1,2}(?![\d:]))?(?:st|nd|rd|th)?(?:.*?(?<![\d:.])(?P<later>\d{4})(?!\d))?",
    re.IGNORECASE,
)


def _dates_in(text: str) -> Iterator[tuple[int, int, int]]:
    """Yield the dates that a text may mean: (year, month, day); year 0 if it has none."""
    for match in re.finditer(r"(?<!\d)(\d{4})(\d\d)(\d\d)(?!\d)", text):
        yield int(match[1]), int(match[2]), int(match[3])
    for match in _NUMERIC.finditer(text):
        if match[1]:
            yield int(match[1]), int(match[2]), int(match[3])
        else:
            year = int(match[6]) if len(match[6]) == 4 else 2000 + int(match[6])
            yield year, int(match[4]), int(match[5])
            yield year, int(match[5]), int(match[4])
            yield 2000 + int(match[4]), int(match[5]), int(match[6])
    if named := _NAMED.search(text):
        month = 1 + _MONTHS.index(named["month"][:3].lower())
        year = int(named["year"] or named["later"] or 0)
        for day in (named["day"], named["after"]):
            if day:
                yield year, month, int(day)
                if named["day"] and named["after"] and not year:
                    yield 2000 + int(named["after"]), month, int(named["day"])


def _is_recent(day: tuple[int, int, int]) -> bool:
    today = datetime.fromtimestamp(now_s(), timezone.utc).date()
    years: Iterable[int] = (day[0],) if day[0] else (today.year - 1, today.year, today.year + 1)
    for year in years:
        try:
            apart = abs((date(year, day[1], day[2]) - today).days)
        except ValueError:
            continue
        if apart <= _DAYS_APART:
            return True
    return False
