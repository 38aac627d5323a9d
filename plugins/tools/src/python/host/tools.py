"""Loads the classes of a module tree, describes them and calls them."""

import collections.abc
import dataclasses
import datetime
import importlib
import importlib.util
import inspect
import itertools
import json
import os
import sys
import threading
import traceback

from _mas_stand_in import NotProvided, ToolContract, check_input, schema_of_input

# What a module is installed by, where that is not its own name.
PACKAGES = {
    "PIL": "Pillow",
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python",
    "dateutil": "python-dateutil",
    "dotenv": "python-dotenv",
    "sklearn": "scikit-learn",
    "yaml": "PyYAML",
}
# Where a text is cut, a secret may be cut too, so this is far more than what the parent tells of it.
LONGEST = 64000
# More does not fit into a result.
MOST_ITEMS = 1000000


class Refused(Exception):
    """A problem that is told in these words, without a place in the code."""


class Context:
    """What a hook may know of the conversation."""

    def __init__(self, told):
        self.agent_id = told.get("agent_id")
        self.session_id = told.get("session_id")


class Tools:
    def __init__(self, root):
        self.root = os.path.realpath(root)
        self.instances = {}
        self.loading = threading.RLock()
        self.package = None
        if os.path.isfile(os.path.join(self.root, "__init__.py")):
            self.above = os.path.dirname(self.root)
        else:
            self.above = self.root
            # Last, so that a tool named like a module of Python does not stand in for it.
            sys.path.append(self.root)

    # Loading

    def load(self, tool):
        with self.loading:
            key = tool["number"]
            if key not in self.instances:
                self.instances[key] = self.make(tool)
            return self.instances[key]

    def make(self, tool):
        module = self.module(tool)
        kind = self.find_class(module, tool)
        params = tool.get("params") or {}
        try:
            return kind(**params)
        except Exception as error:
            given = ", ".join("`%s`" % name for name in params) or "no params"
            raise Refused("`%s` cannot be made with %s: %s" % (kind.__name__, given, self.told(error))) from error

    def module(self, tool):
        file = tool.get("file")
        shown = self.shown(file) if file else tool["module"]
        try:
            return self.of_file(os.path.realpath(file)) if file else importlib.import_module(tool["module"])
        except ModuleNotFoundError as error:
            raise Refused("%s cannot be imported: %s" % (shown, self.told(error) + self.remedy(error))) from error
        except Exception as error:
            raise Refused("%s cannot be imported: %s" % (shown, self.told(error))) from error
        except SystemExit as error:
            raise Refused("%s cannot be imported: it calls sys.exit" % shown) from error

    def remedy(self, error):
        name = (error.name or "").partition(".")[0]
        if not name or os.path.exists(os.path.join(self.root, name)) or name == self.package:
            return ""
        package = PACKAGES.get(name, name)
        return "; if it is a package, install it: %s -m pip install %s" % (sys.executable, package)

    def of_file(self, file):
        stem = os.path.splitext(os.path.basename(file))[0]
        if self.above == self.root:
            if belongs(stem, file):
                return importlib.import_module(stem)
            return from_file("_mas_tool_" + stem, file, None)
        if self.package is None:
            name, start = os.path.basename(self.root), os.path.join(self.root, "__init__.py")
            if not free(name) and not belongs(name, start):
                name = "_mas_tools_" + name
            from_file(name, start, [self.root])
            self.package = name
        parts = os.path.relpath(file, self.root).split(os.sep)[:-1]
        if stem != "__init__":
            parts.append(stem)
        return importlib.import_module(".".join([self.package] + parts))

    def find_class(self, module, tool):
        own = [
            value
            for _, value in inspect.getmembers(module, inspect.isclass)
            if value.__module__ == module.__name__
        ]
        wanted = tool.get("class")
        if wanted:
            kind = getattr(module, wanted, None)
            if inspect.isclass(kind):
                return kind
            there = ", ".join("`%s`" % kind.__name__ for kind in own) or "none"
            raise Refused("there is no class `%s` in %s; its classes: %s" % (wanted, self.of(module), there))
        candidates = [kind for kind in own if issubclass(kind, ToolContract)]
        candidates = candidates or [kind for kind in own if is_tool(kind)]
        if len(candidates) == 1:
            return candidates[0]
        if not candidates:
            raise Refused(
                "%s has no tool class: derive one from `mas.runtime.contracts.ToolContract`" % self.of(module)
            )
        names = ", ".join("`%s`" % kind.__name__ for kind in candidates)
        raise Refused("%s has several tool classes: %s; say which with `class_name`" % (self.of(module), names))

    def of(self, module):
        return self.shown(getattr(module, "__file__", None) or module.__name__)

    # Describing

    def describe(self, call, tool):
        instance = self.load(tool)
        return [described(spec) for spec in self.specs(call, instance)]

    def specs(self, call, instance):
        for hook in ("on_collect_tools", "list_tools"):
            method = getattr(instance, hook, None)
            if callable(method):
                try:
                    listed = settle(call, method())
                except NotProvided:
                    continue
                except NotImplementedError:
                    if not callable(getattr(instance, "get_name", None)):
                        raise
                    continue
                if listed:
                    return list(listed)
        return [single(instance)]

    # Calling

    def call(self, call, request):
        instance = self.load(request["tool"])
        name, arguments = request["name"], request["arguments"]
        offers = {
            "cancel_event": call.cancel_event,
            "progress_callback": ignore,
            "timeout_seconds": request["context"].get("seconds"),
        }
        result = self.dispatch(call, instance, name, arguments, request["context"], offers)
        return text_of(settle(call, result))

    def dispatch(self, call, instance, name, arguments, told, offers):
        hook = own_method(instance, "on_execute_tool")
        if hook:
            around = {"ctx": Context(told), "user": ""}
            return hook(name, arguments, **accepted(call, hook, offers, around))
        many = own_method(instance, "call_tool")
        if many:
            return many(name, arguments, **accepted(call, many, offers))
        execute = own_method(instance, "execute")
        if not execute:
            kind = type(instance).__name__
            raise Refused("`%s` has none of on_execute_tool, call_tool and execute" % kind)
        check_input(instance, arguments)
        return execute(**arguments, **accepted(call, execute, offers, taken=arguments))

    # Telling what went wrong

    def failure(self, error):
        trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        what = self.what(error)[:LONGEST]
        return {"error": what, "place": self.place(error), "trace": trace[-LONGEST:]}

    def told(self, error):
        """An exception in one line: its kind, its message and its last place in the code of the tools."""
        return self.what(error) + self.place(error)

    def what(self, error):
        """Its kind and its message."""
        if isinstance(error, Refused):
            return str(error)
        if isinstance(error, SystemExit):
            return "the tool called sys.exit(%r)" % (error.code,)
        try:
            message = str(error).strip()
        except BaseException:
            message = ""
        kind = type(error).__name__
        return kind + ": " + message if message else kind

    def place(self, error):
        if isinstance(error, Refused):
            return ""
        if isinstance(error, SyntaxError) and error.filename:
            return " (%s:%s)" % (self.shown(error.filename), error.lineno)
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if os.path.realpath(frame.filename).startswith(self.root + os.sep)]
        if not own:
            return ""
        return " (%s:%s in %s)" % (self.shown(own[-1].filename), own[-1].lineno, own[-1].name)

    def shown(self, file):
        file = os.path.realpath(file)
        inside = file.startswith(self.above + os.sep)
        return os.path.relpath(file, self.above) if inside else file


