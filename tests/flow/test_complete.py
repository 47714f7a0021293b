"""task_complete: every result, what is refused, what waits, and that no report is lost or counted twice."""

from __future__ import annotations

from typing import Any

import pytest

from devclaw_py.model.pipeline import Integration, State, Tier
from devclaw_py.model.project import Seat
from tests.conftest import GROUP, Office

FIELDS = {
    "success",
    "project",
    "groupId",
    "issueId",
    "role",
    "model",
    "attempt",
    "result",
    "labelTransition",
    "announcement",
}


def refuses(office: Office, code: str, **arguments: Any) -> str:
    """Complete in vain; return the message."""
    before = office.snapshot()
    answer = office.call("task_complete", **arguments)
    assert not answer["success"], answer
    assert answer["error"]["code"] == code, answer
    assert office.snapshot() == before
    return str(answer["error"]["message"])


def test_dev_done_moves_to_the_qa_queue(office: Office) -> None:
    issue = office.doing()

    answer = office.done("task_complete", role="dev", result="done", summary="Footer stands")

    assert set(answer) == FIELDS | {"nextAction", "commit"}
    assert answer["nextAction"] == "qa_pickup"
    assert answer["labelTransition"] == "Doing → To Test"
    assert answer["announcement"].startswith(f"✅ DEV done #{issue} — Footer stands. Moved to QA queue.")
    assert office.states(issue) == (State.TO_TEST,)


def test_dev_done_frees_the_seat_and_keeps_the_session(office: Office) -> None:
    office.doing()

    office.done("task_complete", role="dev", result="done")

    seat = office.seat("dev")
    assert (seat.active, seat.issue, seat.start_time, seat.attempt) == (False, None, None, None)
    assert seat.session(Tier.MEDIOR) == "shop-dev-medior"
    assert office.terminal.panes["shop-dev-medior"].session.alive


def test_dev_blocked_goes_to_a_person_with_the_reason(office: Office) -> None:
    issue = office.doing()

    answer = office.done("task_complete", role="dev", result="blocked", summary="No password")

    assert office.states(issue) == (State.REFINING,)
    assert "nextAction" not in answer
    assert "No password" in office.comments(issue)[-1]


def test_qa_pass_merges_the_tested_commit_and_closes(office: Office) -> None:
    issue = office.testing()
    tested = office.work.repo(office.project).branches[office.branch(issue)]

    answer = office.done("task_complete", role="qa", result="pass", summary="Seen it")

    repo = office.work.repo(office.project)
    assert set(answer) == FIELDS | {"issueClosed", "merged"}
    assert answer["merged"] == repo.base[-1]
    assert tested in repo.parents[repo.base[-1]]
    assert office.states(issue) == (State.DONE,)
    assert office.tracker.get(issue).closed
    assert "Merged into main, issue closed." in answer["announcement"]


def test_qa_fail_sends_back_to_dev_with_the_reason(office: Office) -> None:
    issue = office.testing()

    answer = office.done("task_complete", role="qa", result="fail", summary="The year is wrong")

    assert set(answer) == FIELDS | {"issueReopened", "nextAction", "reason"}
    assert answer["nextAction"] == "dev_fix"
    assert office.states(issue) == (State.TO_IMPROVE,)
    assert "The year is wrong" in office.comments(issue)[-1]


def test_qa_fail_reopens_what_somebody_closed(office: Office) -> None:
    issue = office.testing()
    office.tracker.human_closes(issue)

    office.done("task_complete", role="qa", result="fail", summary="No")

    assert not office.tracker.get(issue).closed


@pytest.mark.parametrize("result", ["refine", "blocked"])
def test_qa_refine_and_blocked_wait_for_a_person(office: Office, result: str) -> None:
    office.change(auto_chain=True)
    issue = office.testing()

    answer = office.done("task_complete", role="qa", result=result, summary="Which year?")

    assert office.states(issue) == (State.REFINING,)
    assert not {"nextAction", "autoChain"} & set(answer)
    assert "Which year?" in office.comments(issue)[-1]


@pytest.mark.parametrize(("role", "result"), [("dev", "pass"), ("dev", "fail"), ("dev", "refine"), ("qa", "done")])
def test_a_result_of_the_other_role_is_refused(office: Office, role: str, result: str) -> None:
    office.doing() if role == "dev" else office.testing()

    message = refuses(office, "invalid_arguments", role=role, result=result)

    assert f"{role} cannot report {result}" in message


