"""One tool, described method by method."""

from mas.runtime.contracts.tool_contract import ToolContract


class SingleTool(ToolContract):
    def get_name(self):
        return "shout"

    def get_description(self):
        return "Shouts."

    def get_parameters_schema(self):
        return {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}

    def execute(self, **kwargs):
        return kwargs["text"].upper()
