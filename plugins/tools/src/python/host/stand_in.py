"""The part of MAS Lab that its tools are written against: one class, importable under its own name.

It stands in also where MAS Lab itself is installed, so that a tool behaves the same on every machine.
"""

import importlib.abc
import importlib.machinery
import sys


class NotProvided(NotImplementedError):
    """A method that the tool has left to its base class."""


class ToolContract:
    """The base class of tools.

    A tool overrides the hooks (`on_collect_tools`, `on_execute_tool`), or the list of its tools (`list_tools`,
    `call_tool`), or describes the one tool that it is (`get_name`, `get_description`, `get_parameters_schema` or
    an `Input` of pydantic, `execute`).
    """

    contract_id = "tool"

    def get_name(self):
        raise NotProvided("%s has no get_name()" % type(self).__name__)

    def get_description(self):
        return ""

    def get_parameters_schema(self):
        return schema_of_input(self)

    def execute(self, **kwargs):
        raise NotProvided("%s has no execute()" % type(self).__name__)

    def list_tools(self):
        return [
            {
                "name": self.get_name(),
                "description": self.get_description(),
                "parameters": self.get_parameters_schema(),
            }
        ]

    def call_tool(self, tool_name, arguments):
        if tool_name != self.get_name():
            raise NotProvided("%s has no call_tool()" % type(self).__name__)
        check_input(self, arguments)
        return self.execute(**arguments)

    def on_collect_tools(self, **kwargs):
        return self.list_tools()

    def on_execute_tool(self, tool_name, arguments, **kwargs):
        if any(tool.get("name") == tool_name for tool in self.list_tools()):
            return self.call_tool(tool_name, arguments)
        return None

    def to_tool_spec(self):
        tool = self.list_tools()[0]
        return {
            "name": tool["name"],
            "description": tool.get("description", ""),
            "inputSchema": tool.get("parameters", {}),
        }

    def pre_tool_call(self, context):
        return context

    def post_tool_call(self, context):
        return context


def schema_of_input(tool):
    """The JSON schema of the `Input` of a tool; empty without one."""
    model = getattr(tool, "Input", None)
    if not hasattr(model, "model_json_schema"):
        return {}
    schema = model.model_json_schema()
    schema.pop("title", None)
    return schema


def check_input(tool, arguments):
    """Lets the `Input` of a tool, if it has one, check the arguments."""
    model = getattr(tool, "Input", None)
    if hasattr(model, "model_validate"):
        model.model_validate(arguments)


CONTRACTS = "mas.runtime.contracts"
PROVIDED = ("mas", "mas.runtime", CONTRACTS, CONTRACTS + ".tool_contract")
ADVICE = "tools run outside MAS Lab here, and of its modules only `mas.runtime.contracts.ToolContract` is provided"


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds `mas` and everything below it, or says why it is not there."""

    def find_spec(self, name, path=None, target=None):
        if name != "mas" and not name.startswith("mas."):
            return None
        if name not in PROVIDED:
            raise ImportError("`%s` is not provided: %s" % (name, ADVICE), name=name)
        return importlib.machinery.ModuleSpec(name, self, is_package=not name.endswith("tool_contract"))

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        if module.__name__.startswith(CONTRACTS):
            module.ToolContract = ToolContract

        def missing(name):
            if name.startswith("__"):
                raise AttributeError(name)
            raise ImportError("`%s.%s` is not provided: %s" % (module.__name__, name, ADVICE))

        module.__getattr__ = missing


def install():
    sys.meta_path.insert(0, Finder())