def test_an_idle_worker_has_nothing_to_report(office: Office) -> None:
    assert "holds no task" in refuses(office, "not_active", role="dev", result="done")


def test_an_issue_that_the_seat_does_not_hold_is_refused(office: Office) -> None:
    issue = office.doing()

    assert f"holds #{issue}" in refuses(office, "not_active", role="dev", result="done", issueId=issue + 1)


def test_an_attempt_that_never_was_is_refused(office: Office) -> None:
    issue = office.doing()

    refuses(office, "not_active", role="dev", result="done", issueId=issue, attempt=7)


def test_an_older_attempt_is_stale(office: Office) -> None:
    issue = office.doing()
    office.done("task_update", issueId=issue, state="To Do")
    office.done("task_pickup", issueId=issue, role="dev", model="medior")

    message = refuses(office, "stale_attempt", role="dev", result="done", issueId=issue, attempt=1)

    assert "attempt 2" in message


def test_a_released_attempt_is_stale(office: Office) -> None:
    issue = office.doing()
    office.done("task_update", issueId=issue, state="Planning")

    refuses(office, "stale_attempt", role="dev", result="done", issueId=issue, attempt=1)


def test_work_without_a_commit_is_accepted_with_a_warning(office: Office) -> None:
    issue = office.doing(commits=False)

    answer = office.done("task_complete", role="dev", result="done")

    assert "no commit over the base" in answer["warnings"][0]
    assert answer["warnings"][0] in answer["announcement"]
    assert "no commit over the base" in office.comments(issue)[-1]


def test_uncommitted_work_is_accepted_with_a_warning(office: Office) -> None:
    office.doing()
    repo = office.work.repo(office.project)
    repo.edit(next(iter(repo.desks)))

    answer = office.done("task_complete", role="dev", result="done")

    assert "uncommitted" in answer["warnings"][0]


def test_a_push_to_the_remote_is_said(office: Office) -> None:
    office.doing()
    office.work.repo(office.project).remote = {}

    assert office.done("task_complete", role="dev", result="done")["pushed"] is True


def test_a_pass_that_conflicts_becomes_a_fail_with_the_paths(office: Office) -> None:
    issue = office.testing()
    repo = office.work.repo(office.project)
    repo.conflicts[office.branch(issue)] = ("src/footer.py",)
    base = list(repo.base)

    answer = office.done("task_complete", role="qa", result="pass", summary="Seen it")

    assert (answer["result"], answer["requested"], answer["paths"]) == ("fail", "pass", ["src/footer.py"])
    assert answer["nextAction"] == "dev_fix"
    assert office.states(issue) == (State.TO_IMPROVE,)
    assert repo.base == base
    assert "src/footer.py" in office.comments(issue)[-1]


def test_a_pass_of_an_older_commit_becomes_a_fail(office: Office) -> None:
    issue = office.testing()
    newer = office.commit(issue)

    answer = office.done("task_complete", role="qa", result="pass")

    assert (answer["result"], answer["requested"]) == ("fail", "pass")
    assert newer in answer["reason"]


def test_a_pass_is_left_to_others_to_merge_where_they_do(office: Office) -> None:
    issue = office.testing()
    office.change(integration=Integration.HUMAN)
    repo = office.work.repo(office.project)
    base = list(repo.base)

    answer = office.done("task_complete", role="qa", result="pass")

    assert repo.base == base
    assert (answer["integration"], answer["merged"]) == ("human", None)
    assert office.states(issue) == (State.DONE,)


def waiting(office: Office) -> int:
    """Have a pass that waits for the main checkout."""
    issue = office.testing()
    office.work.repo(office.project).waiting = "the main checkout has tracked changes"
    answer = office.done("task_complete", role="qa", result="pass", summary="Seen it", attempt=2, issueId=issue)
    assert answer["pending"]
    assert "tracked changes" in answer["reason"]
    return issue


def test_a_pass_into_a_dirty_checkout_waits_with_the_label_and_without_the_seat(office: Office) -> None:
    issue = waiting(office)

    assert office.states(issue) == (State.TESTING,)
    assert not office.seat("qa").active
    assert not office.tracker.get(issue).closed


def test_a_waiting_report_keeps_its_issue(office: Office) -> None:
    issue = waiting(office)

    assert office.refused("task_update", issueId=issue, state="Done") == "issue_claimed"


