"""task_pickup: from which states, for whom, and nothing left behind when it fails."""

from __future__ import annotations

from typing import Any

import pytest

from devclaw_py.model.pipeline import RoleExecution, State
from tests.conftest import GROUP, Office

ANSWER = {
    "success",
    "project",
    "groupId",
    "issueId",
    "issueTitle",
    "issueUrl",
    "role",
    "model",
    "fullModel",
    "modelReason",
    "modelSource",
    "attempt",
    "sessionAction",
    "sessionKey",
    "labelTransition",
    "branch",
    "commit",
    "announcement",
}


def refuses(office: Office, code: str, **arguments: Any) -> str:
    """Pick up in vain; return the message."""
    before = office.snapshot()
    answer = office.call("task_pickup", **arguments)
    assert not answer["success"], answer
    assert answer["error"]["code"] == code, answer
    assert office.snapshot() == before
    return str(answer["error"]["message"])


def test_a_pickup_answers_with_all_its_fields(office: Office) -> None:
    issue = office.seed()

    answer = office.done("task_pickup", issueId=issue, role="dev", model="medior")

    assert set(answer) == ANSWER
    assert answer["labelTransition"] == "To Do → Doing"
    assert answer["sessionKey"] == "tmux:shop-dev-medior"
    assert answer["fullModel"] == office.app.settings.models.medior
    assert answer["announcement"].startswith("🔧 Spawning DEV (medior) for #1: Add a footer\n🔗 ")


@pytest.mark.parametrize(
    ("state", "role", "target"),
    [
        (State.TO_DO, "dev", State.DOING),
        (State.TO_IMPROVE, "dev", State.DOING),
        (State.TO_TEST, "qa", State.TESTING),
    ],
)
def test_a_pickup_moves_a_queued_issue_and_seats_the_worker(
    office: Office, state: State, role: str, target: State
) -> None:
    issue = office.seed(state=state)

    answer = office.done("task_pickup", issueId=issue, role=role)

    assert office.states(issue) == (target,)
    assert office.seat(role).holds(issue, answer["attempt"])
    assert office.seat(role).previous_state is state
    assert len(office.agent.received) == 1


@pytest.mark.parametrize("role", ["dev", "qa"])
@pytest.mark.parametrize("state", [State.PLANNING, State.DOING, State.TESTING, State.DONE, State.REFINING])
def test_other_states_are_refused_by_name(office: Office, state: State, role: str) -> None:
    message = refuses(office, "wrong_state", issueId=office.seed(state=state), role=role)

    assert f"it is in {state}" in message
    assert ("To Improve or To Do" if role == "dev" else "To Test") in message


@pytest.mark.parametrize(("state", "role"), [(State.TO_DO, "qa"), (State.TO_IMPROVE, "qa"), (State.TO_TEST, "dev")])
def test_the_other_roles_queue_is_a_role_mismatch(office: Office, state: State, role: str) -> None:
    refuses(office, "role_mismatch", issueId=office.seed(state=state), role=role)


def test_an_issue_without_a_state_is_refused(office: Office) -> None:
    assert "no state label" in refuses(office, "wrong_state", issueId=office.seed(state=None), role="dev")


def test_an_issue_with_two_states_is_refused_naming_both(office: Office) -> None:
    issue = office.tracker.seed("Two", labels=["To Do", "Doing"])

    assert "To Do and Doing" in refuses(office, "wrong_state", issueId=issue, role="dev")


def test_a_closed_issue_is_refused(office: Office) -> None:
    assert "closed" in refuses(office, "wrong_state", issueId=office.seed(closed=True), role="dev")


def test_an_issue_without_a_state_can_be_picked_up_when_the_hint_is_followed(office: Office) -> None:
    issue = office.seed(state=None)
    assert "task_update" in office.call("task_pickup", issueId=issue, role="dev")["error"]["hint"]

    office.done("task_update", issueId=issue, state="To Do")

    office.done("task_pickup", issueId=issue, role="dev")


