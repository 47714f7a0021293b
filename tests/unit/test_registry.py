"""projects.json: what is kept, what is migrated, what is refused."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devclaw_py.errors import ConfigError, StateCorrupt
from devclaw_py.kernel.clock import VirtualClock
from devclaw_py.model.pipeline import Role, SeatKey, State, Tier
from devclaw_py.model.project import Project
from devclaw_py.model.settings import Settings
from devclaw_py.state.document import parse
from devclaw_py.state.files import FilesStore
from devclaw_py.state.memory import MemoryShelf
from devclaw_py.state.registry import StoredRegistry

GROUP = "-1234567890"

# The example of the original's README.
SEED = """{
  "projects": {
    "-1234567890": {
      "name": "my-webapp",
      "repo": "~/git/my-webapp",
      "groupName": "Dev - My Webapp",
      "baseBranch": "development",
      "autoChain": true,
      "dev": {
        "active": false,
        "issueId": null,
        "model": "medior",
        "sessions": {
          "junior": "agent:orchestrator:subagent:a9e4d078-...",
          "medior": "agent:orchestrator:subagent:b3f5c912-...",
          "senior": null
        }
      },
      "qa": {
        "active": false,
        "issueId": null,
        "model": "qa",
        "sessions": {
          "qa": "agent:orchestrator:subagent:18707821-..."
        }
      }
    }
  }
}
"""


class Workspace:
    def __init__(self, path: Path) -> None:
        self.file = path / "memory/projects.json"
        self.file.parent.mkdir()
        self.registry = FilesStore(path, VirtualClock(), Settings()).registry

    def holds(self, text: str) -> None:
        self.file.write_text(text, encoding="utf-8")

    def entry(self, group: str = GROUP) -> dict[str, Any]:
        entry: dict[str, Any] = json.loads(self.file.read_text(encoding="utf-8"))["projects"][group]
        return entry

    def backups(self) -> dict[str, str]:
        return {path.name: path.read_text() for path in sorted(self.file.parent.glob("*.bak*"))}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def rename(project: Project) -> Project:
    return project.model_copy(update={"group_name": "renamed"})


def test_a_file_of_the_original_loads_unchanged(workspace: Workspace) -> None:
    workspace.holds(SEED)
    project = workspace.registry.get(GROUP)
    assert (project.name, project.slug, project.base_branch, project.auto_chain) == (
        "my-webapp",
        "my-webapp",
        "development",
        True,
    )
    assert project.repo == "~/git/my-webapp"
    assert project.dev.sessions["medior"] == "agent:orchestrator:subagent:b3f5c912-..."
    assert workspace.file.read_text() == SEED


def test_a_write_adds_to_a_file_of_the_original_and_takes_nothing(workspace: Workspace) -> None:
    workspace.holds(SEED)
    workspace.registry.change(GROUP, rename)
    before = json.loads(SEED)["projects"][GROUP]
    assert workspace.entry() == {**before, "groupName": "renamed", "slug": "my-webapp"}
    assert workspace.backups() == {}


def test_a_taken_seat_has_the_originals_fields(workspace: Workspace) -> None:
    workspace.holds(SEED)
    at = datetime(2026, 2, 8, 10, 30, tzinfo=UTC)
    workspace.registry.change(
        GROUP,
        lambda found: found.with_seat(
            SeatKey(Role.DEV),
            found.dev.take(42, tier=Tier.SENIOR, session="s", attempt=1, previous_state=State.TO_DO, at=at),
        ),
    )
    seat = workspace.entry()["dev"]
    assert (seat["active"], seat["issueId"], seat["model"]) == (True, "42", "senior")
    assert seat["startTime"] == "2026-02-08T10:30:00Z"
    assert seat["sessions"]["senior"] == "tmux:s"


def test_unknown_fields_survive_at_every_level(workspace: Workspace) -> None:
    content = json.loads(SEED)
    content["version"] = {"a": [1, None]}
    content["projects"][GROUP] |= {"theirs": {"x": 1.5}, "nothing": None}
    content["projects"][GROUP]["dev"]["mood"] = "good"
    workspace.holds(json.dumps(content))
    workspace.registry.change(GROUP, rename)
    workspace.registry.add(Project(group_id="-2", name="b", repo="/b"))
    workspace.registry.remove("-2")
    found = json.loads(workspace.file.read_text())
    assert found["version"] == {"a": [1, None]}
    assert (found["projects"][GROUP]["theirs"], found["projects"][GROUP]["nothing"]) == ({"x": 1.5}, None)
    assert found["projects"][GROUP]["dev"]["mood"] == "good"


def test_the_text_of_other_projects_is_not_written_anew(workspace: Workspace) -> None:
    theirs = (
        '"-5":   {"name":"b", "slug":"b",\n "repo":"/b","autoChain":false,"dev":{"sessions":{}},"qa":{"sessions":{}}}'
    )
    workspace.holds('{ "first" :1, "projects":{' + theirs + '}, "last": 2 }')
    workspace.registry.add(Project(group_id="-6", name="c", repo="/c"))
    text = workspace.file.read_text()
    assert theirs in text
    assert text.startswith('{ "first" :1, "projects":{')
    assert text.endswith('}, "last": 2 }')


def test_a_new_project_has_the_originals_fields(workspace: Workspace) -> None:
    workspace.registry.add(Project(group_id=GROUP, name="b", repo="~/b"))
    entry = workspace.entry()
    assert {"name", "repo", "groupName", "baseBranch", "deployBranch", "deployUrl", "autoChain"} < entry.keys()
    assert entry["dev"]["sessions"] == {"junior": None, "medior": None, "senior": None}
    assert entry["qa"]["sessions"] == {"qa": None}
    assert "groupId" not in entry


def test_nulls_read_as_what_is_not_set(workspace: Workspace) -> None:
    content = json.loads(SEED)
    content["projects"][GROUP] |= {"deployUrl": None, "roleExecution": None}
    workspace.holds(json.dumps(content))
    assert workspace.registry.get(GROUP).deploy_url == ""


OLD = {
    "name": "web",
    "repo": "~/web",
    "dev": {"active": True, "issueId": "7", "sessionId": "key-1", "model": "sonnet"},
}


class TestMigrations:
    def test_reading_an_older_form_writes_nothing(self, workspace: Workspace) -> None:
        text = json.dumps({"projects": {GROUP: OLD}})
        workspace.holds(text)
        project = workspace.registry.get(GROUP)
        assert (project.dev.tier, project.dev.sessions["medior"], project.dev.issue) == (Tier.MEDIOR, "key-1", 7)
        assert workspace.file.read_text() == text
        assert workspace.backups() == {}

    def test_the_first_write_migrates_and_backs_the_old_text_up_once(self, workspace: Workspace) -> None:
        text = json.dumps({"projects": {GROUP: OLD}})
        workspace.holds(text)
        workspace.registry.change(GROUP, rename)
        workspace.registry.change(GROUP, rename)
        assert workspace.backups() == {"projects.json.bak-1": text}
        entry = workspace.entry()
        assert entry["dev"]["sessions"] == {"junior": None, "medior": "key-1", "senior": None}
        assert (entry["autoChain"], entry["qa"]["active"], "sessionId" in entry["dev"]) == (False, False, False)

    def test_a_second_migration_gets_the_next_number(self, workspace: Workspace) -> None:
        for _ in range(2):
            workspace.holds(json.dumps({"projects": {GROUP: OLD}}))
            workspace.registry.change(GROUP, rename)
        assert list(workspace.backups()) == ["projects.json.bak-1", "projects.json.bak-2"]

    def test_the_1_6_form_gets_the_channel_as_its_key(self, workspace: Workspace) -> None:
        slot = {
            "active": True,
            "issueId": "9",
            "sessionKey": "k9",
            "startTime": "2026-02-20T10:00:00.000Z",
            "previousLabel": "To Improve",
            "name": "Ada",
        }
        entry = {
            "slug": "web",
            "name": "web",
            "repo": "~/web",
            "repoRemote": "git@x:web.git",
            "baseBranch": "main",
            "channels": [{"channelId": "12@g.us", "channel": "whatsapp", "name": "primary", "events": ["*"]}],
            "workers": {
                "developer": {"levels": {"medior": [{"active": False, "sessionKey": "k1"}], "senior": [slot]}},
                "tester": {"levels": {"medior": [{"active": False, "issueId": None, "sessionKey": "q1"}]}},
                "architect": {"levels": {"senior": []}},
            },
        }
        workspace.holds(json.dumps({"projects": {"web": entry}}))
        workspace.registry.change("12@g.us", rename)
        project = workspace.registry.get("12@g.us")
        assert project.channel == "whatsapp"
        assert (project.dev.issue, project.dev.tier, project.dev.previous_state) == (9, Tier.SENIOR, State.TO_IMPROVE)
        assert project.dev.sessions == {"junior": None, "medior": "k1", "senior": "k9"}
        assert project.qa.sessions == {"qa": "q1"}
        assert (workspace.entry("12@g.us")["repoRemote"], len(workspace.backups())) == ("git@x:web.git", 1)
        assert workspace.entry("12@g.us")["otherWorkers"] == {"architect": {"levels": {"senior": []}}}


class TestRefusals:
    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("", "line 1, column 1"),
            ('{\n  "projects": {,}\n}', "line 2, column 16"),
            ('{"projects": {}', "line 1, column 16"),
            ('{"projects": {}} x', "line 1, column 18"),
            ("[]", "the file should be an object, found list"),
            ("{}", "projects should be an object, found nothing"),
            ('{"projects": [1]}', "projects should be an object, found list"),
            ('{"projects": {"-1": 5}}', "projects.-1 should be an object, found int '5'"),
            ('{"projects": {"-1": {"repo": "/r"}}}', "projects.-1.name should be"),
            ('{"projects": {"-1": {"name": "a", "repo": "/r", "dev": {"active": "?"}}}}', "projects.-1.dev.active"),
            ('{"projects": {"-1": {"name": "a", "repo": "/r", "dev": 3}}}', "projects.-1.dev should be"),
            ('{"projects": ' + "[" * 100_000, "recursion"),
        ],
    )
    def test_what_is_no_registry_is_named_and_never_overwritten(
        self, workspace: Workspace, text: str, said: str
    ) -> None:
        workspace.holds(text)
        with pytest.raises(StateCorrupt) as caught:
            workspace.registry.all()
        assert said in str(caught.value)
        assert str(workspace.file) in str(caught.value)
        with pytest.raises(StateCorrupt):
            workspace.registry.change("-1", rename)
        assert workspace.file.read_text() == text

    def test_bytes_that_are_no_utf_8_are_placed(self, workspace: Workspace) -> None:
        workspace.file.write_bytes(b'{\n "\xff": 1}')
        with pytest.raises(StateCorrupt, match="line 2, column 3: not UTF-8"):
            workspace.registry.all()

    def test_a_broken_entry_does_not_hide_the_others(self, workspace: Workspace) -> None:
        content = json.loads(SEED)
        content["projects"]["-2"] = {"name": 5}
        workspace.holds(json.dumps(content))
        assert workspace.registry.get(GROUP).name == "my-webapp"

    def test_a_folder_in_the_files_place_is_a_config_error(self, workspace: Workspace) -> None:
        workspace.file.mkdir()
        with pytest.raises(ConfigError, match=r"projects\.json could not be read"):
            workspace.registry.all()


def test_a_change_by_another_process_is_seen(workspace: Workspace) -> None:
    workspace.holds(SEED)
    workspace.registry.get(GROUP)
    workspace.holds(SEED.replace("my-webapp", "my-webabb"))
    assert workspace.registry.get(GROUP).name == "my-webabb"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
OBJECT = st.dictionaries(st.text(), JSON, max_size=4)
KNOWN = {*json.loads(SEED)["projects"][GROUP], *Project.model_fields, "workers", "slug", "channels"}
FOREIGN = st.dictionaries(st.text().map(lambda key: f"x-{key}"), JSON, max_size=4)


@given(file=FOREIGN, entry=FOREIGN, seat=FOREIGN, other=FOREIGN, indent=st.sampled_from([None, 0, 2, 7]))
def test_whatever_stands_beside_the_known_fields_is_kept(
    file: dict[str, Any], entry: dict[str, Any], seat: dict[str, Any], other: dict[str, Any], indent: int | None
) -> None:
    seed = json.loads(SEED)["projects"][GROUP]
    mine = {**entry, **seed, "slug": "web", "dev": {**seat, **seed["dev"]}}
    content = {**file, "projects": {GROUP: mine, "-2": {**seed, **other, "slug": "other"}}}
    shelf = MemoryShelf()
    shelf.write(json.dumps(content, indent=indent).encode())
    StoredRegistry(shelf).change(GROUP, rename)
    mine["groupName"] = "renamed"
    assert json.loads(shelf.content or b"") == content


@given(content=st.dictionaries(st.text(), OBJECT, max_size=5), indent=st.sampled_from([None, 0, 3]), tail=OBJECT)
def test_the_text_is_read_as_json_reads_it(content: dict[str, Any], indent: int | None, tail: dict[str, Any]) -> None:
    text = json.dumps({"projects": content, "tail": tail}, indent=indent)
    document = parse(text.encode(), "x")
    assert document.entries == content
    assert json.loads(document.with_entries(document.entries).text) == json.loads(text)


@given(text=st.text(alphabet='{}[]",: \n1aé\\', max_size=25).map(lambda inner: '{"projects": ' + inner))
def test_what_json_refuses_is_refused(text: str) -> None:
    try:
        fine = isinstance(json.loads(text)["projects"], dict)
    except ValueError:
        fine = False
    try:
        parse(text.encode(), "x")
    except StateCorrupt:
        assert not fine
    else:
        assert fine
