"""Reads YAML with PyYAML."""

import yaml
from mas.runtime.contracts import ToolContract


class YamlTool(ToolContract):
    def get_name(self):
        return "read_yaml"

    def get_parameters_schema(self):
        return {"type": "object", "properties": {"text": {"type": "string"}}}

    def execute(self, **kwargs):
        return yaml.safe_load(kwargs["text"])
