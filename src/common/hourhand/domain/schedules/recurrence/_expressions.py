"""The text of one expression: which kind it is, and what it means under a rule."""

from __future__ import annotations

import re
from datetime import datetime

from hourhand.domain.schedules.recurrence._aws_cron import parse_aws_cron
from hourhand.domain.schedules.recurrence._dst import Expression, Rate, ZonedTimes
from hourhand.domain.schedules.recurrence._local_times import CronTimes, EveryTimes, OneTime
from hourhand.domain.schedules.recurrence._unix_cron import parse_unix_cron
from hourhand.domain.schedules.recurrence._zones import (
    DAY_SECONDS,
    span_at,
    to_seconds,
    zone_named,
)
from hourhand.domain.schedules.rule import (
    EARLIEST,
    LATEST,
    BadExpression,
    DstFold,
    DstGap,
    Rule,
)

MAX_EXPRESSION_LENGTH = 1000
"""A list of all minutes has 169 characters; nobody writes more than a few such."""

_SHOWN_LENGTH = 100
_ZONED = re.compile(r"(?:CRON_TZ|TZ)=(?P<zone>\S*) ?(?P<cron>.*)")
_QUOTED = re.compile(r"'(?P<part>[^']+)'")
_CALL = re.compile(r"(?P<kind>[A-Z_]+) ?\((?P<inside>[^()]*)\)")
_RATE = re.compile(r"(?P<count>[0-9]{1,9}) (?P<unit>SECOND|MINUTE|HOUR|DAY|WEEK)S?")
_EVERY = re.compile(r"(?P<count>[0-9]{1,4}) (?P<unit>DAY|WEEK|MONTH)S?")
_AT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2})?")
_UNIT_SECONDS = {
    "SECOND": 1,
    "MINUTE": 60,
    "HOUR": 3600,
    "DAY": DAY_SECONDS,
    "WEEK": 7 * DAY_SECONDS,
}


def compile_expression(text: str, rule: Rule) -> Expression:
    """Return what the expression means under the rule's zone, anchor and policies.

    Raises `BadExpression`, whose detail begins with the expression.
    """
    try:
        return _compile(text, rule)
    except BadExpression as error:
        shown = text if len(text) <= _SHOWN_LENGTH else f"{text[:_SHOWN_LENGTH]}..."
        raise BadExpression(f"In {shown!r}: {_as_typed(error.detail, text)}") from None


def _as_typed(detail: str, text: str) -> str:
    """Return what is wrong, with the quoted parts of ``text`` as they were typed.

    They are read in upper case, which has as many characters in ASCII.
    """
    plain = " ".join(text.split())
    upper = plain.upper()

    def typed(quoted: re.Match[str]) -> str:
        at = upper.find(quoted["part"])
        return quoted[0] if at < 0 else f"'{plain[at : at + len(quoted['part'])]}'"

    return _QUOTED.sub(typed, detail) if text.isascii() else detail


def _compile(text: str, rule: Rule) -> Expression:
    if len(text) > MAX_EXPRESSION_LENGTH:
        raise BadExpression(f"It is longer than {MAX_EXPRESSION_LENGTH} characters.")
    if not text.isascii():
        raise BadExpression("Only ASCII characters are allowed.")
    plain = " ".join(text.split())
    if match := _ZONED.fullmatch(plain):
        return _zoned_cron(match["zone"], match["cron"].upper(), rule)
    upper = plain.upper()
    call = _CALL.fullmatch(upper)
    if call is None:
        return _zoned(parse_unix_cron(upper), rule.timezone, rule)
    inside = call["inside"].strip()
    if call["kind"] == "RATE":
        return _rate(inside, rule.anchor)
    if call["kind"] == "EVERY":
        return _every(inside, rule)
    if call["kind"] == "AT":
        return _at(inside, rule)
    if call["kind"] == "CRON":
        return _zoned(parse_aws_cron(inside), rule.timezone, rule)
    raise BadExpression("Allowed are at(...), rate(...), every(...), cron(...) and a Unix cron.")


def _zoned_cron(zone: str, cron: str, rule: Rule) -> ZonedTimes:
    if _CALL.fullmatch(cron):
        raise BadExpression("CRON_TZ= is allowed before a Unix cron only.")
    return _zoned(parse_unix_cron(cron), zone_named(zone).key, rule)


def _zoned(times: CronTimes, zone: str, rule: Rule) -> ZonedTimes:
    return ZonedTimes(
        times=times,
        zone=zone,
        gap=DstGap.SKIP if times.is_hourly else rule.dst_gap,
        fold=DstFold.BOTH if times.is_hourly else rule.dst_fold,
        is_hourly=times.is_hourly,
    )


def _at(text: str, rule: Rule) -> ZonedTimes:
    if not _AT.fullmatch(text):
        raise BadExpression(
            "at() takes a local time of the schedule's zone, without an offset or a fraction, "
            "such as at(2027-01-01T09:00) or at(2027-01-01T09:00:30)."
        )
    try:
        local = datetime.fromisoformat(f"{text}Z")
    except ValueError as error:
        raise BadExpression(f"This time does not exist: {error}.") from None
    if not EARLIEST <= local < LATEST:
        raise BadExpression(f"The year is not within {EARLIEST.year} to {LATEST.year - 1}.")
    return ZonedTimes(
        times=OneTime(to_seconds(local)),
        zone=rule.timezone,
        gap=rule.dst_gap,
        fold=rule.dst_fold,
    )


def _every(text: str, rule: Rule) -> ZonedTimes:
    match = _EVERY.fullmatch(text)
    if match is None or int(match["count"]) == 0:
        raise BadExpression(
            "every() takes a whole number from 1 to 9999 and day(s), week(s) or month(s), such as "
            "every(2 weeks)."
        )
    if rule.anchor is None or rule.anchor.tzinfo is None:
        raise BadExpression("every() needs an anchor: the time of one of its runs.")
    count, anchor = int(match["count"]), to_seconds(rule.anchor)
    days = count * {"DAY": 1, "WEEK": 7, "MONTH": 0}[match["unit"]]
    local = anchor + span_at(rule.timezone, anchor).offset
    return ZonedTimes(
        times=EveryTimes(local, days, 0 if days else count),
        zone=rule.timezone,
        gap=rule.dst_gap,
        fold=rule.dst_fold,
    )


def _rate(text: str, anchor: datetime | None) -> Rate:
    match = _RATE.fullmatch(text)
    if match is None or int(match["count"]) == 0:
        raise BadExpression(
            "rate() takes a whole number of at least 1 and second(s), minute(s), hour(s), day(s) "
            "or week(s), such as rate(5 minutes)."
        )
    interval = int(match["count"]) * _UNIT_SECONDS[match["unit"]]
    if interval > to_seconds(LATEST):
        raise BadExpression("The interval is longer than 231 years: it would never run twice.")
    if anchor is None or anchor.tzinfo is None:
        raise BadExpression(
            "rate() needs an anchor, the instant from which it counts. An exclusion takes it from "
            "the field anchor of the schedule; a calendar has none."
        )
    return Rate(to_seconds(anchor), interval)
