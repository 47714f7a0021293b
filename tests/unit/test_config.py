"""Where settings come from and how mistakes in them are told."""

from __future__ import annotations

from pathlib import Path

import pytest

from devclaw_py.errors import ConfigError
from devclaw_py.kernel.config import SECTIONS, find_workspace, load, socket_name
from devclaw_py.model.settings import Settings
from devclaw_py.rules.reference import settings_reference


def written(folder: Path, text: str) -> Path:
    (folder / "devclaw.toml").write_text(text, encoding="utf-8")
    return folder


def test_an_empty_workspace_has_the_defaults(tmp_path: Path) -> None:
    loaded = load(tmp_path, {})

    assert loaded.settings == Settings()
    assert set(loaded.origin.values()) == {"default"}


def test_every_key_has_an_origin(tmp_path: Path) -> None:
    keys = {f"{name}.{key}" for name, kind in SECTIONS.items() for key in kind.model_fields}

    assert set(load(tmp_path, {}).origin) == keys


def test_each_layer_beats_the_one_below(tmp_path: Path) -> None:
    workspace = written(tmp_path, '[models]\nmedior = "toml"\nsenior = "toml"\nqa = "toml"\n')
    environ = {"DEVCLAW_MODELS__SENIOR": "environment", "DEVCLAW_MODELS__QA": "environment"}
    plugin = {"junior": "plugin", "medior": "plugin", "senior": "plugin", "qa": "plugin"}

    loaded = load(workspace, environ, {"models.qa": "flag"}, plugin_models=plugin)

    assert loaded.settings.models.model_dump() == {
        "junior": "plugin",
        "medior": "toml",
        "senior": "environment",
        "qa": "flag",
    }
    assert [loaded.origin[f"models.{tier}"] for tier in ("junior", "medior", "senior", "qa")] == [
        "openclaw plugin config",
        "devclaw.toml:2",
        "environment DEVCLAW_MODELS__SENIOR",
        "flag",
    ]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('# top\n\n[agent]\nkind = "scripted"\n', 4),
        ('agent.kind = "scripted"\n', 1),
        ('\nagent = {kind = "scripted"}\n', 2),
        ('[ "agent" ]\n"kind" = "scripted"\n', 2),
        ('[models]\nqa = "x"\n[agent]\nprogram = ["a",\n "b"]\nkind = "scripted"\n', 6),
    ],
)
def test_the_line_that_set_a_key_is_known_in_every_spelling(tmp_path: Path, text: str, line: int) -> None:
    loaded = load(written(tmp_path, text), {})

    assert loaded.settings.agent.kind == "scripted"
    assert loaded.origin["agent.kind"] == f"devclaw.toml:{line}"


@pytest.mark.parametrize(
    ("name", "value", "key", "expected"),
    [
        ("DEVCLAW_TERMINAL__WIDTH", "120", "terminal.width", 120),
        ("DEVCLAW_AGENT__PROGRAM", '["sh", "-c"]', "agent.program", ("sh", "-c")),
        ("DEVCLAW_MODELS__QA", "123", "models.qa", "123"),
        ("DEVCLAW_MODELS__QA", "true", "models.qa", "true"),
        ("DEVCLAW_MODELS__QA", '"quoted"', "models.qa", "quoted"),
        ("DEVCLAW_TIMEOUTS__LOCK_S", "0.5", "timeouts.lock_s", 0.5),
        ("DEVCLAW_TERMINAL__SOCKET", "", "terminal.socket", ""),
    ],
)
def test_an_environment_value_is_json_or_plain_text(
    tmp_path: Path, name: str, value: str, key: str, expected: object
) -> None:
    settings = load(tmp_path, {name: value}).settings
    section, _, field = key.partition(".")

    assert getattr(getattr(settings, section), field) == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("\n[agnet]\n", r"devclaw\.toml:2: unknown section agnet; did you mean agent\?"),
        ("[agent]\n\nprogam = []\n", r"devclaw\.toml:3: unknown key agent\.progam; did you mean program\?"),
        ("[agent]\nzzz = 1\n", r"devclaw\.toml:2: unknown key agent\.zzz; known are kind, program"),
        ("[terminal]\nwidth = '200'\n", r"devclaw\.toml:2: terminal\.width = '200': it should be a valid integer"),
        ("[terminal]\nwidth = 0\n", r"devclaw\.toml:2: terminal\.width"),
        ("[terminal]\nwidth = true\n", r"devclaw\.toml:2: terminal\.width"),
        ("[timeouts]\nlock_s = inf\n", r"devclaw\.toml:2: timeouts\.lock_s"),
        ("[agent]\nkind = 'robot'\n", r"devclaw\.toml:2: agent\.kind = 'robot'.*'claude' or 'scripted'"),
        ("[agent]\nprogram = 'sh -c x'\n", r"devclaw\.toml:2: agent\.program"),
        ("[agent]\nclaude_bin = 2020-01-01\n", r"devclaw\.toml:2: agent\.claude_bin"),
        ("[models]\nqa = ''\n", r"devclaw\.toml:2: models\.qa"),
        ("agent = 3\n", r"devclaw\.toml:1: agent is a section"),
        ("[agent]\nkind = \n", r"devclaw\.toml:2: not TOML"),
        ("[agent]\nkind = 'claude'\nkind = 'scripted'\n", r"devclaw\.toml:3: not TOML"),
        ("[agent]\nprogram = [", r"devclaw\.toml:2: not TOML"),
    ],
)
def test_a_mistake_in_the_file_is_told_with_line_and_key(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        load(written(tmp_path, text), {})


def test_a_mistake_is_told_even_when_a_later_layer_sets_the_key(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="width"):
        load(written(tmp_path, "[terminal]\nwidth = 'x'\n"), {"DEVCLAW_TERMINAL__WIDTH": "100"})


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        (
            "DEVCLAW_AGENT__KINDD",
            "claude",
            "environment DEVCLAW_AGENT__KINDD: unknown key agent.kindd; did you mean kind",
        ),
        ("DEVCLAW_AGNET__KIND", "claude", "environment DEVCLAW_AGNET__KIND: unknown section agnet"),
        ("DEVCLAW_TERMINAL__WIDTH", "wide", "environment DEVCLAW_TERMINAL__WIDTH: terminal.width = 'wide'"),
    ],
)
def test_a_mistake_in_the_environment_names_the_variable(tmp_path: Path, name: str, value: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        load(tmp_path, {name: value})


def test_other_variables_of_devclaw_are_no_settings(tmp_path: Path) -> None:
    others = {"DEVCLAW_WORKSPACE": "/x", "DEVCLAW_TOKEN": "t", "DEVCLAW_GROUP_ID": "-1", "OTHER__KEY": "x"}

    assert load(tmp_path, others).settings == Settings()


def test_a_flag_that_was_not_given_sets_nothing(tmp_path: Path) -> None:
    assert load(tmp_path, {}, {"agent.kind": None}).origin["agent.kind"] == "default"


def test_an_unknown_flag_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"flag agent\.knid: .*did you mean kind"):
        load(tmp_path, {}, {"agent.knid": "claude"})


