"""Every setting, its type and its default. docs/reference/settings.md is generated from this page."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from devclaw_py.model.pipeline import PermissionMode, Tier

# Infinity is a number in TOML, and a wait without end is what the time limits are there to prevent.
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Count = Annotated[int, Field(gt=0)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Percent = Annotated[int, Field(ge=1, le=100)]
Word = Annotated[str, Field(min_length=1)]


class Section(BaseModel):
    """One section of devclaw.toml: keys as they are written there, unknown ones refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class AgentSettings(Section):
    """What runs in a worker's terminal."""

    kind: Literal["claude", "scripted"] = Field("claude", description="The agent in the pane.")
    program: tuple[str, ...] = Field(
        (), description="The scripted agent's program and its arguments, run once for each task."
    )
    permission_mode: PermissionMode = Field(
        PermissionMode.DONT_ASK,
        description="Claude Code's permission mode: in dontAsk nothing waits for a person, in default and acceptEdits "
        "workers ask. A project may have its own.",
    )
    allow: tuple[str, ...] = Field(
        ("Read", "Edit", "Write", "NotebookEdit", "Glob", "Grep", "Bash(git:*)"),
        description="What Claude Code may do unasked, as its permission rules; devclaw's own tools always may. "
        "A project's testCommand is allowed beside it.",
    )
    answer_min: Seconds = Field(
        30, description="Minutes that a worker's question waits for `session_answer`; then it is told that nobody did."
    )
    claude_bin: Word = Field("claude", description="Claude Code's program.")
    env_file: str = Field(
        "",
        description="File of `NAME=value` lines for Claude Code (API address, token), readable by its owner only; "
        "relative to the workspace. Empty: the user's own login.",
    )


class ModelSettings(Section):
    """The model of each tier, written as OpenClaw writes models."""

    junior: Word = Field("anthropic/claude-haiku-4-5", description="Typos, single-file fixes, small changes.")
    medior: Word = Field("anthropic/claude-sonnet-4-5", description="Features, bug fixes, changes over several files.")
    senior: Word = Field("anthropic/claude-opus-4-5", description="Architecture, migrations, security.")
    qa: Word = Field("anthropic/claude-sonnet-4-5", description="Reviews and test runs.")

    def of(self, tier: Tier) -> str:
        """Return the model of ``tier``."""
        model: str = getattr(self, tier.value)
        return model


class TerminalSettings(Section):
    """The tmux server of the workspace."""

    socket: str = Field(
        "", description="tmux socket name; empty: `devclaw-` and 8 hex digits of the workspace path's sha256."
    )
    width: Count = Field(200, description="Columns of a worker's terminal.")
    height: Count = Field(50, description="Rows of a worker's terminal.")


class TimeoutSettings(Section):
    """How long devclaw waits before it says so."""

    lock_s: Seconds = Field(30, description="For a project that another operation holds.")
    report_lock_s: Seconds = Field(10, description="The same, for a report that is already in the journal.")
    ready_s: Seconds = Field(60, description="For a session to be ready after its start.")
    receipt_s: Seconds = Field(20, description="For a worker to accept its task message.")
    compact_s: Seconds = Field(180, description="For a conversation to be compacted; then a new one is begun.")
    tracker_s: Seconds = Field(15, description="For one answer of an issue tracker.")
    git_s: Seconds = Field(60, description="For one git command.")
    tmux_s: Seconds = Field(5, description="For one tmux command.")
    notify_s: Seconds = Field(15, description="For the notifier's command to deliver one announcement.")
    stall_min: Seconds = Field(15, description="Minutes of silence after which a working session counts as stalled.")


class LimitSettings(Section):
    """Bounds that keep a night affordable."""

    sessions: int = Field(
        0, ge=0, description="Worker sessions of the workspace; 0: the smaller of 12 and free memory / 200 MB."
    )
    attempts: Count = Field(4, description="Dev attempts at one task before only a person's pickup goes on with it.")
    body_chars: Count = Field(65536, description="Characters of an issue's text or a comment that are accepted.")
    comments: Count = Field(20, description="Newest comments of an issue that a task message carries.")
    compact_percent: Percent = Field(
        60, description="Context in use from which the next task begins with a compacted conversation."
    )
    fresh_percent: Percent = Field(
        85, description="Context in use from which it begins with a new conversation and a hand-over note."
    )


class NotifySettings(Section):
    """How announcements reach a group when devclaw sends them itself."""

    kind: Literal["none", "command", "openclaw"] = Field(
        "none",
        description="`none`: the result carries the announcement. `command`: `argv` gets JSON on standard input. "
        "`openclaw`: the gateway's plugin sends it; the plugin sets this where nothing else is set.",
    )
    argv: tuple[str, ...] = Field((), description="The command and its arguments; exit 0 means delivered.")


HOSTS = "`host`, `host:port`, `host/path` or a whole address"
TOKEN_FILE = (
    "File with the token, relative to the workspace. `{host}` in it stands for the forge's host; without it the token "
    "is for one host only: the first of `hosts`, else "
)
TOKEN_COMMAND = "Program and arguments that print the token, with `{host}` as above; asked again after five minutes."


