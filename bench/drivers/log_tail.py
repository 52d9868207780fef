"""Logs of many processes, read while they grow: each line gets the time it was first seen at, so
that programs with clocks of any resolution are measured alike."""

import re
import threading
import time

LOOK_S = 0.02


class LogTail:
    """`lines` is [(monotonic s, name, line)] of what matches; a context manager."""

    def __init__(self, paths, pattern):
        self.paths = paths  #: {name: path}; a file need not exist yet.
        self.pattern = re.compile(pattern)
        self.lines = []
        self._ends = threading.Event()
        self._files = {}
        self._rest = {name: "" for name in paths}
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._ends.set()
        self._thread.join()
        for file in self._files.values():
            file.close()

    def _follow(self):
        while not self._ends.wait(LOOK_S):
            for name, path in self.paths.items():
                if name not in self._files and path.exists():
                    self._files[name] = open(path, encoding="utf-8", errors="replace")
                if name in self._files:
                    self._read(name)

    def _read(self, name):
        text = self._files[name].read()
        if not text:
            return
        now = time.monotonic()
        *whole, self._rest[name] = (self._rest[name] + text).split("\n")
        self.lines += [(now, name, line) for line in whole if self.pattern.search(line)]

    def since(self, began, pattern):
        """[(s after `began`, name, match)] of the lines seen from then on."""
        wanted = re.compile(pattern)
        found = [(when - began, name, wanted.search(line)) for when, name, line in list(self.lines)
                 if when >= began]
        return [each for each in found if each[2]]
