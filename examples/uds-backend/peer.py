"""An agent behind a Unix socket that says what it is told: python3 peer.py SOCKET"""

import json
import os
import socketserver
import sys


class Call(socketserver.StreamRequestHandler):
    """One connection: a line of the caller, then lines of ours."""

    def say(self, **line):
        self.wfile.write(json.dumps(line).encode() + b"\n")

    def handle(self):
        line = json.loads(self.rfile.readline())
        if "probe" in line:
            self.say(agent={"name": "Echo", "version": "1"})
        elif "send" in line:
            text = "".join(part.get("text", "") for part in line["send"]["parts"])
            for word in text.split(" "):
                self.say(text=word + " ")
            self.say(reply={"parts": [{"text": text}], "end": "done"})


if __name__ == "__main__":
    path = sys.argv[1]
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    if os.path.exists(path):
        os.remove(path)
    with socketserver.ThreadingUnixStreamServer(path, Call) as server:
        print(f"listening on {path}", flush=True)
        server.serve_forever()