def test_an_unknown_tier_in_the_plugin_config_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"openclaw plugin config: unknown key models\.jnior; did you mean junior"):
        load(tmp_path, {}, plugin_models={"jnior": "x"})


def test_a_file_that_is_not_utf_8_is_refused_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "devclaw.toml").write_bytes(b"[agent]\nkind = '\xff'\n")

    with pytest.raises(ConfigError, match=r"devclaw\.toml:2: not UTF-8"):
        load(tmp_path, {})


def test_a_folder_in_the_files_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "devclaw.toml").mkdir()

    with pytest.raises(ConfigError, match="cannot be read"):
        load(tmp_path, {})


def test_a_dangling_link_is_not_taken_for_no_file(tmp_path: Path) -> None:
    (tmp_path / "devclaw.toml").symlink_to(tmp_path / "gone")

    with pytest.raises(ConfigError, match="does not exist"):
        load(tmp_path, {})


def test_the_flag_beats_the_variable(tmp_path: Path) -> None:
    assert find_workspace(tmp_path / "a", {"DEVCLAW_WORKSPACE": "/b"}, tmp_path) == tmp_path / "a"


def test_the_variable_beats_the_folders_above(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory/projects.json").write_text("{}")

    assert find_workspace(None, {"DEVCLAW_WORKSPACE": str(tmp_path / "b")}, tmp_path) == tmp_path / "b"


def test_the_nearest_folder_with_a_registry_is_the_workspace(tmp_path: Path) -> None:
    below = tmp_path / "one" / "two"
    for folder in (tmp_path, tmp_path / "one"):
        (folder / "memory").mkdir(parents=True)
        (folder / "memory/projects.json").write_text("{}")
    below.mkdir()

    assert find_workspace(None, {}, below) == tmp_path / "one"


def test_a_checkout_with_the_example_alone_is_no_workspace(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory/projects.example.json").write_text("{}")

    assert find_workspace(None, {"HOME": str(tmp_path / "home")}, tmp_path) == tmp_path / "home/.devclaw"


@pytest.mark.parametrize(("flag", "below"), [("~/ws", "ws"), ("~", "")])
def test_a_tilde_means_the_home_of_the_environment(tmp_path: Path, flag: str, below: str) -> None:
    assert find_workspace(flag, {"HOME": str(tmp_path)}, Path("/")) == tmp_path / below


def test_a_name_that_begins_with_a_tilde_is_a_name(tmp_path: Path) -> None:
    assert find_workspace("~nobody-here", {}, tmp_path) == tmp_path / "~nobody-here"


def test_a_relative_workspace_is_below_the_current_folder(tmp_path: Path) -> None:
    assert find_workspace("ws", {}, tmp_path) == tmp_path / "ws"


@pytest.mark.parametrize("flag", ["", " "])
def test_a_blank_flag_is_refused(flag: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        find_workspace(flag, {}, tmp_path)


def test_a_file_is_no_workspace(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("")

    with pytest.raises(ConfigError, match="not a folder"):
        find_workspace(tmp_path / "f", {}, tmp_path)


def test_two_paths_to_one_workspace_share_its_socket(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")

    assert socket_name(tmp_path / "link") == socket_name(tmp_path / "real")


def test_a_configured_socket_is_taken_as_it_is(tmp_path: Path) -> None:
    assert socket_name(tmp_path, "mine") == "mine"


@pytest.mark.parametrize("key", [f"{name}.{key}" for name, kind in SECTIONS.items() for key in kind.model_fields])
def test_the_reference_page_has_every_key_with_its_variable(key: str) -> None:
    section, _, name = key.partition(".")

    assert f"| `{name}` |" in settings_reference()
    assert f"`DEVCLAW_{section.upper()}__{name.upper()}` |" in settings_reference()


def test_no_key_of_the_reference_page_is_without_a_meaning() -> None:
    assert "None" not in settings_reference()
