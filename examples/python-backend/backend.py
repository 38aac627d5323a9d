"""A comm backend in Python: an agent `echo` behind lines of JSON on stdin and stdout. Nothing but the standard library."""

import json
import sys
import threading

LOCK = threading.Lock()
CANCELLED = set()


def say(**message):
    """One message, one line."""
    with LOCK:
        print(json.dumps(message), flush=True)


def answer(id, send):
    """Carries one message to its agent: pieces as they come, then the reply."""
    text = " ".join(part.get("text", "") for part in send["parts"])
    said = f"{PARAMS.get('greeting', 'You said')}: {text}"
    for word in said.split(" ")[:32]:  # no more than the credit that a call begins with
        if id in CANCELLED:
            return
        say(event={"id": id, "text": word + " "})
    say(end={"id": id, "reply": {"parts": [{"text": said}], "end": "done"}})


for line in sys.stdin:  # its end is ours
    ((kind, message),) = json.loads(line).items()
    if kind == "hello":
        PARAMS = message["params"] or {}
        say(hello={"version": 1})
        print("the backend is ready", file=sys.stderr, flush=True)  # goes to the log
    elif kind == "call":
        to = message.get("send", message.get("probe"))["to"]
        if to != "echo":
            say(fail={"id": message["id"], "error": {"kind": "not_found", "message": f"no agent `{to}`"}})
        elif "probe" in message:
            say(end={"id": message["id"], "probe": {"name": "Echo", "version": "1"}})
        else:
            threading.Thread(target=answer, args=(message["id"], message["send"]), daemon=True).start()
    elif kind == "cancel":
        CANCELLED.add(message["id"])
