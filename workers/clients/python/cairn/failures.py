"""The two ways in which an attempt fails on purpose."""

from __future__ import annotations


class Again(Exception):
    """The attempt has failed, and another one may succeed: in `retry_ms` at the earliest."""

    def __init__(self, message: str, *, error: str = "error", retry_ms: int = 0) -> None:
        super().__init__(message)
        self.error = error
        self.retry_ms = retry_ms


class Final(Exception):
    """The attempt has failed, and no other one would succeed."""

    def __init__(self, message: str, *, error: str = "error") -> None:
        super().__init__(message)
        self.error = error
