"""One suite for every Store: what holds for the files holds for the memory."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from devclaw_py.errors import (
    AlreadyRegistered,
    Internal,
    IssueClaimed,
    NotActive,
    ProjectBusy,
    StaleAttempt,
    UnknownProject,
)
from devclaw_py.kernel.clock import Clock, SystemClock, VirtualClock
from devclaw_py.model.announcement import Announcement
from devclaw_py.model.following import Followed
from devclaw_py.model.journal import (
    Attempt,
    AttemptChange,
    AuditLine,
    Closing,
    Following,
    Intent,
    OutboxRow,
    Report,
    Wish,
)
from devclaw_py.model.pipeline import Result, Role, SeatKey, State, Tier
from devclaw_py.model.project import Project
from devclaw_py.model.settings import Settings
from devclaw_py.model.usage import Spending, TaskUsage, Tokens
from devclaw_py.state.base import Store
from devclaw_py.state.files import FilesStore
from devclaw_py.state.flush import flush_lines
from devclaw_py.state.memory import MemoryStore

GROUP = "-1234567890"
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(NOW)


@pytest.fixture(params=["files", "memory"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def store(kind: str, tmp_path: Path, clock: VirtualClock) -> Iterator[Store]:
    yield from opened(kind, tmp_path, clock)


@pytest.fixture
def threaded_store(kind: str, tmp_path: Path) -> Iterator[Store]:
    """On the machine's clock: threads that wait for each other must really wait."""
    yield from opened(kind, tmp_path, SystemClock())


def opened(kind: str, workspace: Path, clock: Clock) -> Iterator[Store]:
    if kind == "memory":
        yield MemoryStore(clock)
        return
    files = FilesStore(workspace, clock, Settings())
    yield files
    files.disconnect()


def project(group: str = GROUP, name: str = "My Web", **more: Any) -> Project:
    return Project(group_id=group, name=name, repo="~/git/my-web", **more)


def intent(op: str = "op1", kind: str = "pickup", issue: int | None = 42, **more: Any) -> Intent:
    return Intent(op=op, kind=kind, tool=f"task_{kind}", group_id=GROUP, issue=issue, at=NOW, **more)


def attempt(number: int = 1, **more: Any) -> Attempt:
    return Attempt(
        group_id=GROUP,
        issue=42,
        number=number,
        role=Role.DEV,
        tier=Tier.MEDIOR,
        session="my-web-dev-medior",
        op=f"op{number}",
        started=NOW,
        **more,
    )


def following(number: int) -> Following:
    return Following(group_id=GROUP, issue=42, number=1, followed=Followed(number=number))


def report_intent(op: str = "r1", number: int = 1) -> Intent:
    return intent(op, "complete", attempt=number)


def wish(issue: int = 42, role: Role = Role.QA, **more: Any) -> Wish:
    return Wish(group_id=GROUP, issue=issue, role=role, at=NOW, **more)


def row(key: str, group: str = GROUP) -> OutboxRow:
    return OutboxRow(key=key, group_id=group, announcement=Announcement(emoji="⚡", text=key), at=NOW)


def line(op: str = "op1", event: str = "task_pickup", ts: datetime = NOW, **facts: Any) -> AuditLine:
    return AuditLine(ts=ts, event=event, op=op, caller="human", group_id=GROUP, issue=42, facts=facts)


DONE = Report(result=Result.DONE, summary="built")


