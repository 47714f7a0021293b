"""session_answer."""

from __future__ import annotations

from pydantic import Field

from devclaw_py.app import App
from devclaw_py.operations.asking import answer
from devclaw_py.operations.steps import Call
from devclaw_py.rules.arguments import Body, FilledBody, FilledLine
from devclaw_py.tools.base import Answer, Group, Tool, WritingArgs


class Args(WritingArgs):
    """Arguments of session_answer."""

    question_id: FilledLine = Field(description="The question's id, as its announcement and queue_status have it.")
    answer: FilledBody | None = Field(
        None,
        description="For a question of one part: an option's label or number, several of them with commas between, or "
        "words of your own where they are asked for. For a permission: allow or deny.",
    )
    answers: tuple[FilledBody, ...] | None = Field(
        None, description="For a question of several parts: one answer for each, in their order."
    )
    message: Body | None = Field(None, description="With deny: what the worker is told about it.")


def session_answer(app: App, call: Call, args: Args) -> Answer:
    """Answer what a worker asks: a question with options, or the permission to use a tool.

    The first answer counts; a later or a late one is refused with what was decided and by whom. A worker cannot answer.
    """
    given = args.answers if args.answers is not None else () if args.answer is None else (args.answer,)
    return answer(
        app,
        call,
        group_id=args.project_group_id,
        question_id=args.question_id,
        answers=given,
        message=(args.message or "").strip(),
    )


TOOL = Tool("session_answer", Args, session_answer, group=Group.OPTIONAL, destructive=True)