def test_a_closed_issue_can_be_picked_up_when_the_hint_is_followed(office: Office) -> None:
    issue = office.seed(closed=True)
    assert "task_update to To Do" in office.call("task_pickup", issueId=issue, role="dev")["error"]["hint"]

    office.done("task_update", issueId=issue, state="To Do")

    office.done("task_pickup", issueId=issue, role="dev")


def test_an_issue_that_does_not_exist_is_refused(office: Office) -> None:
    assert "#99" in refuses(office, "invalid_arguments", issueId=99, role="dev")


def test_a_busy_worker_is_named_with_its_issue(office: Office) -> None:
    first = office.doing()

    assert f"#{first}" in refuses(office, "worker_busy", issueId=office.seed("Second"), role="dev")


def test_a_worker_whose_session_still_works_is_busy(office: Office) -> None:
    issue = office.doing()
    office.done("task_complete", role="dev", result="done")
    office.agent.working.add("shop-dev-medior")

    refuses(office, "worker_busy", issueId=office.seed("Second"), role="dev", model="medior")
    assert office.states(issue) == (State.TO_TEST,)


def test_qa_may_work_beside_dev(office: Office) -> None:
    office.doing()

    office.done("task_pickup", issueId=office.seed("Test me", State.TO_TEST), role="qa")

    assert office.seat("dev").active
    assert office.seat("qa").active


def test_a_sequential_project_has_one_worker_at_a_time(office: Office) -> None:
    office.change(role_execution=RoleExecution.SEQUENTIAL)
    office.doing()

    message = refuses(office, "worker_busy", issueId=office.seed("Test me", State.TO_TEST), role="qa")
    assert "one role at a time" in message


@pytest.mark.parametrize("word", ["banana", "", "x" * 100_000])
def test_a_word_that_is_no_tier_is_unknown(office: Office, word: str) -> None:
    message = refuses(office, "unknown_tier", issueId=office.seed(), role="dev", model=word)

    assert "junior, medior, senior, qa" in message
    assert len(message) < 500


@pytest.mark.parametrize(("state", "role", "tier"), [(State.TO_TEST, "qa", "senior"), (State.TO_DO, "dev", "qa")])
def test_a_tier_of_the_other_role_is_a_role_mismatch(office: Office, state: State, role: str, tier: str) -> None:
    refuses(office, "role_mismatch", issueId=office.seed(state=state), role=role, model=tier)


def test_improvements_come_before_new_work_and_the_oldest_first(office: Office) -> None:
    for number in range(120):
        office.seed(f"Task {number + 1}")
    office.tracker.human_moves(7, "To Improve")
    office.tracker.human_moves(115, "To Improve")
    picked = []
    for _ in range(4):
        picked.append(office.done("task_pickup", role="dev")["issueId"])
        office.done("task_complete", role="dev", result="blocked", summary="no")

    assert picked == [7, 115, 1, 2]


def test_the_next_issue_is_never_one_that_is_inconsistent_or_closed(office: Office) -> None:
    office.tracker.seed("Two states", labels=["To Do", "Planning"])
    office.seed("Closed", closed=True)
    office.seed("No state", state=None)
    good = office.seed("Good")

    assert office.done("task_pickup", role="dev")["issueId"] == good


def test_an_empty_queue_is_said(office: Office) -> None:
    office.seed(state=State.TO_TEST)

    assert "To Improve and To Do" in refuses(office, "queue_empty", role="dev")


def test_a_kept_issue_is_refused_by_number_and_passed_over_in_the_queue(office: Office) -> None:
    kept, free = office.seed("Kept"), office.seed("Free")
    tracker = office.faulty_tracker()
    tracker.interrupt(4, tracker.down)  # the label is taken, and cannot be put back
    assert office.refused("task_pickup", issueId=kept, role="dev") == "tracker_unavailable"
    tracker.up()

    assert office.refused("task_pickup", issueId=kept, role="dev") == "issue_claimed"
    assert office.done("task_pickup", role="dev")["issueId"] == free


