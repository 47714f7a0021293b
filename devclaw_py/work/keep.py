"""What goes over the wire: a dev's work is fetched and plainly pushed, the base branch follows the remote's."""

from __future__ import annotations

from pathlib import Path

from devclaw_py.errors import RepositoryError
from devclaw_py.kernel.proc import Done
from devclaw_py.work import status
from devclaw_py.work.base import Kept, MergeKind, MergePlan, Remotes
from devclaw_py.work.command import first_line, later
from devclaw_py.work.merge import Merger
from devclaw_py.work.repo import REMOTE, Repo, Tree

SHOWN = 5

# What git exits with when it could not talk to the remote; a refusal by the remote or by a hook is 1.
FATAL = 128


def keep(repo: Repo, desk: Path, branch: str, *, remote: str | None = None) -> Kept:
    """Push the branch where there is a remote and say what is odd about it; see the port."""
    commit = repo.head(branch)
    warnings = () if commit is None else _warnings(repo, desk, branch, commit)
    pushed = push(repo, branch, remote=remote)
    return pushed.model_copy(update={"warnings": (*warnings, *pushed.warnings)})


def push(repo: Repo, branch: str, *, remote: str | None = None) -> Kept:
    """Push the branch to ``remote``, else to its own one, else to origin; see the port."""
    commit = repo.head(branch)
    if commit is None:
        return Kept(commit=None, warnings=(f"the branch {branch} does not exist; there is no work to keep",))
    remote = _remote(repo, branch, remote)
    if remote is None:
        return Kept(commit=commit)
    _talk(repo, "fetch", "--quiet", "--no-recurse-submodules", remote)
    done = _talk(repo, "push", "--porcelain", "--no-follow-tags", "--recurse-submodules=no", remote, _refspec(branch))
    if done.code:
        return Kept(commit=commit, warnings=(_refusal(done, branch, remote),))
    return Kept(commit=commit, pushed=True)


def follow(repo: Repo, *, remote: str | None = None) -> str:
    """Bring the base branch to where the remote has it, forward only; see the port."""
    name = repo.base_branch
    remote = _remote(repo, name, remote)
    if remote is None:
        return ""
    _talk(repo, "fetch", "--quiet", "--no-recurse-submodules", remote)
    here, there = repo.head(name), repo.commit(f"refs/remotes/{remote}/{name}")
    if here is None or there is None or repo.contains(here, there):
        return ""
    if not repo.contains(there, here):
        return f"{name} has commits that {remote} does not have, so it was not brought forward; push or move them"
    merger = Merger(repo)
    waits = merger.waiting(here, there)
    if waits is not None:
        return f"{name} was not brought forward: {waits.reason}"
    try:
        merger.publish(MergePlan(kind=MergeKind.CLEAN, base=here, commit=there))
    except RepositoryError as error:
        return f"{name} was not brought forward: {error}"
    return ""


def remotes(repo: Repo) -> Remotes:
    """Return the repository's remotes; see the port."""
    names = repo.run("remote", asked="list the remotes").out.split()
    # get-url, not the configuration: it applies url.<base>.insteadOf.
    found = {name: repo.run("remote", "get-url", name, asked=f"read the address of {name}").out for name in names}
    head = repo.run("symbolic-ref", "--short", "-q", "HEAD", asked="read the branch", codes=(0, 1)).out.strip()
    asked = f"ask which remote {head} follows"
    tracked = (
        repo.run("config", "--get", f"branch.{head}.remote", asked=asked, codes=(0, 1)).out.strip() if head else ""
    )
    known = tracked if tracked in found else None
    return Remotes(addresses={name: address.strip() for name, address in found.items()}, tracked=known)


def _refspec(branch: str) -> str:
    return f"refs/heads/{branch}:refs/heads/{branch}"


def _warnings(repo: Repo, desk: Path, branch: str, commit: str) -> tuple[str, ...]:
    found = [f"{branch} has no commit over {repo.base_branch}"] if repo.contains(repo.base(), commit) else []
    tree = next((tree for tree in repo.trees() if tree.path == desk and tree.alive), None)
    if tree is None:
        return (*found, f"the desk {desk} does not exist")
    return (*found, *_desk_warnings(repo, tree, branch))


def _desk_warnings(repo: Repo, tree: Tree, branch: str) -> list[str]:
    found = [f"the desk {tree.path} has a half-done {name}" for name, _ in tree.half_done()]
    if tree.branch != branch:
        found.append(f"the desk {tree.path} stands on {tree.branch or tree.head[:12]}, not on {branch}")
    if dirty := status.read(repo.git, tree.path).dirty:
        more = f" and {len(dirty) - SHOWN} more" if len(dirty) > SHOWN else ""
        found.append(f"the desk {tree.path} has uncommitted changes: {', '.join(dirty[:SHOWN])}{more}")
    return found


def _remote(repo: Repo, branch: str, wanted: str | None) -> str | None:
    """Return the wanted remote, else the branch's own one, else origin, else None."""
    known = repo.run("remote", asked="list the remotes").out.split()
    return next((name for name in (wanted, _own(repo, branch), REMOTE) if name in known), None)


def _own(repo: Repo, branch: str) -> str:
    """Return the remote that a branch is set to follow, or an empty text."""
    asked = f"ask where {branch} is pushed"
    return repo.run("config", "--get", f"branch.{branch}.remote", asked=asked, codes=(0, 1)).out.strip()


def _talk(repo: Repo, *args: str) -> Done:
    """Run a command against the remote.

    Without the project's lock: a credential daemon that git starts would keep it for minutes. A push that outlives
    this process does no harm, since the same one is made again and neither is forced.
    """
    asked = f"{args[0]} with the remote of {repo.path}"
    done = repo.git.run(repo.path, *args, asked=asked, codes=range(256), with_locks=False)
    if done.code == FATAL or (args[0] == "fetch" and done.code):
        raise later(f"{asked}: {first_line(done.err)}; nothing was removed; the same call goes on once it answers")
    return done


def _refusal(done: Done, branch: str, remote: str) -> str:
    """Say why a push was not accepted, in the remote's words where it gave any."""
    rejected = [line.split("\t")[-1] for line in done.out.splitlines() if line.startswith("!")]
    return f"{branch} was not pushed to {remote}: {(rejected or [first_line(done.err)])[0]}; it is kept here"
