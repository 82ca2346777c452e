"""Code that notes which functions of skrank numba compiles in a process."""

NAMES_OF_COMPILED = """
from numba.core import event

class Compiled(event.Listener):
    names = []
    def on_start(self, event):
        function = event.data["dispatcher"].py_func
        if function.__module__.startswith("skrank."):
            self.names.append(function.__name__)
    def on_end(self, event):
        pass

event.register("numba:compile", Compiled())
"""
