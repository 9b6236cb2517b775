"""Cairn from Python: `Client` starts and follows runs, `Worker` executes their steps. Standard library only."""

from .client import Client, Run
from .http import CairnError, Refused, Unavailable
from .worker import Again, Context, Final, Label, Worker

__all__ = ["Again", "CairnError", "Client", "Context", "Final", "Label", "Refused", "Run", "Unavailable", "Worker"]
__version__ = "0.1.0"
