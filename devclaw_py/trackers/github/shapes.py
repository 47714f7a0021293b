"""GitHub's JSON, as far as devclaw reads it, and what it becomes. Fields that are not named here are not looked at."""

from __future__ import annotations

from pydantic import AwareDatetime, BaseModel, Field

from devclaw_py.model.task import Comment, LabelEvent, Task
from devclaw_py.rules.labels import same, without
from devclaw_py.trackers.forge.poll import MANAGED

GHOST = "ghost"
"""GitHub's own name for an account that was deleted."""


class RawUser(BaseModel):
    """An account."""

    login: str


class RawLabel(BaseModel):
    """A label of the repository, or on an issue."""

    id: int = 0
    name: str
    color: str = ""


class RawIssue(BaseModel):
    """An issue. In lists pull requests are issues, too; only they have ``pull_request``."""

    number: int
    title: str
    html_url: str = ""
    body: str | None = None
    labels: list[RawLabel] = Field(default_factory=list)
    state: str
    assignees: list[RawUser] | None = None
    created_at: AwareDatetime
    updated_at: AwareDatetime
    pull_request: object = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its labels."""
        return tuple(label.name for label in self.labels)

    @property
    def foreign(self) -> bool:
        """Whether it is a pull request."""
        return self.pull_request is not None

    def task(self) -> Task:
        """Return it as a task; the label that says it is ours is not told."""
        return Task(
            number=self.number,
            title=self.title,
            url=self.html_url,
            body=self.body or "",
            labels=without(self.names, MANAGED),
            closed=self.state == "closed",
            assignees=tuple(user.login for user in self.assignees or ()),
            created=self.created_at,
            updated=self.updated_at,
        )


class RawComment(BaseModel):
    """A comment."""

    id: int
    user: RawUser | None = None
    body: str | None = None
    created_at: AwareDatetime

    def comment(self) -> Comment:
        """Return it as devclaw knows comments."""
        author = self.user.login if self.user else GHOST
        return Comment(id=str(self.id), author=author, body=self.body or "", at=self.created_at)


class RawEvent(BaseModel):
    """One line of an issue's history; of many kinds."""

    event: str
    actor: RawUser | None = None
    label: RawLabel | None = None
    created_at: AwareDatetime

    def label_event(self, login: str) -> LabelEvent | None:
        """Return it if it is about a label that devclaw tells of; ``login`` is devclaw's own account."""
        if self.event not in ("labeled", "unlabeled") or self.label is None or same(self.label.name, MANAGED):
            return None
        actor = self.actor.login if self.actor else GHOST
        return LabelEvent(
            label=self.label.name,
            added=self.event == "labeled",
            actor=actor,
            ours=same(actor, login),
            at=self.created_at,
        )


class RawPermissions(BaseModel):
    """What the account's role in the repository allows; a fine-grained token may allow less."""

    admin: bool = False
    push: bool = False
    triage: bool = False
    pull: bool = False


class RawRepository(BaseModel):
    """A repository. The merge methods are told to accounts that may push."""

    id: int
    full_name: str
    owner: RawUser
    default_branch: str = "main"
    archived: bool = False
    disabled: bool = False
    has_issues: bool = True
    permissions: RawPermissions | None = None
    allow_merge_commit: bool | None = None
    allow_squash_merge: bool | None = None
    allow_rebase_merge: bool | None = None
