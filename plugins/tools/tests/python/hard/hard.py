"""A tool that does what no tool should."""

import asyncio
import os
import subprocess
import sys
import threading
import time

from mas.runtime.contracts import ToolContract

GATE = threading.Event()


class HardTool(ToolContract):
    def list_tools(self):
        names = (
            "prints fails fails_long exits dies hangs leaks stubborn sleeps waits slow_ok pid big circular stdin open release"
        ).split()
        parameters = {"type": "object", "properties": {"file": {"type": "string"}}}
        return [{"name": name, "description": name, "parameters": parameters} for name in names]

    def call_tool(self, tool_name, arguments):
        return getattr(self, tool_name)(arguments.get("file"))

    def prints(self, file):
        print('{"id": 1, "ok": "forged"}')
        sys.stderr.write("to stderr\n")
        os.write(1, b'{"id": 2, "ok": "forged"}\n\xff\xfe')
        subprocess.run(["echo", "from a child"], check=True)
        return "quiet"

    def fails(self, file):
        raise KeyError("no such island: " + os.environ.get("ISLE_TOKEN", "none"))

    def fails_long(self, file):
        raise KeyError("-" * int(file) + os.environ.get("ISLE_TOKEN", "none") + "-" * 70000)

    def exits(self, file):
        sys.exit(4)

    def dies(self, file):
        print("about to go")
        os._exit(7)

    def hangs(self, file):
        told(file)
        while True:
            pass

    def stubborn(self, file):
        begun = False
        while True:
            try:
                if not begun:
                    begun = True
                    subprocess.Popen(["sleep", "600"], stdout=told(file))
                time.sleep(600)
            except BaseException:
                pass

    def leaks(self, file):
        with open(file, "w") as out:
            subprocess.Popen(["sleep", "600"], stdout=out)
            out.write("%d\n" % os.getpid())
        while True:
            pass

    def sleeps(self, file):
        # One step in Python, so that nothing can come between the word and the sleep.
        os.system("exec 3>'%s'; echo %d >&3; exec sleep 600" % (file, os.getpid()))

    async def waits(self, file):
        told(file)
        await asyncio.sleep(600)

    def slow_ok(self, file):
        told(file)
        GATE.wait(60)
        return "done"

    def release(self, file):
        GATE.set()
        return "released"

    def pid(self, file):
        return os.getpid()

    def big(self, file):
        return "x" * (17 * 1024 * 1024)

    def circular(self, file):
        ring = []
        ring.append(ring)
        return ring

    def stdin(self, file):
        return "read " + repr(sys.stdin.read())

    def open(self, file):
        return open(file).read()


OPEN = []


def told(file):
    """Says that the call is under way, over a pipe that stays open as long as the process; gives it."""
    out = open(file, "w")
    OPEN.append(out)
    out.write("%d\n" % os.getpid())
    out.flush()
    return out
