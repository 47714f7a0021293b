"""autoChain: qa follows dev, a fix follows a failed test, and it ends."""

from __future__ import annotations

import pytest

from devclaw_py.model.caller import HEARTBEAT
from devclaw_py.model.pipeline import State
from devclaw_py.model.settings import LimitSettings, Settings
from devclaw_py.night.heartbeat import tick
from devclaw_py.rules.schedule import FIRST_PAUSE_S
from tests.conftest import Office, make_office


@pytest.fixture
def chained(office: Office) -> Office:
    """An office whose project chains."""
    office.change(auto_chain=True)
    return office


def test_qa_follows_dev(chained: Office) -> None:
    issue = chained.doing()

    answer = chained.done("task_complete", role="dev", result="done")

    assert answer["autoChain"]["dispatched"] is True
    assert (answer["autoChain"]["role"], answer["autoChain"]["model"]) == ("qa", "qa")
    assert chained.states(issue) == (State.TESTING,)
    assert "nextAction" not in answer
    assert answer["announcement"].endswith("\n🔍 Spawning QA (qa) for #1: Add a footer")


def test_dev_follows_a_failed_test_with_the_same_tier_and_the_reason(chained: Office) -> None:
    issue = chained.doing(model="senior")
    chained.done("task_complete", role="dev", result="done")

    answer = chained.done("task_complete", role="qa", result="fail", summary="The year is wrong")

    assert (answer["autoChain"]["model"], answer["autoChain"]["sessionAction"]) == ("senior", "send")
    assert chained.states(issue) == (State.DOING,)
    assert "The year is wrong" in chained.task_file("shop-dev-senior")


def test_a_fail_that_a_conflict_made_tells_dev_the_paths(chained: Office) -> None:
    issue = chained.testing()
    chained.work.repo(chained.project).conflicts[chained.branch(issue)] = ("src/footer.py",)

    answer = chained.done("task_complete", role="qa", result="pass")

    assert answer["autoChain"]["dispatched"] is True
    assert "src/footer.py" in chained.task_file()


@pytest.mark.parametrize(("role", "result"), [("dev", "blocked"), ("qa", "pass"), ("qa", "refine"), ("qa", "blocked")])
def test_nothing_follows_the_other_results(chained: Office, role: str, result: str) -> None:
    chained.doing() if role == "dev" else chained.testing()

    answer = chained.done("task_complete", role=role, result=result, summary="So it is")

    assert not {"autoChain", "nextAction", "followed"} & set(answer)
    assert chained.app.store.journal.wishes() == []


def test_without_chaining_the_next_step_is_named(office: Office) -> None:
    office.doing()

    answer = office.done("task_complete", role="dev", result="done")

    assert answer["nextAction"] == "qa_pickup"
    assert not office.seat("qa").active


def test_a_busy_qa_does_not_touch_the_completion(chained: Office) -> None:
    chained.done("task_pickup", issueId=chained.seed("Earlier", State.TO_TEST), role="qa")
    issue = chained.doing("Later")

    answer = chained.done("task_complete", role="dev", result="done")

    assert (answer["autoChain"]["dispatched"], answer["autoChain"]["waiting"]) == (False, True)
    assert "already holds #1" in answer["autoChain"]["reason"]
    assert "⏳ QA follows later" in answer["announcement"]
    assert chained.states(issue) == (State.TO_TEST,)
    assert chained.seat("qa").issue == 1


def test_what_waits_for_qa_follows_when_qa_is_free(chained: Office) -> None:
    chained.done("task_pickup", issueId=chained.seed("Earlier", State.TO_TEST), role="qa")
    issue = chained.doing("Later")
    chained.done("task_complete", role="dev", result="done")

    answer = chained.done("task_complete", role="qa", result="refine", summary="Unclear")

    assert [follow["issueId"] for follow in answer["followed"]] == [issue]
    assert chained.states(issue) == (State.TESTING,)


def test_a_chained_pickup_that_fails_leaves_the_completion_and_waits(chained: Office) -> None:
    issue = chained.doing()
    chained.agent.accepts = False

    answer = chained.done("task_complete", role="dev", result="done")

    assert (answer["autoChain"]["dispatched"], answer["autoChain"]["waiting"]) == (False, True)
    assert chained.states(issue) == (State.TO_TEST,)
    chained.agent.accepts = True
    chained.clock.sleep(FIRST_PAUSE_S)
    chained.done("task_create", title="Anything")
    assert chained.states(issue) == (State.TESTING,)


def test_a_loop_of_failures_ends_at_the_limit(tmp_path_factory: pytest.TempPathFactory) -> None:
    office = make_office(tmp_path_factory.mktemp("loop"), settings=Settings(limits=LimitSettings(attempts=2)))
    office.change(auto_chain=True)
    issue = office.doing()
    rounds = 1
    while office.seat("dev").active:
        assert rounds <= 2
        office.done("task_complete", role="dev", result="done", summary=f"Round {rounds}")
        answer = office.done("task_complete", role="qa", result="fail", summary=f"Still wrong {rounds}")
        rounds += 1

    assert answer["nextAction"] == "dev_fix"
    assert "has had 2 dev attempts" in answer["announcement"]
    assert office.states(issue) == (State.TO_IMPROVE,)


def test_a_person_goes_on_after_the_limit(tmp_path_factory: pytest.TempPathFactory) -> None:
    office = make_office(tmp_path_factory.mktemp("loop"), settings=Settings(limits=LimitSettings(attempts=1)))
    office.change(auto_chain=True)
    issue = office.doing()
    office.done("task_complete", role="dev", result="done")
    office.done("task_complete", role="qa", result="fail", summary="No")

    office.done("task_pickup", issueId=issue, role="dev")


def test_a_chained_pickup_is_one_of_the_chain_in_the_log(chained: Office) -> None:
    chained.doing()
    chained.done("task_complete", role="dev", result="done")

    assert [line["caller"] for line in chained.lines("task_pickup")] == ["human", "chain"]


def test_sequential_roles_follow_each_other(chained: Office) -> None:
    chained.done("project_update", roleExecution="sequential")
    issue = chained.doing()

    chained.done("task_complete", role="dev", result="done")

    assert chained.seat("qa").issue == issue
    assert not chained.seat("dev").active


def test_blocked_test_runs_do_not_use_up_the_attempts(office: Office) -> None:
    issue = office.testing()
    for _ in range(office.app.settings.limits.attempts):
        office.done("task_complete", role="qa", result="blocked", summary="no machine")
        office.done("task_update", issueId=issue, state="To Test")

        assert office.call("task_pickup", HEARTBEAT, issueId=issue, role="qa")["success"]


def test_what_the_heartbeat_picks_up_carries_its_name(office: Office) -> None:
    office.doing()
    office.done("task_create", title="Next", pickup=True)
    office.change(dev=office.seat("dev").release())

    tick(office.app)

    assert office.lines("task_pickup")[-1]["caller"] == "heartbeat"
