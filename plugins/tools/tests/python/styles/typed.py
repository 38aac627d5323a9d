"""Arguments as a model of pydantic."""

from mas.runtime.contracts import ToolContract
from pydantic import BaseModel, Field


class TypedTool(ToolContract):
    class Input(BaseModel):
        nights: int = Field(..., ge=1, description="How many nights.")
        rooms: int = 1

    def get_name(self):
        return "book"

    def get_description(self):
        return "Books rooms."

    def execute(self, **kwargs):
        args = self.Input(**kwargs)
        return args