class TestRegistry:
    def test_nothing_stored_is_an_empty_registry_that_says_it_does_not_exist(self, store: Store) -> None:
        assert (store.registry.all(), store.registry.exists) == ({}, False)

    def test_projects_are_listed_in_the_order_of_registration(self, store: Store) -> None:
        for group in ("-3", "-1", "-2"):
            store.registry.add(project(group, f"web{group}"))
        assert list(store.registry.all()) == ["-3", "-1", "-2"]

    def test_what_was_added_is_read_back_with_a_slug(self, store: Store) -> None:
        store.registry.add(project())
        assert store.registry.get(GROUP) == project(slug="my-web")

    def test_two_projects_of_one_name_get_two_slugs(self, store: Store) -> None:
        store.registry.add(project("-1"))
        store.registry.add(project("-2"))
        first, second = (found.slug for found in store.registry.all().values())
        assert first != second

    def test_a_slug_outlives_the_removal_of_the_project_it_had_to_avoid(self, store: Store) -> None:
        store.registry.add(project("-1"))
        store.registry.add(project("-2"))
        second = store.registry.get("-2").slug
        store.registry.remove("-1")
        assert store.registry.get("-2").slug == second

    def test_a_group_has_one_project(self, store: Store) -> None:
        store.registry.add(project())
        with pytest.raises(AlreadyRegistered, match="My Web"):
            store.registry.add(project(name="Other"))

    def test_a_given_slug_that_is_taken_is_refused(self, store: Store) -> None:
        store.registry.add(project("-1", slug="web"))
        with pytest.raises(AlreadyRegistered, match="web"):
            store.registry.add(project("-2", slug="web"))

    def test_a_seat_that_was_taken_is_read_back_busy(self, store: Store) -> None:
        store.registry.add(project())

        def take(found: Project) -> Project:
            seat = found.dev.take(42, tier=Tier.MEDIOR, session="s", attempt=3, previous_state=State.TO_DO, at=NOW)
            return found.with_seat(SeatKey(Role.DEV), seat)

        written = store.registry.change(GROUP, take)
        assert store.registry.get(GROUP) == written
        assert store.registry.get(GROUP).dev.holds(42, 3)

    def test_an_edit_that_raises_changes_nothing(self, store: Store) -> None:
        store.registry.add(project())
        before = store.registry.all()

        def refuse(_: Project) -> Project:
            raise ProjectBusy("no")

        with pytest.raises(ProjectBusy):
            store.registry.change(GROUP, refuse)
        assert store.registry.all() == before

    def test_an_unknown_group_is_refused_with_the_known_ones(self, store: Store) -> None:
        store.registry.add(project())
        with pytest.raises(UnknownProject, match=rf"My Web \({GROUP}\)"):
            store.registry.get("-9")

    def test_changing_or_removing_an_unknown_group_is_refused(self, store: Store) -> None:
        with pytest.raises(UnknownProject):
            store.registry.change(GROUP, lambda found: found)
        with pytest.raises(UnknownProject):
            store.registry.remove(GROUP)

    def test_threads_lose_no_update(self, threaded_store: Store) -> None:
        threaded_store.registry.add(project(models={"count": "0"}))

        def count() -> None:
            for _ in range(20):
                threaded_store.registry.change(
                    GROUP,
                    lambda found: found.model_copy(update={"models": {"count": str(int(found.models["count"]) + 1)}}),
                )

        _together(count, count, count)
        assert threaded_store.registry.get(GROUP).models == {"count": "60"}


class TestAudit:
    def test_lines_are_read_in_the_order_they_were_written(self, store: Store) -> None:
        for number in range(5):
            store.audit.append(line(f"op{number}"))
        assert [entry["op"] for entry in store.audit.read()] == [f"op{number}" for number in range(5)]

    def test_the_named_fields_come_first_and_in_camel_case(self, store: Store) -> None:
        store.audit.append(line(tier="medior"))
        assert list(next(store.audit.read())) == ["ts", "event", "op", "caller", "groupId", "issue", "tier"]

    def test_a_fact_cannot_displace_a_named_field(self, store: Store) -> None:
        store.audit.append(line(op="op1", event="e", caller="worker"))
        assert next(store.audit.read())["caller"] == "human"

    def test_the_same_op_and_event_is_written_once(self, store: Store) -> None:
        assert [store.audit.append_once(line()), store.audit.append_once(line())] == [True, False]
        assert len(list(store.audit.read())) == 1

    def test_another_event_of_the_op_is_written(self, store: Store) -> None:
        store.audit.append(line(event="model_selection"))
        assert store.audit.append_once(line())

    def test_a_line_that_was_made_earlier_and_written_later_does_not_end_the_search(
        self, store: Store, clock: VirtualClock
    ) -> None:
        clock.sleep(3600)
        store.audit.append_once(line("new", ts=clock.now()))
        store.audit.append_once(line("old", ts=NOW - timedelta(days=1)))
        assert not store.audit.append_once(line("new", ts=clock.now()))

    def test_since_leaves_out_what_is_older(self, store: Store, clock: VirtualClock) -> None:
        store.audit.append(line("old"))
        clock.sleep(10)
        store.audit.append(line("new", ts=clock.now()))
        assert [entry["op"] for entry in store.audit.read(since=NOW + timedelta(seconds=10))] == ["new"]

    @pytest.mark.parametrize("key", ["body", "bodyPreview", "summary", "reason"])
    def test_other_peoples_texts_are_cut_at_100_characters(self, store: Store, key: str) -> None:
        store.audit.append(line().model_copy(update={"facts": {key: "x" * 500}}))
        assert len(str(next(store.audit.read())[key])) == 100

    @pytest.mark.parametrize("text", ["zwei\nZeilen", "\u2028", "🎉", "\ud800", 'say "x"', "\x00"])
    def test_any_text_is_one_line(self, store: Store, text: str) -> None:
        store.audit.append(line("a", title=text))
        store.audit.append(line("b"))
        assert [entry.get("title") for entry in store.audit.read()] == [text, None]


