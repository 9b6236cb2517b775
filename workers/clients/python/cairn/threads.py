"""Threads for functions that block."""

from __future__ import annotations

import queue
import threading
from typing import Any, Callable, Tuple


class Threads:
    """At most `size` threads, begun as they are needed. One that hangs does not keep the program from ending."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._begun = 0
        self._work: queue.SimpleQueue[Tuple[Callable[..., None], Tuple[Any, ...]]] = queue.SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._lock = threading.Lock()

    def submit(self, function: Callable[..., None], *given: Any) -> None:
        """Safe from any thread. The function raises nothing."""
        self._work.put((function, given))
        if self._idle.acquire(blocking=False):
            return
        with self._lock:
            if self._begun == self._size:
                return
            self._begun += 1
        threading.Thread(target=self._run, name=f"step-{self._begun}", daemon=True).start()

    def _run(self) -> None:
        while True:
            function, given = self._work.get()
            function(*given)
            del function, given
            self._idle.release()
