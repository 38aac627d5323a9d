"""mas: runs Python tools in a process of their own.

The whole conversation with the parent is JSON, one message a line, over the socket that is stdin at the start.
Tools do not get it: their stdin is empty. What anyone prints goes elsewhere, where the parent collects it.

To the host:    {"start": {"root", "limit", "modules": [{"name", "source"}]}}      once, first
                {"id", "do": "list", "tool": {...}}
                {"id", "do": "call", "tool": {...}, "name", "arguments", "context": {...}}
                {"cancel": id}
                {"end": true}
To the parent:  {"ready": version}
                {"id", "ok": value} | {"id", "error": text, "place": text, "trace": text} | {"id", "cancelled": true}

When the parent goes away, the host ends at once, with everything that its tools have started.
"""

import sys

# `-c` puts the working directory first, where any `json.py` would stand in for the real one.
sys.path[:] = [place for place in sys.path if place != ""]

if sys.version_info < (3, 9):
    sys.stderr.write("this is Python %d.%d, and tools need 3.9 or newer\n" % sys.version_info[:2])
    sys.exit(3)

import atexit
import json
import os
import signal
import threading
import types


class Cancelled(BaseException):
    """Ends a call from outside; no `except Exception` of a tool stops it."""


def take_channel():
    """Takes the way to the parent away from the tools, and gives them an empty stdin."""
    channel = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    sys.stdin = open(0, closefd=False)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True, errors="backslashreplace")
    os.register_at_fork(after_in_child=lambda: os.close(channel))
    return channel


def follow_parent():
    """Asks the kernel to end this process with its parent, also while a tool in C code keeps Python busy."""
    if sys.platform.startswith("linux"):
        try:
            import ctypes

            set_death_signal = 1
            ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL)
        except (ImportError, OSError, AttributeError):
            pass  # the end of the socket tells it, too


def leave():
    """Ends the process and everything in its group."""
    try:
        if os.getpgrp() == os.getpid():
            os.killpg(0, signal.SIGKILL)
    finally:
        os._exit(1)


GIVING_UP = threading.Lock()


def give_up(error):
    """Ends the process because it has lost its way to the parent."""
    GIVING_UP.acquire()  # for good, so that it is said once
    try:
        sys.stderr.write("a tool has closed what it has not opened: %s\n" % error)
    finally:
        leave()


class Call:
    """A request under way, on a thread of its own."""

    def __init__(self, host, request):
        self.host = host
        self.request = request
        self.id = request["id"]
        self.lock = threading.Lock()
        self.over = False
        self.cancel_event = threading.Event()
        # Whether the tool watches the event, and so ends in its own way.
        self.watches = False
        self.loop = None
        self.task = None
        self.thread = threading.Thread(target=self.run, name="tool-%d" % self.id, daemon=True)

    def run(self):
        try:
            try:
                answer = self.host.do(self)
            except Cancelled:
                answer = {"cancelled": True}
            except BaseException as error:
                answer = self.host.tools.failure(error)
            with self.lock:
                self.over = True
            if self.cancel_event.is_set():
                raise_in(self.thread.ident, None)
        except Cancelled:
            # It came between the last step of the tool and the lines above.
            answer = {"cancelled": True}
            self.over = True
        except BaseException:
            answer = {"error": "it failed with what cannot even be shown"}
            self.over = True
        if self.cancel_event.is_set() and "error" in answer:
            answer = {"cancelled": True}
        if "cancelled" in answer:
            end_children()
        answer["id"] = self.id
        self.host.send(answer)
        self.host.calls.pop(self.id, None)

    def wait_for(self, awaitable):
        """Runs an awaitable to its end, so that a cancel can reach it."""
        import asyncio

        async def whole():
            return await awaitable

        loop = asyncio.new_event_loop()
        try:
            asyncio.set_event_loop(loop)
            with self.lock:
                self.task = loop.create_task(whole())
                self.loop = loop
                if self.cancel_event.is_set():
                    self.task.cancel()
            try:
                return loop.run_until_complete(self.task)
            except asyncio.CancelledError:
                if self.cancel_event.is_set():
                    raise Cancelled() from None
                raise
        finally:
            with self.lock:
                self.loop = None
            try:
                loop.run_until_complete(loop.shutdown_asyncgens())
            finally:
                asyncio.set_event_loop(None)
                loop.close()

    def cancel(self):
        self.cancel_event.set()
        with self.lock:
            if self.over or self.watches:
                return
            if self.loop is not None:
                self.loop.call_soon_threadsafe(self.task.cancel)
            else:
                raise_in(self.thread.ident, Cancelled)


def raise_in(thread, exception):
    """Raises `exception` in a thread before its next step in Python; `None` takes back what is not raised yet."""
    import ctypes

    what = None if exception is None else ctypes.py_object(exception)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), what)


def end_children():
    """Ends the processes that this thread has started and left running, where the kernel tells which they are."""
    try:
        with open("/proc/self/task/%d/children" % threading.get_native_id()) as children:
            left = [int(pid) for pid in children.read().split()]
    except OSError:
        return  # they end with this process
    for pid in left:
        try:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        except OSError:
            pass  # it has ended by itself


class Host:
    def __init__(self):
        self.channel = take_channel()
        self.sending = threading.Lock()
        self.calls = {}
        self.tools = None
        self.limit = 0

    def send(self, message):
        line = self.line(message)
        if self.limit and len(line) > self.limit:
            text = "the result takes %d bytes, and %d are the most there may be" % (len(line), self.limit)
            line = self.line({"id": message["id"], "error": text})
        try:
            with self.sending:
                while line:
                    line = line[os.write(self.channel, line) :]
        except OSError as error:
            give_up(error)  # a call without its answer would not end

    @staticmethod
    def line(message):
        return json.dumps(message, ensure_ascii=False).encode("utf-8", "replace") + b"\n"

    def start(self, start):
        self.limit = start["limit"]
        for module in start["modules"]:
            made = types.ModuleType(module["name"])
            sys.modules[module["name"]] = made
            exec(compile(module["source"], "<%s>" % module["name"], "exec"), made.__dict__)
        sys.modules["_mas_stand_in"].install()
        self.tools = sys.modules["_mas_tools"].Tools(start["root"])
        self.send({"ready": "%d.%d.%d" % sys.version_info[:3]})

    def do(self, call):
        request = call.request
        if request["do"] == "list":
            return {"ok": self.tools.describe(call, request["tool"])}
        return {"ok": self.tools.call(call, request)}

    def serve(self):
        with os.fdopen(self.channel, "rb") as lines:
            for line in lines:
                message = json.loads(line)
                if "start" in message:
                    self.start(message["start"])
                elif "cancel" in message:
                    call = self.calls.get(message["cancel"])
                    if call is not None:
                        call.cancel()
                elif "end" in message:
                    try:
                        atexit._run_exitfuncs()
                    finally:
                        leave()
                else:
                    call = Call(self, message)
                    self.calls[call.id] = call
                    call.thread.start()


follow_parent()
try:
    Host().serve()
except OSError as error:
    give_up(error)
finally:
    leave()