def test_a_waiting_report_does_not_keep_the_role(office: Office) -> None:
    waiting(office)

    office.done("task_pickup", issueId=office.seed("Other", State.TO_TEST), role="qa")


def test_the_group_hears_once_that_a_report_waits(office: Office) -> None:
    told = office.hear()
    issue = waiting(office)
    for _ in range(3):
        office.clock.sleep(3600)
        office.done("task_comment", issueId=issue, body="Still here")

    assert len([row for row in told if row.key.endswith(":waits")]) == 1


def test_a_waiting_report_is_settled_by_the_next_call_when_its_time_has_come(office: Office) -> None:
    issue = waiting(office)
    office.work.repo(office.project).waiting = ""
    office.clock.sleep(31)

    answer = office.done("task_create", title="Anything")

    assert answer["settled"] == [f"task_complete of #{issue} was settled"]
    assert office.states(issue) == (State.DONE,)
    assert office.tracker.get(issue).closed


def test_the_same_report_while_the_first_waits_is_repeated_and_waits(office: Office) -> None:
    issue = waiting(office)

    answer = office.done("task_complete", role="qa", result="pass", summary="Seen it", attempt=2, issueId=issue)

    assert (answer["pending"], answer["repeated"]) == (True, True)
    assert len(office.app.store.journal.intents()) == 1


def test_a_report_is_kept_while_the_tracker_is_down(office: Office) -> None:
    issue = office.doing()
    tracker = office.faulty_tracker()
    tracker.down()

    answer = office.done("task_complete", role="dev", result="done", summary="Ready")

    assert answer["pending"] is True
    assert not office.seat("dev").active
    tracker.up()
    office.clock.sleep(31)
    office.done("task_create", title="Anything")
    assert office.states(issue) == (State.TO_TEST,)


@pytest.mark.parametrize("after", [False, True], ids=["before-acting", "after-acting"])
@pytest.mark.parametrize("port", ["tracker", "work"])
@pytest.mark.parametrize("number", range(1, 10))
@pytest.mark.parametrize("result", ["pass", "fail", "done"])
def test_a_report_is_carried_out_once_whichever_call_fails(
    office: Office, result: str, number: int, port: str, after: bool
) -> None:
    issue = office.doing() if result == "done" else office.testing()
    role, target = ("dev", State.TO_TEST) if result == "done" else ("qa", State.DONE)
    target = State.TO_IMPROVE if result == "fail" else target
    said = len(office.comments(issue))
    flaky = office.flaky_tracker() if port == "tracker" else office.flaky_work()
    flaky.fail(number, after_acting=after)

    office.done("task_complete", role=role, result=result, summary="My words", issueId=issue)
    flaky.fails = None
    office.clock.sleep(31)
    office.done("task_create", title="Anything")

    assert office.states(issue) == (target,), flaky.calls
    assert len(office.comments(issue)) == said + 1, flaky.calls
    assert not office.seat(role).active
    assert len(office.work.repo(office.project).publications) == (1 if result == "pass" else 0)


def test_the_same_report_again_answers_the_first_outcome(office: Office) -> None:
    issue = office.doing()
    report: dict[str, Any] = {"role": "dev", "result": "done", "summary": "Ready", "issueId": issue, "attempt": 1}
    first = office.done("task_complete", **report)
    before = office.snapshot()

    assert office.done("task_complete", **report) == {**first, "repeated": True}
    assert office.snapshot() == before


@pytest.mark.parametrize("names_issue", [True, False])
def test_the_same_report_again_needs_no_attempt(office: Office, names_issue: bool) -> None:
    issue = office.doing()
    report: dict[str, Any] = {"role": "dev", "result": "done", "summary": "Ready"}
    first = office.done("task_complete", **report)
    if names_issue:
        report["issueId"] = issue

    assert office.done("task_complete", **report) == {**first, "repeated": True}


def test_another_report_for_an_attempt_that_has_one_is_stale(office: Office) -> None:
    issue = office.doing()
    office.done("task_complete", role="dev", result="done", summary="Ready", issueId=issue, attempt=1)

    message = refuses(office, "stale_attempt", role="dev", result="blocked", issueId=issue, attempt=1)

    assert "reported done already" in message


