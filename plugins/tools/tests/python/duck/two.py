class One:
    def get_name(self):
        return "one"

    def execute(self):
        return 1


class Two:
    def get_name(self):
        return "two"

    def execute(self):
        return 2


class Bare:
    def execute(self, text="nobody"):
        return "hello " + text


class NotATool:
    pass


class Bad:
    def list_tools(self):
        return [{"name": "no name", "description": ""}]

    def call_tool(self, tool_name, arguments):
        return None
