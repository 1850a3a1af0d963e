"""Schedules and what belongs to them with any value in any field."""

from __future__ import annotations

import string
from datetime import date

from hypothesis import strategies as st

from hourhand.domain.groups.overlap import OverlapPolicy
from hourhand.domain.jobs.job import OnLost, Priority
from hourhand.domain.jobs.retry import Backoff, Jitter, RetryChanges
from hourhand.domain.schedules.recurrence import (
    DstFold,
    DstGap,
    ExcludedDate,
    ExcludedDates,
    ExcludedExpression,
    ExcludedTimes,
)
from hourhand.domain.schedules.schedule import (
    Backfill,
    BackfillOrder,
    Calendar,
    CalendarName,
    FormerRule,
    JournalEntry,
    Keep,
    Misfire,
    MisfirePolicy,
    Reprocess,
    Schedule,
    ScheduleDefinition,
    ScheduleEvent,
    ScheduleEventKind,
    SkipReason,
    Walk,
)
from tests.contract.job_strategies import counts, maybe, seconds, texts, times, words

ids = st.text(string.ascii_letters + string.digits + "_-", min_size=1, max_size=30)
dates = st.dates(date(1970, 1, 1), date(2200, 12, 31))

entries = st.builds(
    JournalEntry,
    first=times,
    last=times,
    count=counts,
    reason=maybe(st.sampled_from(SkipReason)),
    salt=st.one_of(st.just(""), st.just("trigger"), ids, texts),
    is_least=st.booleans(),
)
journals = st.lists(entries, max_size=30).map(tuple)

events = st.builds(
    ScheduleEvent,
    kind=st.sampled_from(ScheduleEventKind),
    at=times,
    sequence=counts,
    actor=st.one_of(st.just("local"), ids.map("@{}".format)),
    note=texts,
)

exclusions = st.one_of(
    st.builds(ExcludedDate, dates),
    st.builds(ExcludedDates, dates, dates),
    st.builds(ExcludedTimes, times, times),
    st.builds(ExcludedExpression, words),
)

schedules = st.builds(
    Schedule,
    id=ids,
    sequence=counts,
    revision=counts,
    write_id=words,
    definition=words,
    created_at=times,
    updated_at=times,
    effective_from=times,
    cursor=times,
    zone_data=words,
    next_at=maybe(times),
    made=counts,
    last_fire=maybe(times),
    last_made=maybe(times),
    served_until=maybe(times),
    paused_at=maybe(times),
    paused_from=maybe(times),
    resumed_at=maybe(times),
    deleted_at=maybe(times),
    keep_until=maybe(times),
    note=texts,
    managed_by=words,
    paused_by=words,
    own_note=maybe(texts),
    tenant_since=maybe(times),
    broken=texts,
    backfills=st.lists(ids, max_size=5).map(tuple),
    backfills_started=counts,
    journal=journals,
    last_event=maybe(events),
    incarnation=counts,
    former=st.lists(st.builds(FormerRule, ids, times), max_size=8).map(tuple),
)

retries = st.builds(
    RetryChanges,
    max_attempts=maybe(counts),
    backoff=maybe(st.sampled_from(Backoff)),
    base_seconds=maybe(seconds),
    max_delay_seconds=maybe(seconds),
    jitter=maybe(st.sampled_from(Jitter)),
)

definitions = st.builds(
    ScheduleDefinition,
    expressions=st.lists(words, min_size=1, max_size=4).map(tuple),
    handler=words,
    is_union=st.booleans(),
    timezone=words,
    anchor=maybe(times),
    dst_gap=st.sampled_from(DstGap),
    dst_fold=st.sampled_from(DstFold),
    exclude=st.lists(st.one_of(exclusions, st.builds(CalendarName, ids)), max_size=6).map(tuple),
    payload_text=texts,
    priority=maybe(st.sampled_from(Priority)),
    timeout_seconds=maybe(counts),
    retention_seconds=maybe(counts),
    on_lost=maybe(st.sampled_from(OnLost)),
    retry=maybe(retries),
    tenant=maybe(words),
    tags=st.dictionaries(words, texts, max_size=4),
    start_at=maybe(times),
    end_at=maybe(times),
    jitter_seconds=seconds,
    misfire=st.builds(Misfire, policy=st.sampled_from(MisfirePolicy), window_seconds=counts),
    overlap=st.sampled_from(OverlapPolicy),
    max_running=maybe(counts),
    buffer_limit=counts,
    max_occurrences=maybe(counts),
    pause_on_failure=st.booleans(),
    keep=st.builds(Keep, succeeded=counts, failed=counts),
)

backfills = st.builds(
    Backfill,
    id=ids,
    schedule_id=ids,
    sequence=counts,
    write_id=words,
    definition=words,
    start=times,
    end=times,
    total=counts,
    created_at=times,
    overlap=st.sampled_from(OverlapPolicy),
    order=st.sampled_from(BackfillOrder),
    max_active=counts,
    reprocess=st.sampled_from(Reprocess),
    position=counts,
    reached=maybe(times),
    made=counts,
    skipped=counts,
    failed=counts,
    paused_at=maybe(times),
    in_pause=maybe(times),
    cancelled_at=maybe(times),
    waiting=st.lists(ids.map(lambda name: f"o.{name}"), max_size=5).map(tuple),
    note=texts,
    keep_until=maybe(times),
)

calendars = st.builds(
    Calendar,
    name=ids,
    revision=counts,
    exclude=st.lists(exclusions, max_size=6).map(tuple),
    updated_at=times,
    note=texts,
)

walks = st.builds(
    Walk,
    sequence=st.integers(1, 2**31),
    write_id=words,
    wanted=counts,
    running=maybe(counts),
    finished=counts,
    position=maybe(ids),
    zone_data=words,
    declaring=words,
    declared=words,
    declared_at=maybe(times),
    declared_ids=st.lists(ids, max_size=4).map(tuple),
)
