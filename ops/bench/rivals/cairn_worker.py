"""A worker of Cairn, as cairn_worker.mjs is one: URL, CONCURRENCY, and the NODE whose steps are the last of their runs.

Every few milliseconds it writes how many of those it has executed.
"""

import sys
import threading
import time
from typing import List

from cairn import Context, Worker

url, concurrency, last = sys.argv[1:]
worker = Worker(url, queues=["bench"], concurrency=int(concurrency))
ended: List[None] = []


@worker.handler("bench.nothing")
def nothing(settings: object, context: Context) -> None:
    if context.node == last:
        ended.append(None)


def write_counts() -> None:
    written = 0
    while True:
        time.sleep(0.003)
        count = len(ended)
        if count > written:
            print(count - written, flush=True)
        written = count


threading.Thread(target=write_counts, daemon=True).start()
worker.run()