@pytest.mark.parametrize("to", [State.PLANNING, State.TO_DO, State.DONE])
def test_a_humans_move_beats_a_report(office: Office, to: State) -> None:
    issue = office.doing()
    office.tracker.human_moves(issue, to)

    answer = office.call("task_complete", role="dev", result="done", summary="My work")

    assert answer["error"]["code"] == "conflict"
    assert "stop working" in answer["error"]["hint"]
    assert office.states(issue) == (to,)
    assert not office.seat("dev").active
    assert "My work" in office.comments(issue)[-1]


def test_a_beaten_report_without_words_leaves_a_comment_all_the_same(office: Office) -> None:
    issue = office.doing()
    office.tracker.human_moves(issue, State.PLANNING)

    answer = office.call("task_complete", role="dev", result="done")

    assert "comment" in answer["error"]["hint"]
    assert "done, attempt 1" in office.comments(issue)[-1]


@pytest.mark.parametrize("number", range(1, 8))
def test_a_human_who_moves_during_a_report_keeps_the_label(office: Office, number: int) -> None:
    issue = office.doing()
    tracker = office.flaky_tracker()
    tracker.before[number] = lambda: office.tracker.human_moves(issue, State.PLANNING)

    answer = office.call("task_complete", role="dev", result="done", summary="My work")

    if len(tracker.calls) >= number:
        assert office.states(issue) == (State.PLANNING,)
        assert answer["error"]["code"] == "conflict"
    assert not office.seat("dev").active
    assert len(office.comments(issue)) == 1


def test_nothing_is_merged_when_a_human_beats_a_pass(office: Office) -> None:
    issue = office.testing()
    office.tracker.human_moves(issue, State.REFINING)

    office.refused("task_complete", role="qa", result="pass")

    assert office.work.repo(office.project).publications == []


def test_the_seat_that_a_conflict_frees_is_filled_again(office: Office) -> None:
    issue = office.doing()
    waits = office.done("task_create", title="Next", pickup=True)["issueId"]
    office.tracker.human_moves(issue, State.PLANNING)

    answer = office.call("task_complete", role="dev", result="done")

    assert answer["error"]["code"] == "conflict"
    assert office.seat("dev").issue == waits


def test_a_report_that_comes_before_the_pickup_has_ended_is_kept(office: Office) -> None:
    """A worker that is faster than its pickup's last rows ends with a free seat, not a busy ghost."""
    answers: list[dict[str, Any]] = []
    accept = office.terminal.worker

    def hasty(name: str, text: str) -> None:
        accept(name, text)
        if text.startswith("task"):
            report = {"role": "dev", "result": "done", "summary": "Quick", "issueId": 1, "attempt": 1}
            answers.append(office.call("task_complete", office.worker(), **report))

    office.terminal.worker = hasty
    issue = office.doing(commits=False)

    assert answers[0]["pending"] is True
    office.done("task_create", title="Anything")
    assert office.states(issue) == (State.TO_TEST,)
    assert not office.seat("dev").active


def test_a_seat_of_the_original_without_an_attempt_can_be_completed(office: Office) -> None:
    issue = office.seed(state=State.DOING)
    seat = Seat(active=True, issue_id=str(issue), model="medior", sessions={"medior": "agent:main:subagent:1"})
    office.change(dev=seat)

    answer = office.done("task_complete", role="dev", result="done", summary="Old work")

    assert answer["attempt"] == 1
    assert office.states(issue) == (State.TO_TEST,)
    assert not office.seat("dev").active


def test_a_worker_must_name_its_attempt(office: Office) -> None:
    issue = office.doing()
    before = office.snapshot()

    answer = office.call("task_complete", office.worker(), role="dev", result="done", issueId=issue)

    assert answer["error"]["code"] == "invalid_arguments"
    assert "task message" in answer["error"]["hint"]
    assert office.snapshot() == before


def test_an_attempt_without_its_issue_means_the_seats(office: Office) -> None:
    issue = office.doing()

    assert office.done("task_complete", role="dev", result="done", attempt=1)["issueId"] == issue


def test_a_busy_project_does_not_lose_a_report(office: Office) -> None:
    issue = office.doing()

    with office.app.store.hold(f"project:{GROUP}", wait_s=1, holder="somebody"):
        answer = office.done("task_complete", role="dev", result="done", summary="Ready")

    assert answer["pending"] is True
    assert "another operation" in answer["reason"]
    office.done("task_create", title="Anything")
    assert office.states(issue) == (State.TO_TEST,)
