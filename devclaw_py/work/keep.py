"""Keeping a dev's work when it says done: fetch and plain push."""

from __future__ import annotations

from pathlib import Path

from devclaw_py.kernel.proc import Done
from devclaw_py.work import status
from devclaw_py.work.base import Kept
from devclaw_py.work.command import first_line, later
from devclaw_py.work.repo import REMOTE, Repo, Tree

SHOWN = 5

# What git exits with when it could not talk to the remote; a refusal by the remote or by a hook is 1.
FATAL = 128


def keep(repo: Repo, desk: Path, branch: str) -> Kept:
    """Push the branch where there is a remote and say what is odd about it; see the port."""
    commit = repo.head(branch)
    if commit is None:
        return Kept(commit=None, warnings=(f"the branch {branch} does not exist; there is no work to keep",))

    warnings = _warnings(repo, desk, branch, commit)
    remote = _remote(repo, branch)
    if remote is None:
        return Kept(commit=commit, warnings=warnings)
    _talk(repo, "fetch", "--quiet", "--no-recurse-submodules", remote)
    done = _talk(repo, "push", "--porcelain", "--no-follow-tags", "--recurse-submodules=no", remote, _refspec(branch))
    if done.code:
        return Kept(commit=commit, warnings=(*warnings, _refusal(done, branch, remote)))
    return Kept(commit=commit, pushed=True, warnings=warnings)


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


def _remote(repo: Repo, branch: str) -> str | None:
    """Return the branch's own remote, else origin, else None."""
    known = repo.run("remote", asked="list the remotes").out.split()
    asked = f"ask where {branch} is pushed"
    own = repo.run("config", "--get", f"branch.{branch}.remote", asked=asked, codes=(0, 1)).out.strip()
    return next((name for name in (own, REMOTE) if name in known), None)


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
