"""A tool that watches for the end of its call."""

from mas.runtime.contracts import ToolContract

from hard import told


class Obedient(ToolContract):
    def get_name(self):
        return "obeys"

    def execute(self, file, cancel_event):
        told(file)
        cancel_event.wait(600)
        return "stopped in order"
