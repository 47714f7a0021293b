"""Time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

from devclaw_py.kernel.clock import SystemClock, VirtualClock, timestamp


def test_the_systems_time_is_utc_in_whole_milliseconds() -> None:
    now = SystemClock().now()
    assert (now.tzinfo, now.microsecond % 1000) == (UTC, 0)


def test_a_virtual_clock_moves_only_when_somebody_waits() -> None:
    clock = VirtualClock()
    began = clock.now()
    clock.sleep(1.5)
    assert (clock.now() - began, clock.monotonic()) == (timedelta(seconds=1.5), 1.5)
    assert clock.now() == clock.now()


def test_a_timestamp_is_utc_with_milliseconds_whatever_the_zone() -> None:
    at = datetime(2026, 2, 8, 12, 30, 1, 999_999, tzinfo=timezone(timedelta(hours=2)))
    assert timestamp(at) == "2026-02-08T10:30:01.999Z"
