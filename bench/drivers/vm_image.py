"""The root file system of a guest, as the archive that a kernel unpacks into its memory: what lies
on this host, by its path, with the libraries that programs need."""

import os
import pathlib
import stat
import subprocess

#: Of Python's library, what no bench imports.
LEFT_OUT = ("__pycache__/test", "/test/", "/tests/", "/idlelib/", "/lib2to3/", "/ensurepip/",
            "/pydoc_data/", "/config-", "/dist-packages/", "/turtledemo/")
FIRST_LIBRARY = "/lib64/ld-linux-x86-64.so.2"


def libraries_of(paths):
    """The shared libraries of these programs and modules, without those of their own."""
    done = subprocess.run(["ldd", *map(str, paths)], capture_output=True, text=True, check=False)
    return {word for line in done.stdout.splitlines() for word in line.split()
            if word.startswith("/") and not word.endswith(":")}


def is_program(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


class Image:
    """Files by path. A path of a link brings the link and what it leads to."""

    def __init__(self):
        self.entries = {}

    def put(self, path, mode, content=b""):
        """An entry that this host does not have, or has otherwise. Its folders are made."""
        path = str(path).strip("/")
        folder = os.path.dirname(path)
        if folder and folder not in self.entries:
            self.put(folder, stat.S_IFDIR | 0o755)
        self.entries[path] = (mode, content)

    def add(self, path):
        """A file of this host, or a folder with all that is in it."""
        path = pathlib.Path(path)
        real = pathlib.Path(os.path.realpath(path))
        if real != path:
            parent = pathlib.Path(os.path.realpath(path.parent))
            self._links_to(path.parent)
            if path.is_symlink() and str(parent / path.name).strip("/") not in self.entries:
                self.put(parent / path.name, stat.S_IFLNK | 0o777, os.fsencode(os.readlink(path)))
            self.add(real)
        elif path.is_dir():
            for child in sorted(path.iterdir()):
                if not any(word in f"{child}/" for word in LEFT_OUT):
                    self.add(child)
        elif str(path).strip("/") not in self.entries:
            self.put(path, stat.S_IFREG | stat.S_IMODE(path.stat().st_mode), path)

    def _links_to(self, folder):
        """/lib is a link to /usr/lib on hosts of today."""
        for place in reversed([folder, *folder.parents]):
            if place.is_symlink() and str(place).strip("/") not in self.entries:
                self.put(place, stat.S_IFLNK | 0o777, os.fsencode(os.readlink(place)))

    def add_libraries(self):
        """Those of all programs that it has by now."""
        programs = [path for mode, path in self.entries.values()
                    if isinstance(path, pathlib.Path) and is_program(path)]
        for library in sorted(libraries_of(programs) | {FIRST_LIBRARY}):
            self.add(library)

    def write(self, path):
        """The archive, "newc" as cpio(5) calls it."""
        with open(path, "wb") as out:
            for number, name in enumerate(sorted(self.entries), 1):
                mode, content = self.entries[name]
                content = content.read_bytes() if isinstance(content, pathlib.Path) else content
                write_entry(out, number, name, mode, content)
            write_entry(out, 0, "TRAILER!!!", 0, b"")


def write_entry(out, number, name, mode, content):
    fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0)
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + os.fsencode(name) + b"\0"
    out.write(head + b"\0" * (-len(head) % 4) + content + b"\0" * (-len(content) % 4))