def test_what_could_not_be_put_back_is_put_back_when_its_time_comes(office: Office) -> None:
    issue = office.seed()
    tracker = office.faulty_tracker()
    tracker.interrupt(4, tracker.down)
    office.call("task_pickup", issueId=issue, role="dev")
    tracker.up()
    office.clock.sleep(31)

    answer = office.done("task_pickup", issueId=issue, role="dev")

    assert answer["settled"] == [f"task_pickup of #{issue} was settled"]
    assert office.states(issue) == (State.DOING,)


def test_a_tier_label_chooses_the_worker(office: Office) -> None:
    issue = office.tracker.seed("Fix a typo", labels=["To Do", "Senior"])

    answer = office.done("task_pickup", issueId=issue, role="dev")

    assert (answer["model"], answer["modelSource"]) == ("senior", "label")


def test_the_tier_that_is_given_beats_the_label(office: Office) -> None:
    issue = office.tracker.seed("Fix a typo", labels=["To Do", "senior"])

    assert office.done("task_pickup", issueId=issue, role="dev", model="junior")["model"] == "junior"


def test_a_projects_own_model_is_used(office: Office) -> None:
    office.done("project_update", models={"medior": "anthropic/claude-special"})

    answer = office.done("task_pickup", issueId=office.seed(), role="dev", model="medior")

    assert answer["fullModel"] == "anthropic/claude-special"


def test_labels_that_are_no_states_survive(office: Office) -> None:
    issue = office.tracker.seed("Fix", labels=["bug", "To Do", "P1"])

    office.done("task_pickup", issueId=issue, role="dev")

    assert set(office.tracker.get(issue).labels) == {"bug", "P1", "Doing"}


def test_the_task_message_holds_what_the_worker_needs(office: Office) -> None:
    issue = office.seed("Add a footer", body="With a year")
    office.tracker.human_comments(issue, "And the imprint")

    office.done("task_pickup", issueId=issue, role="dev", model="medior")

    text = office.task_file()
    wanted = ("Add a footer", "With a year", "And the imprint", f"#{issue}", "memory://shop/1", "attempt 1", GROUP)
    assert [word for word in (*wanted, "main", "devclaw call task_complete", "medior") if word not in text] == []


def test_a_session_of_another_workspace_is_not_typed_into(office: Office) -> None:
    issue = office.seed()
    office.terminal.foreign.add("shop-dev-medior")

    refuses(office, "session_failed", issueId=issue, role="dev", model="medior")


def test_work_that_another_task_left_is_rescued_and_said(office: Office) -> None:
    first = office.doing()
    desk = office.work.repo(office.project).desks
    office.work.repo(office.project).edit(next(iter(desk)))
    office.done("task_complete", role="dev", result="blocked", summary="stuck")

    answer = office.done("task_pickup", issueId=office.seed("Second"), role="dev", model="medior")

    assert f"refs/devclaw/rescue/{first}/1-1" in answer["announcement"]
    assert len(office.lines("rescue")) == 1


def test_qa_without_a_branch_is_told_so(office: Office) -> None:
    issue = office.seed(state=State.TO_TEST)

    answer = office.done("task_pickup", issueId=issue, role="qa")

    assert answer["branch"] is None
    assert "none to test" in office.task_file("shop-qa-qa")


def test_a_branch_checked_out_elsewhere_names_the_path(office: Office, tmp_path: Any) -> None:
    issue = office.seed()
    office.work.repo(office.project).foreign[office.branch(issue)] = tmp_path / "mine"

    assert str(tmp_path / "mine") in refuses(office, "config_error", issueId=issue, role="dev")


@pytest.mark.parametrize("named", [True, False], ids=["by-number", "by-queue"])
def test_an_issue_that_an_idle_seat_names_is_not_dispatched(office: Office, named: bool) -> None:
    issue = office.seed()
    office.change(dev=office.seat("dev").model_copy(update={"issue_id": str(issue)}))
    which: dict[str, Any] = {"issueId": issue} if named else {}

    code = office.refused("task_pickup", role="dev", **which)

    assert code == ("wrong_state" if named else "queue_empty")
    assert office.states(issue) == (State.TO_DO,)
