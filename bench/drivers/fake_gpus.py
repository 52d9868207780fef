"""The folder of tests/fakes/nvml, as agents of benches read it: GPUs without links."""

import cluster

LIBRARY = cluster.BUILD / "tests" / "fakes" / "new" / "libnvidia-ml.so.1"
GPU = {"name": "NVIDIA H100 80GB HBM3", "memory_total": 85520809984, "memory_reserved": 549453824,
       "memory_used": 4194304, "mig": 0, "ecc_corrected": 0, "ecc_uncorrected": 0, "recovery": 0,
       "throttle": 1, "utilization": 0, "temperature": 35, "power": 71000, "clock": 345}


def uuid_of(minor):
    return f"GPU-{minor + 1:08x}-1111-2222-3333-444444444444"


class FakeGpus:
    """A folder of so many GPUs."""

    def __init__(self, folder, count):
        self.folder = folder
        self.folder.mkdir(exist_ok=True)
        self.folder.chmod(0o755)
        for minor in range(count):
            self.change(minor)
        self._write("machine", {"driver": "550.54.15", "cuda": 12040, "count": count})

    def change(self, minor, **values):
        """That GPU as it was at first, but for these values."""
        self._write(f"gpu{minor}", {**GPU, "minor": minor, "numa": 0, "uuid": uuid_of(minor),
                                    "pci": f"00000000:{0x1b + minor:02X}:00.0", **values})

    def _write(self, name, values):
        beside = self.folder / f"{name}.new"
        beside.write_text("".join(f"{key}={value}\n" for key, value in values.items()))
        beside.rename(self.folder / name)