def free(name):
    """Whether a package may have this name without hiding another."""
    try:
        return name.isidentifier() and importlib.util.find_spec(name) is None
    except (ImportError, ValueError):
        return False


def belongs(name, file):
    """Whether an import of `name` finds this file."""
    try:
        spec = importlib.util.find_spec(name)
        return spec is not None and spec.origin is not None and os.path.realpath(spec.origin) == file
    except (ImportError, ValueError):
        return False


def from_file(name, file, places):
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, file, submodule_search_locations=places)
    if spec is None:
        raise Refused("%s is not a Python file" % file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module


def is_tool(kind):
    """Whether a class without the base is a tool."""
    has = lambda name: callable(getattr(kind, name, None))
    return has("on_collect_tools") or has("list_tools") or (has("get_name") and has("execute"))


def own_method(instance, name):
    """The method, unless it is missing or the one of the base class."""
    method = getattr(instance, name, None)
    inherited = getattr(type(instance), name, None) is getattr(ToolContract, name)
    return method if callable(method) and not inherited else None


def single(instance):
    get = lambda name: getattr(instance, name)() if callable(getattr(instance, name, None)) else None
    if not callable(getattr(instance, "execute", None)):
        raise Refused("`%s` offers no tool" % type(instance).__name__)
    try:
        name = get("get_name")
    except NotProvided:
        name = None
    return {
        "name": name,
        "description": get("get_description") or "",
        "parameters": get("get_parameters_schema") or schema_of_input(instance),
    }


def described(spec):
    if not isinstance(spec, dict):
        raise Refused("a tool is described by a dict with `name`, not by %r" % (spec,))
    parameters = spec.get("parameters") or spec.get("input_schema") or spec.get("inputSchema") or {}
    if not isinstance(parameters, dict):
        raise Refused("the parameters of tool `%s` are no JSON schema" % spec.get("name"))
    try:
        plain = json.loads(json.dumps(parameters, default=plainly, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise Refused("the parameters of tool `%s` are no JSON schema: %s" % (spec.get("name"), error)) from error
    plain.setdefault("type", "object")
    if plain["type"] == "object":
        plain.setdefault("properties", {})
    name = spec.get("name")
    return {
        "name": None if name is None else str(name),
        "description": str(spec.get("description") or ""),
        "parameters": plain,
    }


def accepted(call, function, offers, around=None, taken=()):
    """Of what is offered, what the function asks for: by name; `around` also through `**kwargs`."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return {}
    names = {p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    given = {name: value for name, value in offers.items() if name in names and name not in taken}
    call.watches = "cancel_event" in given
    rest = any(p.kind == p.VAR_KEYWORD for p in parameters)
    given.update({name: value for name, value in (around or {}).items() if rest or name in names})
    return given


def ignore(*_args, **_kwargs):
    """Takes a tool's word on how far it is; nobody shows it."""


def settle(call, result):
    """What an awaitable or an asynchronous iterator comes to; anything else as it is."""
    if hasattr(result, "__anext__"):
        result = drained(result)
    return call.wait_for(result) if inspect.isawaitable(result) else result


async def drained(items):
    found = []
    async for item in items:
        if len(found) == MOST_ITEMS:
            raise too_many()
        found.append(item)
    return found


def text_of(result):
    """A result as the model reads it: a text as it is, nothing as the empty text, all else as JSON."""
    if result is None:
        return ""
    if isinstance(result, str):
        return str(result)
    if isinstance(result, collections.abc.Iterator):
        # Here, so that what it raises is not taken for a problem of JSON.
        result = listed(result)
    try:
        return json.dumps(result, indent=2, ensure_ascii=False, default=plainly)
    except (TypeError, ValueError, RecursionError) as error:
        raise Refused("the result cannot be written as JSON: %s" % error) from error


def text_of_bytes(value):
    """Bytes as the text that they are; of an image and the like, no model could read more than how long it is."""
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return "[%d bytes that are not text in UTF-8]" % len(value)


LISTS = (
    collections.abc.Set,
    collections.abc.Sequence,
    collections.abc.MappingView,
    collections.abc.Iterator,
)


def listed(items):
    """The items as a list, if they have an end that is near enough."""
    found = list(itertools.islice(items, MOST_ITEMS + 1))
    if len(found) > MOST_ITEMS:
        raise too_many()
    return found


def too_many():
    return Refused("the result has more than %d items" % MOST_ITEMS)


def plainly(value):
    """What JSON has no form for: models, data classes and mappings as objects, arrays, sets, sequences and iterators
    as lists, bytes and all else as texts."""
    if hasattr(value, "model_dump") and not isinstance(value, type):
        return value.model_dump()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, (bytes, bytearray, memoryview)):
        return text_of_bytes(bytes(value))
    if callable(getattr(value, "tolist", None)) and not isinstance(value, type):
        return value.tolist()
    if isinstance(value, collections.abc.Mapping):
        return dict(value)
    if isinstance(value, LISTS):
        return listed(value)
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    return str(value)
