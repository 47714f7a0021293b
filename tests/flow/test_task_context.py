"""task_context: the task again, as its worker was told it."""

from __future__ import annotations

from typing import Any

import pytest

from devclaw_py import catalogue
from devclaw_py.faces.cli.output import present
from devclaw_py.model.caller import HUMAN
from devclaw_py.model.pipeline import Role, State, Tier
from tests.conftest import GROUP, Office


def context(office: Office, **arguments: Any) -> dict[str, Any]:
    """Ask as the dev worker that holds the task."""
    return office.done("task_context", office.worker(), **arguments)


def unfenced(text: str) -> str:
    """Return a task message with its random word taken out."""
    word = text.partition("carry the word ")[2].partition(".")[0]
    assert len(word) == 16
    return text.replace(word, "FENCE")


def test_a_worker_gets_the_message_of_its_task_again(office: Office) -> None:
    office.doing(commits=False)

    assert unfenced(context(office)["task"]) == unfenced(office.task_file())


def test_it_names_the_task_and_where_it_is_worked_on(office: Office) -> None:
    issue = office.doing(commits=False)

    answer = context(office)

    desk = office.app.work.desk(office.project, Role.DEV, Tier.MEDIOR)
    wanted = {
        "issueId": issue,
        "attempt": 1,
        "role": "dev",
        "tier": "medior",
        "branch": office.branch(issue),
        "worktree": str(desk.worktree),
        "commit": office.work.repo(office.project).branches[office.branch(issue)],
    }
    assert {name: answer[name] for name in wanted} == wanted


def test_a_comment_made_since_the_pickup_is_in_it_between_marks(office: Office) -> None:
    issue = office.doing()
    office.done("task_comment", issueId=issue, body="Please use green")

    text = context(office)["task"]

    word = text.partition("carry the word ")[2].partition(".")[0]
    assert "Please use green" in text.partition(f"<<<COMMENT {word}")[2].partition(f"{word} COMMENT>>>")[0]


def test_what_qa_found_is_in_it(office: Office) -> None:
    issue = office.testing()
    office.done("task_complete", role="qa", result="fail", summary="The footer is red")
    office.done("task_pickup", issueId=issue, role="dev", model="medior")

    text = context(office)["task"]

    assert "QA sent this back" in text
    assert "The footer is red" in text
    assert "attempt 3" in text


def test_qa_is_told_its_branch_and_commit_again(office: Office) -> None:
    issue = office.testing()

    answer = office.done("task_context", office.worker("qa", "qa"))

    assert answer["branch"] == office.branch(issue)
    assert (
        f"Branch: {answer['branch']}, checked out detached at the commit to test, {answer['commit']}" in answer["task"]
    )


def test_qa_without_a_branch_is_told_so_again(office: Office) -> None:
    issue = office.seed("Look at it", State.TO_TEST)
    office.done("task_pickup", issueId=issue, role="qa")

    answer = office.done("task_context", office.worker("qa", "qa"))

    assert answer["branch"] is None
    assert "Branch: none to test" in answer["task"]


def test_a_worker_learns_that_its_issue_was_moved(office: Office) -> None:
    issue = office.doing()
    office.tracker.human_moves(issue, "Planning")

    assert "the issue carries Planning now, not Doing: somebody has moved it" in context(office)["task"]


def test_a_worker_without_a_task_is_refused(office: Office) -> None:
    office.doing()
    office.done("task_complete", role="dev", result="done", summary="It stands")

    assert office.refused("task_context", office.worker()) == "not_active"


def test_a_colleague_of_the_same_role_does_not_get_the_task(office: Office) -> None:
    office.doing()

    assert office.refused("task_context", office.worker(tier="senior")) == "not_active"


def test_a_worker_cannot_read_the_issue_of_another(office: Office) -> None:
    office.doing()
    other = office.seed("Secret")

    assert office.refused("task_context", office.worker(), issueId=other) == "not_allowed"


def test_an_earlier_task_is_not_the_current_one(office: Office) -> None:
    first = office.doing()
    office.done("task_complete", role="dev", result="blocked", summary="Which colour?")
    office.doing("Add a header")

    assert office.refused("task_context", office.worker(), issueId=first) == "not_active"


def test_people_name_the_issue(office: Office) -> None:
    issue = office.doing()

    assert office.refused("task_context") == "invalid_arguments"
    assert office.done("task_context", issueId=issue)["attempt"] == 1


def test_people_see_that_an_attempt_has_ended(office: Office) -> None:
    issue = office.doing()
    office.done("task_complete", role="dev", result="blocked", summary="Which colour?")

    assert "this attempt has ended" in office.done("task_context", issueId=issue)["task"]


def test_an_issue_that_nobody_picked_up_has_no_task(office: Office) -> None:
    assert office.refused("task_context", issueId=office.seed()) == "not_active"


def test_it_leaves_one_line_without_the_text(office: Office) -> None:
    office.doing("Add a very special footer", commits=False)
    context(office)

    (line,) = office.lines("task_context")
    assert (line["ok"], line["issue"], line["caller"]) == (True, 1, "worker:shop-dev-medior")
    assert "very special" not in str(line)


def test_it_changes_nothing(office: Office) -> None:
    office.doing()
    before = office.snapshot()

    context(office)

    assert office.snapshot() == before


def test_it_does_not_wait_for_an_operation_that_holds_the_project(office: Office) -> None:
    office.doing()

    with office.app.store.hold(f"project:{GROUP}", wait_s=0, holder="another"):
        assert context(office)["success"]


def test_a_tracker_that_is_down_is_said_so(office: Office) -> None:
    office.doing()
    office.flaky_tracker().fail(1, after_acting=False)

    assert office.refused("task_context", office.worker()) == "tracker_unavailable"


def test_a_terminal_shows_the_text_itself(office: Office, capsys: pytest.CaptureFixture[str]) -> None:
    office.doing()
    answer = catalogue.call(office.app, "task_context", {"projectGroupId": GROUP, "issueId": 1}, HUMAN)

    present(answer, as_json=False)

    assert capsys.readouterr().out.startswith('DEV task for project "shop": issue #1, attempt 1\n')
