class Made:
    def __init__(self, path):
        self.path = path

    def get_name(self):
        return "made"

    def execute(self):
        return self.path
