"""Everything devclaw raises on purpose.

DevClawError
    Refused                     understood, not done, nothing changed (exit 2)
        InvalidArguments
            UnknownTask
                TransferredTask
        UnknownProject
        AlreadyRegistered
        WrongState
            AttemptsUsedUp
        RoleMismatch
        WorkerBusy
        NotActive
        StaleAttempt
        IssueClaimed
        UnknownTier
        QueueEmpty
        NotAllowed
        Conflict
    ProjectBusy                 another operation holds the project (exit 3)
    Outside                     something devclaw depends on failed (exit 3)
        TrackerError
            TrackerUnavailable
            RateLimited
            TrackerAuth
                NoCredentials
            TrackerDenied
                CommentRefused
        SessionError
            SessionFailed
            DeliveryUnconfirmed
            UsageLimited
    Broken                      the workspace or the repository needs mending (exit 4)
        ConfigError
            RepositoryError
        StateCorrupt
    Internal                    a bug (exit 1)

``code`` is stable and read by programs; the message is for people and says what was asked, what was found and what
to do next.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime


class DevClawError(Exception):
    """Base class: catch it to catch every failure devclaw means to raise.

    ``hint`` names the next step in a few words; ``retryable`` says whether the same call may succeed later unchanged.
    """

    code = "internal"
    exit_code = 1
    retryable = False

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        self.hint = hint
        super().__init__(message)


class Refused(DevClawError):
    """The request was understood and nothing was changed."""

    code = "invalid_arguments"
    exit_code = 2


class InvalidArguments(Refused):
    """A parameter is missing, unknown or of the wrong form."""


class UnknownTask(InvalidArguments):
    """The tracker has no issue of that number."""

    def __init__(self, issue: int, where: str) -> None:
        self.issue = issue
        super().__init__(f"issue #{issue} does not exist in {where}; queue_status lists the issues that are waiting")


class TransferredTask(UnknownTask):
    """The issue now belongs to another repository, which is none of this project's business."""

    def __init__(self, issue: int, where: str) -> None:
        super().__init__(issue, where)
        self.args = (
            f"issue #{issue} was transferred from {where} to another repository: it is not this project's now",
        )


class UnknownProject(Refused):
    """No project is registered for a chat group."""

    code = "unknown_project"

    def __init__(self, group_id: str, known: Iterable[tuple[str, str]]) -> None:
        self.group_id = group_id
        listed = ", ".join(f"{name} ({group})" for group, name in known) or "none"
        super().__init__(
            f"no project is registered for group {group_id}; registered: {listed}", hint="call project_register first"
        )


class AlreadyRegistered(Refused):
    """The chat group, the repository or the name already belongs to a project."""

    code = "already_registered"


class WrongState(Refused):
    """The task's state label does not allow this step."""

    code = "wrong_state"


class AttemptsUsedUp(WrongState):
    """The task keeps coming back: only a person's pickup goes on with it."""


class RoleMismatch(Refused):
    """The task waits for the other role, or the tier belongs to it."""

    code = "role_mismatch"


class WorkerBusy(Refused):
    """The role's worker already holds a task, or its session is not idle."""

    code = "worker_busy"


class HeldBack(WorkerBusy):
    """Nothing of this is handed out unattended now: its project is paused, its budget used up, or it pauses."""

    retryable = True


class NotActive(Refused):
    """The role holds no task that could be completed."""

    code = "not_active"


class StaleAttempt(Refused):
    """The report belongs to an attempt that has ended or was replaced."""

    code = "stale_attempt"


class IssueClaimed(Refused):
    """An unfinished operation keeps this issue."""

    code = "issue_claimed"
    retryable = True


class UnknownTier(Refused):
    """No such developer tier."""

    code = "unknown_tier"


class QueueEmpty(Refused):
    """No issue waits in the queues of the role."""

    code = "queue_empty"


class NotAllowed(Refused):
    """The caller may not do that."""

    code = "not_allowed"


class Conflict(Refused):
    """Somebody else moved the issue meanwhile; theirs stays."""

    code = "conflict"


class ProjectBusy(DevClawError):
    """Another operation holds the project."""

    code = "project_busy"
    exit_code = 3
    retryable = True


class Outside(DevClawError):
    """Something devclaw depends on failed; the same call may succeed later."""

    code = "session_failed"
    exit_code = 3
    retryable = True


class TrackerError(Outside):
    """The issue tracker failed."""

    code = "tracker_unavailable"


class TrackerUnavailable(TrackerError):
    """The issue tracker could not be reached or did not answer in time."""


class RateLimited(TrackerError):
    """The issue tracker's budget is used up until ``retry_at``."""

    code = "rate_limited"

    def __init__(self, message: str, retry_at: datetime) -> None:
        self.retry_at = retry_at
        super().__init__(message, hint=f"try again at {retry_at.isoformat()}")


class TrackerAuth(TrackerError):
    """The issue tracker does not accept the credentials."""

    code = "tracker_auth"
    retryable = False


class NoCredentials(TrackerAuth):
    """No credentials for the issue tracker were found where this call may look for them."""


class TrackerDenied(TrackerError):
    """The issue tracker understood and refused, or ignored the write."""

    code = "tracker_denied"
    retryable = False


class CommentRefused(TrackerDenied):
    """The issue is there and may be moved, but takes no comments: its conversation is locked."""


class SessionError(Outside):
    """The worker session failed."""


class SessionFailed(SessionError):
    """The session or its terminal could not be started, asked or written to."""


class DeliveryUnconfirmed(SessionError):
    """The worker did not accept the task message in time; the offer is void."""

    code = "delivery_unconfirmed"


class UsageLimited(SessionError):
    """The account of the workers has reached its usage limit, until ``retry_at``."""

    code = "usage_limited"

    def __init__(self, message: str, retry_at: datetime, *, hint: str | None = None) -> None:
        self.retry_at = retry_at
        super().__init__(message, hint=hint)


class Broken(DevClawError):
    """The workspace or the repository needs mending by hand."""

    code = "config_error"
    exit_code = 4


class ConfigError(Broken):
    """A setting, the workspace folder or the repository is not usable as it is."""


class RepositoryError(ConfigError):
    """Git refused or could not answer; nothing was removed."""


class StateCorrupt(Broken):
    """A state file cannot be read; it is never overwritten."""

    code = "state_corrupt"


class Internal(DevClawError):
    """A bug in devclaw."""
