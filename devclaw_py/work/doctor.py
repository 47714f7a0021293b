"""What doctor says about git and about a project's repository."""

from __future__ import annotations

import re
from pathlib import Path

from devclaw_py.errors import RepositoryError
from devclaw_py.model.finding import Finding, Severity
from devclaw_py.model.project import Project
from devclaw_py.work import desks, identity, locks
from devclaw_py.work.command import Git
from devclaw_py.work.repo import Repo, Tree, open_repo

# The first with `merge-tree --write-tree`.
NEEDED = (2, 38)


def check(git: Git, project: Project) -> Repo:
    """Open the repository and prove that it can be worked in.

    Raises:
        RepositoryError: git is too old, or the repository is missing, bare, empty or without the base branch.
    """
    version = _version(git)
    if _numbers(version) < NEEDED:
        raise RepositoryError(f"git {version} is too old; install git {'.'.join(map(str, NEEDED))} or newer")
    repo = open_repo(git, project)
    # A new repository has a branch in HEAD and no commit behind it.
    if not repo.run("for-each-ref", "--count=1", asked="look for commits").out and repo.commit("HEAD") is None:
        raise RepositoryError(f"{repo.path} has no commits; make a first one on {project.base_branch}, then call again")
    repo.base()
    return repo


def diagnose(git: Git, project: Project | None) -> list[Finding]:
    """Return one finding about git, and those about the project's repository."""
    try:
        version = _version(git)
    except RepositoryError as error:
        return [Finding(type="git", severity=Severity.CRITICAL, message=str(error), mend="install git")]
    severity = Severity.OK if _numbers(version) >= NEEDED else Severity.CRITICAL
    mend = "" if severity is Severity.OK else f"install git {'.'.join(map(str, NEEDED))} or newer"
    found = [Finding(type="git", severity=severity, message=f"git {version}", mend=mend)]
    return found if project is None or mend else found + _repository(git, project)


def _repository(git: Git, project: Project) -> list[Finding]:
    try:
        repo = check(git, project)
        trees = repo.trees()
        unnamed = not identity.known(repo)
    except RepositoryError as error:
        severity = Severity.UNKNOWN if error.retryable else Severity.CRITICAL
        return [_about(project, "repository", severity, str(error))]

    found = [_about(project, "repository", Severity.OK, f"{repo.path} is usable")]
    if unnamed:
        message = f"git does not know who commits in {repo.path}; merges are made as {identity.NAME}"
        mend = "git config --global user.name and user.email"
        found.append(_about(project, "git_identity", Severity.WARNING, message, mend))
    odd = [*_locks(repo, trees), *_lost(repo, trees)]
    return found + [_about(project, kind, Severity.WARNING, message, mend) for kind, message, mend in odd]


def _about(project: Project, kind: str, severity: Severity, message: str, mend: str = "") -> Finding:
    return Finding(
        type=kind, severity=severity, message=message, mend=mend, project=project.name, group_id=project.group_id
    )


def _locks(repo: Repo, trees: list[Tree]) -> list[tuple[str, str, str]]:
    home = desks.folder(repo.path)
    found: list[tuple[str, str, str]] = []
    for tree in trees:
        ours = tree.path.parent == home
        mend = "the next pickup removes it if no git runs there" if ours else "remove it if no git runs there"
        found += [("git_lock", f"{lock} keeps git from writing in {tree.path}", mend) for lock in locks.left(tree)]
    return found


def _lost(repo: Repo, trees: list[Tree]) -> list[tuple[str, str, str]]:
    """Return the desks whose folder is gone or is something else."""
    home = desks.folder(repo.path)
    known = {tree.path for tree in trees}
    lost = [
        ("desk", f"the folder of the desk {tree.path} was removed", "the next pickup brings it back")
        for tree in trees
        if tree.path.parent == home and not tree.alive
    ]
    strangers = sorted(path for path in _folders(home) if path not in known)
    return lost + [
        ("desk", f"{path} lies among the desks and is no worktree of {repo.path}", "move it away") for path in strangers
    ]


def _folders(home: Path) -> list[Path]:
    return list(home.iterdir()) if home.is_dir() else []


def _version(git: Git) -> str:
    said = git.line(Path("/"), "version", asked="ask git for its version")
    found = re.search(r"\d+(\.\d+)+", said)
    if found is None:
        raise RepositoryError(f"git says {said!r} when asked for its version; install git {NEEDED[0]}.{NEEDED[1]}")
    return found.group()


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2])
