"""Integration of work on a forge: a request for the branch at DEV's done, its merge at QA's pass.

`rules.requests` decides, this module asks and acts. A request is looked for before it is opened, and the merge names
the tested commit, so that each of them may be made again after a lost answer.
"""

from __future__ import annotations

from devclaw_py.app import App
from devclaw_py.errors import RepositoryError, TrackerDenied
from devclaw_py.model.journal import Intent
from devclaw_py.model.pipeline import Integration, Result, Role
from devclaw_py.model.request import Request, RequestState
from devclaw_py.operations.reports import branch_of, is_conflict, result_of, turned, warned
from devclaw_py.operations.shared import attempt_of, project_of, source_of
from devclaw_py.operations.steps import Waits
from devclaw_py.rules.requests import Course, Verdict, judge, request_body, request_title
from devclaw_py.trackers.requests import NotMerged, RequestProvider
from devclaw_py.work.base import MergeKind


def merged_by_worker(app: App, intent: Intent) -> Request | None:
    """Return the request that a worker has merged by itself, where workers do: its branch is not pushed again.

    One that was noted at an earlier done is of an earlier round.
    """
    project = project_of(app, intent)
    requests = app.open_requests(project)
    if requests is None or project.integration is not Integration.WORKER:
        return None
    found = requests.find(branch_of(app, intent))
    if found is None or found.state is not RequestState.MERGED or found.number == _own_number(app, intent):
        return None
    return found


def ensure_request(app: App, intent: Intent) -> Intent:
    """See that the pushed branch of a DEV who is done has a request; what hinders it is a warning."""
    requests = app.open_requests(project_of(app, intent))
    if requests is None or result_of(intent) is not Result.DONE or "request" in intent.payload:
        return intent
    commit, branch = intent.payload.get("commit"), branch_of(app, intent)
    if commit is None or not intent.payload.get("pushed"):
        return warned(intent, f"{branch} was not pushed, so no request was opened for it")

    found = requests.find(branch)
    if found is not None and found.state is not RequestState.OPEN and found.head == commit:
        intent = _noted(intent, found)
        ended = f"{found.url} of this very commit is {found.state} already; no other request was opened"
        return warned(intent, ended)
    if found is None or found.state is not RequestState.OPEN:
        try:
            found = _open(app, requests, intent, branch)
        except TrackerDenied as denied:
            return warned(intent, f"no request was opened for {branch}: {denied}")
    return _noted(intent, found)


def plan_request(app: App, intent: Intent, requests: RequestProvider) -> Intent:
    """Decide what becomes of a pass, and note the merge that is to be made.

    Raises:
        Waits: checks, a review or a person come first.
    """
    tested, branch = attempt_of(app, intent).commit, branch_of(app, intent)
    if tested is None:
        return warned(intent, f"devclaw does not know which commit was tested: {branch} was not merged")

    request = requests.find(branch)
    verdict = _verdict(app, intent, request, tested)
    if verdict.course in (Course.OPEN, Course.PUSH):
        if (settled := _unmergeable(app, intent, branch, tested)) is not None:
            return settled
        request = _brought_up(app, intent, requests, request)
        verdict = _verdict(app, intent, request, tested)
        if verdict.course is Course.PUSH:
            return turned(intent, Result.FAIL, f"there are commits that were not tested: {verdict.reason}")
        if verdict.course is Course.MERGE:
            # Checks begin some seconds after a push: that there are none yet does not mean that there are none.
            raise Waits(f"the checks of {request.url} may only begin now")
    assert request is not None
    return _planned(app, _noted(intent, request), request, verdict)


def _verdict(app: App, intent: Intent, request: Request | None, tested: str) -> Verdict:
    project = project_of(app, intent)
    return judge(request, tested=tested, own=_own_number(app, intent), integration=project.integration)


def _own_number(app: App, intent: Intent) -> int | None:
    """Return the number of the request that was noted when DEV said done, or by an earlier try of this report."""
    tries = reversed(app.store.journal.attempts(intent.group_id, intent.issue))
    outcome = next((a.outcome for a in tries if a.role is Role.DEV and a.outcome is not None), None) or {}
    noted = intent.payload.get("request") or outcome.get("request") or {}
    number = noted.get("number")
    return number if isinstance(number, int) else None


