"""Plays a person at a terminal: runs a program on a pseudo terminal and follows a script.

argv: a JSON list of steps, then the program with its arguments. Steps are
["see", TEXT] waits until TEXT is shown after what was seen before, ["type", TEXT] presses keys,
["signal", NAME] sends a signal to the program. At the end the program is waited for.
Prints one JSON document: code, screen (all that was shown), restored (whether the terminal is set as before), waits
(for each "see", the seconds since the last key or signal until it was shown).
Every wait has a limit; where it passes, the document has `stuck` with the text that did not come.
"""

import json
import os
import select
import signal
import subprocess
import sys
import termios
import time

LIMIT = 30.0


def main():
    steps, command = json.loads(sys.argv[1]), sys.argv[2:]
    ours, theirs = os.openpty()
    termios.tcsetwinsize(ours, (24, 80))
    before = termios.tcgetattr(theirs)

    def own_terminal():
        os.setsid()
        import fcntl

        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    child = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, preexec_fn=own_terminal)
    shown, at, stuck = b"", 0, None
    last, waits = time.monotonic(), []

    def take(until):
        nonlocal shown
        ready, _, _ = select.select([ours], [], [], max(0.0, min(0.05, until - time.monotonic())))
        if ready:
            shown += os.read(ours, 65536)
        return bool(ready)

    for kind, text in steps:
        until = time.monotonic() + LIMIT
        if kind == "see":
            wanted = text.encode()
            while (found := shown.find(wanted, at)) < 0:
                if time.monotonic() > until or (child.poll() is not None and not take(until)):
                    stuck = text
                    break
                take(until)
            if stuck is not None:
                break
            at = found + len(wanted)
            waits.append(time.monotonic() - last)
        elif kind == "type":
            last = time.monotonic()
            os.write(ours, text.encode())
        elif kind == "signal":
            last = time.monotonic()
            child.send_signal(getattr(signal, "SIG" + text))
    until = time.monotonic() + LIMIT
    while child.poll() is None:
        take(until)
        if time.monotonic() > until:
            stuck = stuck or "the end"
            child.kill()
    while take(time.monotonic() + 0.05):
        pass
    after = termios.tcgetattr(theirs)
    print(
        json.dumps(
            {
                "code": child.returncode,
                "screen": shown.decode(errors="replace"),
                "restored": before == after,
                "stuck": stuck,
                "waits": waits,
            }
        )
    )


main()
