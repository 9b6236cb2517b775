"""Checks the hash chains of events on stdin, JSON lines in the order of run and seq, after ops/audit/README.md alone.
Prints `RUN SEQ altered` or `RUN SEQ missing`; exit 1 if it printed anything."""
import hashlib
import json
import struct
import sys
import uuid


def sha(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def text(value):
    return struct.pack(">I", len(value.encode())) + value.encode()


def chain(event, before):
    head = struct.pack(">I", event["shard"]) + uuid.UUID(event["run"]).bytes
    numbers = struct.pack(">QqHHqI", event["seq"], event["at_us"], event["type"], event["version"], event["commit"],
                          event["step"])
    return sha(b"CAIRN-EVT-1", head, numbers, text(event["actor"]), sha(event["payload"].encode()), before)


found = 0
run, seq, before = None, 0, None
for event in map(json.loads, sys.stdin):
    if event.get("kind", "event") != "event":
        continue
    if event["run"] != run:
        run, seq, before = event["run"], 0, None
        if event["seq"] == 1:
            version = json.loads(event["payload"])["version"]
            before = sha(b"CAIRN-RUN-1", uuid.UUID(run).bytes, text(version))
    is_next = event["seq"] == seq + 1
    if not is_next or chain(event, before).hex() != event["chain_hash"]:
        print(run, seq + 1, "altered" if is_next else "missing")
        found = 1
    seq, before = event["seq"], bytes.fromhex(event["chain_hash"])
sys.exit(found)