class TestIntents:
    def test_an_intent_is_read_back_whole(self, store: Store) -> None:
        written = intent(role=Role.DEV, source=State.TO_DO, payload={"worktree": "/w", "n": [1]}, caller="human")
        store.journal.begin(written, attempt())
        assert store.journal.intents() == [written]
        assert store.journal.intent("op1") == written
        assert store.journal.attempts(GROUP) == [attempt()]

    def test_a_mark_is_saved(self, store: Store) -> None:
        store.journal.begin(intent())
        marked = intent(phase=3, undoing=True, next_try=NOW + timedelta(minutes=1)).knowing(commit="abc")
        store.journal.mark(marked)
        assert store.journal.intent("op1") == marked

    def test_a_second_operation_on_an_issue_is_refused_with_kind_and_age(
        self, store: Store, clock: VirtualClock
    ) -> None:
        store.journal.begin(intent())
        clock.sleep(300)
        with pytest.raises(IssueClaimed, match="pickup that began 5 min ago"):
            store.journal.begin(intent("op2", "update"), attempt(2))
        assert store.journal.attempts(GROUP) == []

    def test_operations_without_an_issue_do_not_exclude_each_other(self, store: Store) -> None:
        store.journal.begin(intent("op1", "create", None))
        store.journal.begin(intent("op2", "create", None))
        assert [found.op for found in store.journal.intents(GROUP)] == ["op1", "op2"]

    def test_one_issue_number_in_two_groups_is_two_issues(self, store: Store) -> None:
        store.journal.begin(intent())
        store.journal.begin(intent("op2").model_copy(update={"group_id": "-2"}))
        assert [found.op for found in store.journal.intents("-2")] == ["op2"]

    def test_one_operation_id_is_begun_once(self, store: Store) -> None:
        store.journal.begin(intent(issue=None))
        with pytest.raises(IssueClaimed, match="open already"):
            store.journal.begin(intent(issue=7))

    def test_a_closed_operation_frees_its_issue(self, store: Store) -> None:
        store.journal.begin(intent())
        store.journal.close("op1", Closing())
        store.journal.begin(intent("op2"))
        assert store.journal.intent("op1") is None

    def test_closing_makes_everything_true(self, store: Store) -> None:
        store.journal.begin(intent(), attempt())
        number, outcome = {"group_id": GROUP, "issue": 42, "number": attempt().number}, {"success": True}
        change = AttemptChange.model_validate({**number, "ended": NOW, "reason": "done", "outcome": outcome})
        store.journal.close(
            "op1",
            Closing(
                lines=(line(),),
                outbox=(row("k1"), row("k1")),
                wish=wish(),
                attempt=change,
                request_id="r",
                answer={"success": True},
            ),
        )
        assert store.journal.attempts(GROUP, 42) == [attempt(ended=NOW, reason="done", outcome=outcome)]
        assert store.journal.outbox(GROUP) == [row("k1")]
        assert store.journal.wishes(GROUP) == [wish()]
        assert store.journal.queued_lines() == [line()]
        assert store.journal.answer(GROUP, "r") == {"success": True}

    def test_closing_leaves_a_report_that_came_meanwhile(self, store: Store) -> None:
        store.journal.begin(intent(), attempt())
        change = AttemptChange(group_id=GROUP, issue=42, number=attempt().number, accepted=NOW, commit="abc")
        store.journal.report(report_intent(), DONE)
        store.journal.close("op1", Closing(attempt=change))

        (found,) = store.journal.attempts(GROUP, 42)
        assert (found.report, found.commit) == (DONE, "abc")

    def test_a_record_of_a_later_version_is_read(self) -> None:
        later = {**attempt().model_dump(mode="json", by_alias=True), "mood": "fine"}
        assert Attempt.model_validate(later) == attempt()

    def test_an_open_operation_is_lined_until_it_is_closed(self, store: Store) -> None:
        store.journal.begin(intent())
        before = store.journal.lined("op1")
        store.journal.set_lined("op1")
        store.journal.mark(intent(phase=4))
        after = store.journal.lined("op1")
        store.journal.close("op1", Closing())
        store.journal.set_lined("op1")
        assert (before, after, store.journal.lined("op1")) == (False, True, False)

    def test_what_is_not_open_can_be_neither_marked_nor_closed(self, store: Store) -> None:
        with pytest.raises(Internal, match="not open"):
            store.journal.mark(intent())
        with pytest.raises(Internal, match="not open"):
            store.journal.close("op1", Closing(wish=wish()))
        assert store.journal.wishes() == []


