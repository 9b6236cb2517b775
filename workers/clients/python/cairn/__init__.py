"""Cairn from Python: `Client` starts and follows runs, `Worker` executes their steps. Standard library only.

`AsyncClient` is the client for asyncio. What functions of a worker get and raise: `Context`, `AsyncContext`, `Label`,
`Again`, `Final`.
"""

from .async_client import AsyncClient, AsyncRun
from .client import Client, Run
from .context import AsyncContext, Context, Label
from .failures import Again, Final
from .model import ModelReply
from .rules import CairnError, Refused, Unavailable
from .shapes import Difference, Event, Explanation, Goal, Question, RunRow, RunState
from .worker import Worker

__all__ = [
    "Again", "AsyncClient", "AsyncContext", "AsyncRun", "CairnError", "Client", "Context", "Difference", "Event",
    "Explanation", "Final", "Goal", "Label", "ModelReply", "Question", "Refused", "Run", "RunRow", "RunState",
    "Unavailable", "Worker",
]
__version__ = "0.1.0"