def _unmergeable(app: App, intent: Intent, branch: str, tested: str) -> Intent | None:
    """Return how the report ends where the branch itself has nothing to merge, or something that was not tested."""
    odd = app.work.unmergeable(project_of(app, intent), branch=branch, tested=tested)
    if odd is None:
        return None
    return intent.knowing(merge=None) if odd.kind is MergeKind.NOTHING else turned(intent, Result.FAIL, odd.reason)


def _brought_up(app: App, intent: Intent, requests: RequestProvider, request: Request | None) -> Request:
    """Push the branch and see that it has an open request.

    Raises:
        Waits: the remote or the forge refuses.
    """
    branch = branch_of(app, intent)
    pushed = app.work.push(project_of(app, intent), branch=branch)
    found = requests.find(branch)
    if found is not None and found.state is RequestState.OPEN:
        return found
    if not pushed.pushed:
        raise Waits(f"{branch} has no request, and was not pushed: {'; '.join(pushed.warnings) or 'no remote'}")
    try:
        return _open(app, requests, intent, branch)
    except TrackerDenied as denied:
        raise Waits(f"{branch} has no request, and none could be opened: {denied}") from denied


def _open(app: App, requests: RequestProvider, intent: Intent, branch: str) -> Request:
    issue, _ = source_of(intent)
    return requests.open(
        branch=branch,
        base=project_of(app, intent).base_branch,
        title=request_title(issue, intent.payload["title"]),
        body=request_body(issue, intent.payload.get("summary", "") if result_of(intent) is Result.DONE else ""),
    )


def _noted(intent: Intent, request: Request) -> Intent:
    return intent.knowing(request={"number": request.number, "url": request.url})


def _planned(app: App, intent: Intent, request: Request, verdict: Verdict) -> Intent:
    if verdict.course is Course.FAIL:
        return turned(intent, Result.FAIL, verdict.reason)
    if verdict.course is Course.REFINE:
        return turned(intent, Result.REFINE, verdict.reason)
    if verdict.course is Course.DONE:
        return _merged(app, intent, request)
    if verdict.course is Course.WAIT:
        raise Waits(verdict.reason, hint="devclaw recover looks at once")
    return intent.knowing(merge={"number": request.number, "head": request.head})


def merge_request(app: App, intent: Intent, requests: RequestProvider) -> Intent:
    """Let the forge merge the request at the tested commit; what has changed since the plan is planned again.

    Raises:
        Waits: the forge refuses, although nothing is in the way as far as it says.
    """
    if intent.tries and intent.payload.get("merge") is not None:
        intent = plan_request(app, intent, requests)  # time has passed since the plan
    planned = intent.payload.get("merge")
    if planned is None or is_conflict(intent):
        return intent
    try:
        return _merged(app, intent, requests.merge(planned["number"], head=planned["head"]))
    except NotMerged as refused:
        again = plan_request(app, intent.knowing(merge=None), requests)
        if again.payload.get("merge") is None:
            return again
        raise Waits(str(refused)) from refused


def request_merged(app: App, intent: Intent, requests: RequestProvider) -> Intent | None:
    """Say whether the planned merge happened, whoever made it."""
    planned = intent.payload.get("merge")
    if planned is None or is_conflict(intent):
        return None  # nothing is planned, and doing nothing again does no harm
    found = requests.find(branch_of(app, intent))
    if found is None or (found.number, found.state) != (planned["number"], RequestState.MERGED):
        return None
    return _merged(app, intent, found)


def _merged(app: App, intent: Intent, request: Request) -> Intent:
    """Note the merge, and let the base branch here follow the forge's."""
    try:
        behind = app.work.follow(project_of(app, intent))
    except RepositoryError as error:
        behind = str(error)
    tested = attempt_of(app, intent).commit
    other = "" if request.head == tested else f"{request.url} was merged at {request.head[:12]}, which was not tested"
    return warned(intent.knowing(merge=None, mergedAs=request.merged_as or request.head), other, behind)