class TestReports:
    def test_a_report_counts_as_acceptance(self, store: Store) -> None:
        store.journal.begin(intent(), attempt())
        assert store.journal.report(report_intent(), DONE)
        (found,) = store.journal.attempts(GROUP, 42)
        assert (found.report, found.accepted) == (DONE, NOW)

    def test_a_report_does_not_wait_for_the_open_pickup(self, store: Store) -> None:
        store.journal.begin(intent(), attempt())
        store.journal.report(report_intent(), DONE)
        assert [found.kind for found in store.journal.intents()] == ["pickup", "complete"]

    def test_the_pickups_of_an_issue_with_an_open_report_may_begin(self, store: Store) -> None:
        store.journal.save_attempt(attempt())
        store.journal.report(report_intent(), DONE)
        store.journal.begin(intent("op2"), attempt(2))
        assert len(store.journal.intents()) == 2

    def test_the_same_report_again_is_no_news(self, store: Store) -> None:
        store.journal.save_attempt(attempt())
        store.journal.report(report_intent(), DONE)
        assert not store.journal.report(report_intent("r2"), DONE)
        assert [found.op for found in store.journal.intents()] == ["r1"]

    def test_the_same_report_is_no_news_when_the_attempt_ended_and_a_newer_one_began(self, store: Store) -> None:
        store.journal.save_attempt(attempt(report=DONE, ended=NOW))
        store.journal.save_attempt(attempt(2))
        assert not store.journal.report(report_intent(), DONE)

    def test_another_report_of_the_attempt_is_stale(self, store: Store) -> None:
        store.journal.save_attempt(attempt(report=DONE))
        with pytest.raises(StaleAttempt, match="has reported done"):
            store.journal.report(report_intent(), Report(result=Result.BLOCKED))

    @pytest.mark.parametrize("reason", ["void", "session lost"])
    def test_a_report_of_an_ended_attempt_is_stale(self, store: Store, reason: str) -> None:
        store.journal.save_attempt(attempt(ended=NOW, reason=reason))
        with pytest.raises(StaleAttempt, match=reason):
            store.journal.report(report_intent(), DONE)
        assert store.journal.intents() == []

    def test_a_report_of_an_older_attempt_is_stale_and_names_the_newest(self, store: Store) -> None:
        store.journal.save_attempt(attempt(1))
        store.journal.save_attempt(attempt(2))
        with pytest.raises(StaleAttempt, match="replaced by attempt 2"):
            store.journal.report(report_intent(), DONE)

    def test_a_report_of_an_attempt_that_never_was_is_not_active(self, store: Store) -> None:
        store.journal.save_attempt(attempt(1))
        with pytest.raises(NotActive, match="no attempt 7"):
            store.journal.report(report_intent(number=7), DONE)


