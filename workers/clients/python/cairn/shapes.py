"""The JSON objects that the API answers with. Fields that later versions add are there as well."""

from __future__ import annotations

from typing import Dict, List, Optional, TypedDict

from .rules import Json

Event = Dict[str, Json]  # `seq`, `type`, `at`, `step`, `actor`, and the fields of its type


class OpenStep(TypedDict, total=False):
    """A step that is under way."""

    step: int
    node: str
    attempt: int
    branch: int
    opened_at: str
    waits_for: str


class RunState(TypedDict, total=False):
    """A run's state, folded from its events up to `seq`. `output` is there once it has ended as done."""

    run: str
    graph: str
    version: str
    status: str  # running, waiting, paused, done, failed, aborted
    reason: Optional[str]
    seq: int
    key: Optional[str]
    tags: Dict[str, str]
    input: Dict[str, Json]
    channels: Dict[str, Json]
    output: Json
    budgets: Dict[str, Json]
    plan: List[Goal]
    questions: List[Dict[str, Json]]
    steps: List[OpenStep]
    parent: Json
    continues: Optional[str]
    started_at: str
    updated_at: str


class RunRow(TypedDict):
    """A run in a list."""

    run: str
    graph: str
    version: str
    status: str
    reason: Optional[str]
    cause: Json
    events: int
    tags: Dict[str, str]
    parent: Json
    continues: Optional[str]
    forked_from: Json
    started_at: str
    updated_at: str


class Question(TypedDict, total=False):
    """An open question of the inbox."""

    run: str
    graph: str
    tags: Dict[str, str]
    question: str
    step: int
    kind: str
    prompt: Json
    schema: Json
    default: Json
    asked_at: str
    expires_at: Optional[str]


class Goal(TypedDict, total=False):
    """A sub-goal of a plan."""

    id: str
    tool: str
    inputs: Json
    status: str
    outputs: Json
    error: Dict[str, str]  # `error` and `message` of its last attempt
    reason: str  # of its rejection
    title: str
    parent: str
    after: List[str]
    step: int


class _AnyReason(TypedDict):
    kind: str
    says: str
    node: Optional[str]
    step: Optional[int]


class Reason(_AnyReason, total=False):
    """One thing that a run waits for, or why it has ended; the other fields are those of its kind."""

    status: str
    queue: str
    question: str
    prompt: Json
    signal: str
    handler: str
    tool: str
    sub_goal: str
    child: str
    due: str
    since: str


class Explanation(TypedDict):
    """The reasons for a run's status."""

    run: str
    status: str
    reasons: List[Reason]


class Difference(TypedDict):
    """Two runs compared, as `cairn diff --json` prints it; `first` is the first event that differs."""

    same: bool
    a: Dict[str, Json]
    b: Dict[str, Json]
    first: Json
    channels: List[Json]
    plan: List[Json]
    questions: List[Json]
    budgets: List[Json]
    decisions: Json
