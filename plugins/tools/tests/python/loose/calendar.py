"""Named like a module of Python, which it does not hide."""

import calendar
import os

import helper


class Greeter:
    def on_collect_tools(self):
        return [{"name": "greet", "description": "Greets.", "parameters": {"type": "object"}}]

    def on_execute_tool(self, tool_name, arguments):
        return {"greeting": helper.GREETING, "days": list(calendar.day_abbr)[:1], "pid": os.getpid()}