class GitHubSettings(Section):
    """GitHub, GitHub Enterprise and their credentials; see docs/guides/github.md."""

    hosts: tuple[Word, ...] = Field((), description=f"GitHub Enterprise servers, each as {HOSTS}.")
    token_file: str = Field("", description=f"{TOKEN_FILE}github.com.")
    token_command: tuple[str, ...] = Field((), description=TOKEN_COMMAND)
    writes_per_minute: Count = Field(
        60, description="Writes that devclaw allows itself; more where a server allows it."
    )
    writes_per_hour: Count = Field(450, description="The same for an hour. GitHub pauses an account after about 500.")
    app_id: str = Field("", description="Number of a GitHub App that devclaw acts as, for the same host as the token.")
    app_key_file: str = Field("", description="The App's private key (PEM), relative to the workspace.")
    app_installation: str = Field("", description="Number of the App's installation that has the repositories.")


class GitLabSettings(Section):
    """GitLab.com, self-managed GitLab and their credentials; see docs/guides/gitlab.md."""

    hosts: tuple[Word, ...] = Field((), description=f"Self-managed servers, each as {HOSTS}.")
    token_file: str = Field("", description=f"{TOKEN_FILE}gitlab.com.")
    token_command: tuple[str, ...] = Field((), description=TOKEN_COMMAND)


class WebhookSettings(Section):
    """The small server that GitHub and GitLab tell of events; see docs/guides/webhooks.md."""

    host: Word = Field("127.0.0.1", description="Address it listens on; put a proxy with TLS in front.")
    port: int = Field(8473, ge=0, le=65535, description="Port it listens on; 0: any free one.")
    secret_file: str = Field("", description="File with the secret that both sides know, relative to the workspace.")
    ignore: tuple[Word, ...] = Field((), description="Accounts whose events start nothing: the one devclaw acts as.")


class HeartbeatSettings(Section):
    """What goes on without a call."""

    every_s: Seconds = Field(60, description="Between two ticks; events and webhooks wake it earlier.")
    dispatch: bool = Field(True, description="Whether waiting tasks are handed out; off: only what follows a report.")
    project_execution: Literal["parallel", "sequential"] = Field(
        "parallel", description="Whether several projects may be at work at once."
    )


class Price(Section):
    """US dollars for a million tokens of one model; the cache's two follow from the input where they are not said."""

    input: Amount
    output: Amount
    cache_read: Amount | None = None
    cache_creation: Amount | None = None


class BudgetSettings(Section):
    """What may be spent unattended; 0 is no limit. At a limit work rests and goes on when there is money again."""

    task_tokens: int = Field(0, ge=0, description="Tokens for one task, all its attempts together.")
    task_usd: Amount = Field(0, description="US dollars for one task, all its attempts together.")
    project_tokens: int = Field(0, ge=0, description="Tokens for one project in one day.")
    project_usd: Amount = Field(0, description="US dollars for one project in one day.")
    day_tokens: int = Field(0, ge=0, description="Tokens for all projects in one day.")
    day_usd: Amount = Field(0, description="US dollars for all projects in one day.")
    tier_tokens: dict[Tier, Annotated[int, Field(ge=0)]] = Field(
        default_factory=dict, description="Tokens in one day by tier, over all projects: `{senior = 2000000}`."
    )
    tier_usd: dict[Tier, Amount] = Field(
        default_factory=dict, description="US dollars in one day by tier, over all projects: `{senior = 20}`."
    )
    day_begins_h: int = Field(
        0, ge=0, le=23, description="Hour of the machine's own time at which a day begins; 12: a night is one day."
    )
    prices: dict[str, Price] = Field(
        default_factory=dict,
        description="Prices of models, by the beginning of their names, for what the agent tells no cost of; they come "
        "before devclaw's own: `[budget.prices.claude-sonnet-4-5]` with `input` and `output`, US dollars for a million "
        "tokens.",
    )

    @property
    def limited(self) -> bool:
        """Whether there is any limit."""
        figures = (
            self.task_tokens,
            self.task_usd,
            self.project_tokens,
            self.project_usd,
            self.day_tokens,
            self.day_usd,
        )
        return any((*figures, *self.tier_tokens.values(), *self.tier_usd.values()))


class AuditSettings(Section):
    """The audit log's files."""

    max_bytes: Count = Field(64 * 1024 * 1024, description="Size at which audit.log is rotated to audit.log.1.gz.")


class Settings(Section):
    """All sections."""

    agent: AgentSettings = AgentSettings()
    models: ModelSettings = ModelSettings()
    terminal: TerminalSettings = TerminalSettings()
    timeouts: TimeoutSettings = TimeoutSettings()
    limits: LimitSettings = LimitSettings()
    notify: NotifySettings = NotifySettings()
    heartbeat: HeartbeatSettings = HeartbeatSettings()
    budget: BudgetSettings = BudgetSettings()
    audit: AuditSettings = AuditSettings()
    github: GitHubSettings = GitHubSettings()
    gitlab: GitLabSettings = GitLabSettings()
    webhook: WebhookSettings = WebhookSettings()