class TestTheRest:
    def test_of_two_that_follow_up_the_same_attempt_one_is_written(self, store: Store) -> None:
        store.journal.save_attempt(attempt())
        first = following(1)

        assert store.journal.follow(first)
        assert not store.journal.follow(first)
        assert store.journal.follow(following(2))

        (found,) = store.journal.attempts(GROUP, 42)
        assert found.followed == Followed(number=2)

    @pytest.mark.parametrize("over", [{"ended": NOW}, {"report": DONE}])
    def test_an_attempt_that_is_over_is_not_followed_up(self, store: Store, over: dict[str, Any]) -> None:
        store.journal.save_attempt(attempt(**over))

        assert not store.journal.follow(following(1))
        assert store.journal.outbox(GROUP) == []

    def test_following_up_queues_its_line_and_its_announcement_once(self, store: Store) -> None:
        store.journal.save_attempt(attempt())
        row = OutboxRow(key="k", group_id=GROUP, announcement=Announcement(emoji="x", text="y"), at=NOW)
        line = AuditLine(ts=NOW, event="worker_reminded", op="op9", caller="heartbeat")

        for number in (1, 1, 2):
            store.journal.follow(following(number).model_copy(update={"outbox": (row,), "lines": (line,)}))

        assert (len(store.journal.outbox(GROUP)), len(store.journal.queued_lines())) == (1, 1)

    def test_the_next_attempt_is_one_more_than_any_known(self, store: Store) -> None:
        assert store.journal.next_attempt(GROUP, 42) == 1
        store.journal.save_attempt(attempt(4))
        store.journal.begin(intent(attempt=6))
        assert store.journal.next_attempt(GROUP, 42) == 7

    def test_attempts_of_other_issues_do_not_count(self, store: Store) -> None:
        store.journal.save_attempt(attempt(4))
        assert store.journal.next_attempt(GROUP, 43) == 1
        assert store.journal.attempts(GROUP, 43) == []

    def test_a_wish_is_one_for_each_issue_and_role_and_the_newest_counts(self, store: Store) -> None:
        for op, wanted in (("a", wish()), ("b", wish(tier=Tier.QA)), ("c", wish(role=Role.DEV))):
            store.journal.begin(intent(op, issue=None))
            store.journal.close(op, Closing(wish=wanted))
        assert store.journal.wishes() == [wish(tier=Tier.QA), wish(role=Role.DEV)]

    def test_a_fulfilled_wish_is_gone(self, store: Store) -> None:
        for op, closing in (("a", Closing(wish=wish())), ("b", Closing(fulfilled=wish()))):
            store.journal.begin(intent(op))
            store.journal.close(op, closing)
        assert store.journal.wishes() == []

    def test_dropping_a_wish_that_is_gone_is_no_error(self, store: Store) -> None:
        store.journal.drop_wish(wish())
        assert store.journal.wishes() == []

    def test_an_operation_is_announced_from_its_first_row_on_also_when_that_is_sent(self, store: Store) -> None:
        assert not store.journal.announced("op")

        store.journal.queue(row("op:complete"), row("opening:created"))
        store.journal.save_outbox(row("op:complete").model_copy(update={"sent": NOW}))

        assert store.journal.announced("op")
        assert not store.journal.announced("o")

    def test_the_outbox_keeps_the_order_of_queueing_for_each_group(self, store: Store) -> None:
        store.journal.queue(row("b"), row("a"), row("x", "-2"))
        assert [found.key for found in store.journal.outbox(GROUP)] == ["b", "a"]
        assert [found.key for found in store.journal.outbox()] == ["b", "a", "x"]

    def test_what_was_sent_is_not_listed_and_not_queued_again(self, store: Store) -> None:
        store.journal.queue(row("a"))
        store.journal.save_outbox(row("a").model_copy(update={"sent": NOW}))
        store.journal.queue(row("a"))
        assert store.journal.outbox() == []

    def test_a_failed_try_is_remembered(self, store: Store) -> None:
        tried = row("a").model_copy(update={"tries": 2, "next_try": NOW})
        store.journal.queue(row("a"))
        store.journal.save_outbox(tried)
        assert store.journal.outbox() == [tried]

    def test_an_answer_is_kept_for_24_hours(self, store: Store, clock: VirtualClock) -> None:
        store.journal.keep_answer(GROUP, "r", {"n": 1})
        clock.sleep(24 * 3600 - 1)
        assert store.journal.answer(GROUP, "r") == {"n": 1}
        clock.sleep(1)
        assert store.journal.answer(GROUP, "r") is None

    def test_a_later_answer_replaces_a_pending_one(self, store: Store) -> None:
        store.journal.keep_answer(GROUP, "r", {"pending": True})
        store.journal.keep_answer(GROUP, "r", {"pending": False})
        assert store.journal.answer(GROUP, "r") == {"pending": False}

    def test_an_event_is_new_once(self, store: Store) -> None:
        seen = [store.journal.first_seen(*event) for event in (("s", "1"), ("s", "1"), ("t", "1"))]
        assert seen == [True, False, True]

    def test_queued_lines_are_written_once_and_forgotten(self, store: Store) -> None:
        _queue(store, line("a"), line("b"))
        store.audit.append_once(line("a"))  # as if a flush had been killed before it could forget
        assert flush_lines(store) == 2
        assert ([entry["op"] for entry in store.audit.read()], store.journal.queued_lines()) == (["a", "b"], [])

    def test_flushing_nothing_writes_nothing(self, store: Store) -> None:
        assert flush_lines(store) == 0
        assert list(store.audit.read()) == []


