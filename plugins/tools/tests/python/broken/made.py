import os


class Made:
    def __init__(self, path):
        self.path = path

    def get_name(self):
        return "made"

    def execute(self):
        return self.path


class Unmade:
    def __init__(self):
        raise ValueError("not with " + os.environ["ISLE_TOKEN"])

    def get_name(self):
        return "unmade"

    def execute(self):
        return None