class TestLocks:
    def test_a_held_lock_is_refused_with_its_holder(self, store: Store) -> None:
        with (
            store.hold("project:-1", wait_s=0, holder="task_pickup op1"),
            pytest.raises(ProjectBusy, match="project:-1 is held by task_pickup op1"),
            store.hold("project:-1", wait_s=2, holder="x"),
        ):
            pass

    def test_other_names_are_other_locks(self, store: Store) -> None:
        with store.hold("project:-1", wait_s=0, holder="x"), store.hold("project:-2", wait_s=0, holder="y"):
            pass

    def test_a_lock_is_free_after_its_block_even_when_that_raised(self, store: Store) -> None:
        with pytest.raises(KeyError), store.hold("project:-1", wait_s=0, holder="x"):
            raise KeyError
        with store.hold("project:-1", wait_s=0, holder="y"):
            pass


def ended(number: int, usage: TaskUsage | None, at: datetime = NOW) -> AttemptChange:
    return AttemptChange(group_id=GROUP, issue=42, number=number, ended=at, reason="done", usage=usage)


SOME = TaskUsage(
    models={"a": Tokens(input=1, output=2, cache_read=3, cache_creation=4), "b": Tokens(output=5)}, cost_usd=0.5
)


def test_what_attempts_used_adds_up_over_a_span_of_time(store: Store) -> None:
    for number, at in ((1, NOW), (2, NOW + timedelta(hours=1)), (3, NOW + timedelta(days=1))):
        store.journal.save_attempt(attempt(number))
        store.journal.change_attempt(ended(number, SOME, at))

    found = store.journal.spending(GROUP, since=NOW, until=NOW + timedelta(days=1))

    assert found == Spending(
        attempts=2, tokens=Tokens(input=2, output=14, cache_read=6, cache_creation=8), cost_usd=1.0
    )
    assert store.journal.spending(since=NOW, until=NOW + timedelta(days=9)).attempts == 3
    assert store.journal.spending("-2", since=NOW, until=NOW + timedelta(days=9)) == Spending()


def test_what_is_not_known_of_an_attempt_is_counted_as_unknown_and_not_as_nothing(store: Store) -> None:
    for number, usage in ((1, TaskUsage()), (2, SOME.model_copy(update={"cost_usd": None}))):
        store.journal.save_attempt(attempt(number))
        store.journal.change_attempt(ended(number, usage))

    found = store.journal.spending(GROUP, since=NOW, until=NOW + timedelta(days=1))

    assert (found.attempts, found.uncounted, found.unpriced, found.tokens.output) == (2, 1, 2, 7)


def test_the_usage_of_an_attempt_stands_in_it_and_is_added_once(store: Store) -> None:
    store.journal.begin(intent(), attempt())
    store.journal.close("op1", Closing(attempt=ended(1, SOME)))
    store.journal.change_attempt(ended(1, SOME))

    assert store.journal.attempts(GROUP)[0].usage == SOME
    assert store.journal.spending(since=NOW, until=NOW + timedelta(days=1)).cost_usd == 0.5


def _queue(store: Store, *lines: AuditLine) -> None:
    store.journal.begin(intent("q", issue=None))
    store.journal.close("q", Closing(lines=lines))


def _together(*works: Any) -> None:
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
