"""Benches in a virtual machine with the kernel of Debian's cloud images, where control groups have
all controllers: on many machines that build and test they have none. Where the processor's help is
not to be had QEMU emulates it."""

import contextlib
import os
import pathlib
import platform
import selectors
import shlex
import shutil
import signal
import subprocess
import tempfile
import time

import cluster
from cluster import Broken, figure
from fake_gpus import LIBRARY
from lab import MUSTER, ROOT, end_once
from vm_image import Image

QEMU = "qemu-system-x86_64"
TOOLS = (QEMU, "mkfs.ext4", "setpriv", "strip", "ldd")
KVM = "/dev/kvm"
KERNEL_PACKAGE = "linux-image-cloud-amd64"
#: The kernel that was downloaded, and the root file systems of guests.
FOLDER = pathlib.Path(os.environ.get("MUSTER_VM_FOLDER", ROOT / "build" / "vm"))
CPUS, MEMORY_MB, DISK_MB = 2, 2048, 2048
#: The modules of a kernel that runs guests by the processor. Another one that opens /dev/kvm, as
#: kvm_pvm does, runs only kernels that were made for it.
KVM_MODULES = ("kvm_intel", "kvm_amd")
#: Machines that are virtual themselves may be denied the registers of arch-capabilities.
BY_KVM = ("-accel", "kvm", "-cpu", "host,arch-capabilities=off")
#: QEMU runs each instruction by itself; the processor is the least that programs of Debian need.
BY_QEMU = ("-accel", "tcg,thread=multi", "-cpu", "Nehalem,+rdrand")
#: No link, no screen; its console is our pipe.
BARE = ("-nic", "none", "-display", "none", "-monitor", "none", "-serial", "stdio", "-no-reboot")
DIES_WITH_US = ("setpriv", "--pdeathsig", "KILL")
BOOT_S = 120
SETTLE_S = 400  #: Of a bench in an emulated guest, beside what its grants take.
DOWNLOAD_S = 300
MORE_S = 30  #: Beyond what the benches may take together.
PROGRAMS = ("python3", "sh", "bash", "true", "sleep", "cat", "id", "ls", "touch", "mkdir", "env",
            "setpriv")
FILES = (*map(str, pathlib.Path("/usr/lib").glob("python3.*")), "/etc/passwd", "/etc/group",
         "/etc/nsswitch.conf", "/etc/ld.so.cache", "/etc/login.defs")


def why_not():
    """Why there is no virtual machine here, or no tools to make one."""
    if platform.machine() != "x86_64":
        return "it needs an x86_64 machine"
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    return f"not installed: {', '.join(missing)}" if missing else ""


def accelerator():
    """("kvm" or "tcg", the options of QEMU)."""
    can = os.access(KVM, os.R_OK | os.W_OK) and any(
        os.path.exists(f"/sys/module/{name}") for name in KVM_MODULES)
    return ("kvm", BY_KVM) if can else ("tcg", BY_QEMU)


def kernel():
    """The path of a kernel that is unpacked below FOLDER and installed nowhere; "" = no package."""
    def found():
        return sorted(FOLDER.glob("kernel/boot/vmlinuz-*"))

    if not found():
        FOLDER.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            told = subprocess.run(["apt-cache", "depends", KERNEL_PACKAGE], capture_output=True,
                                  text=True, check=True).stdout
            name = next((line.split()[1] for line in told.splitlines() if "Depends:" in line), "")
            subprocess.run(["apt-get", "download", name], cwd=FOLDER, capture_output=True,
                           timeout=DOWNLOAD_S, check=True)
            for package in FOLDER.glob(f"{name}_*.deb"):
                subprocess.run(["dpkg-deb", "-x", package, FOLDER / "kernel"], check=True)
    return str(found()[-1]) if found() else ""


def image_of(plan, programs, place):
    """The tree of benches at the place that it has here, with what runs it. `place`: a folder for
    the programs without their symbols."""
    image = Image()
    for name in PROGRAMS:
        image.add(shutil.which(name, path="/usr/sbin:/usr/bin"))
    for name in ("bin", "sbin"):
        image.put(name, 0o120777, f"usr/{name}".encode())
    for path in (*FILES, ROOT / "bench", ROOT / "scenarios"):
        if os.path.exists(path):
            image.add(path)
    for path in programs:
        small = pathlib.Path(place) / path.name
        subprocess.run(["strip", "-o", small, path], check=True)
        image.put(path, 0o100755, small)
    image.add_libraries()
    for folder in ("proc", "sys", "dev", "run", "root", "var/tmp"):
        image.put(folder, 0o040755)
    image.put("tmp", 0o041777)
    image.put("init", 0o100755, (ROOT / "bench" / "drivers" / "vm_guest.py").read_bytes())
    image.put("plan", 0o100644, "".join(f"{shlex.join(line)}\n" for line in plan).encode())
    return image


class Guest:
    """A virtual machine until it is switched off; killed at the end of the block."""

    def __init__(self, boot, place):
        signal.signal(signal.SIGTERM, end_once)
        disk = pathlib.Path(place) / "disk"
        with open(disk, "wb") as file:
            file.truncate(DISK_MB << 20)
        subprocess.run(["mkfs.ext4", "-q", "-E", "lazy_itable_init=1", disk], check=True)
        words = f"console=ttyS0 quiet panic=-1 edd=off mitigations=off random.trust_cpu=1 vm={ROOT}"
        self.began = time.monotonic()
        self.process = subprocess.Popen(
            [*DIES_WITH_US, QEMU, *accelerator()[1], "-smp", str(CPUS), "-m", str(MEMORY_MB),
             *BARE, "-kernel", boot, "-initrd", f"{place}/root", "-append", words, "-drive",
             f"file={disk},if=none,id=disk,format=raw,cache=unsafe", "-device",
             "nvme,serial=1,drive=disk"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL, start_new_session=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def lines(self, limit_s):
        """What the console shows, until it is over; Broken if that takes longer."""
        deadline = self.began + limit_s
        waits = selectors.DefaultSelector()
        waits.register(self.process.stdout, selectors.EVENT_READ)
        rest = b""
        while True:
            if not waits.select(max(0.0, deadline - time.monotonic())):
                raise Broken(f"the guest did not end in {limit_s:.0f} s")
            part = os.read(self.process.stdout.fileno(), 65536)
            *whole, rest = (rest + part).split(b"\n")
            yield from (line.decode(errors="replace").rstrip("\r") for line in whole)
            if not part:
                return


def play(plan, programs):
    """({bench: (exit status, [line])}, seconds until it began) of the benches of `plan`:
    [(seconds, name, word...)]."""
    boot = kernel()
    limit_s = BOOT_S + MORE_S + sum(float(line[0]) for line in plan)
    with tempfile.TemporaryDirectory(prefix="guest-", dir=FOLDER) as place:
        image_of(plan, programs, place).write(f"{place}/root")
        with Guest(boot, place) as guest:
            return read(guest, limit_s)


def read(guest, limit_s):
    found, now, boot_s, is_over = {}, "", 0.0, False
    for line in guest.lines(limit_s):
        words = line.split()
        if words[-2:] == ["vm:", "begun"]:
            boot_s = time.monotonic() - guest.began
        elif words[:2] == ["vm:", "play"]:
            now = words[2]
            found[now] = (1, [])
        elif words[:2] == ["vm:", "end"]:
            found[now] = (int(words[3]), found[now][1])
        elif now:
            found[now][1].append(line)
        is_over = is_over or words[:2] == ["vm:", "over"]
        print(f"# {line}", flush=True)
    if not is_over:
        raise Broken("the guest ended before its benches did")
    return found, boot_s


def figures_in(lines):
    """{name: [value]}, of each time that it is told."""
    found = {}
    for words in (line.split() for line in lines):
        if words[:1] == ["figure"] and len(words) > 2:
            found.setdefault(words[1], []).append(float(words[2]))
    return found


def plan_of(grants, seed, devices, escapes, way):
    """The benches in a guest. An emulated one is so slow that watches of ranks are late in it:
    there the kernel holds ranks alone."""
    run = ("env", f"MUSTER_BINARY={MUSTER}", str(ROOT / "bench" / "run"))
    held = ("env", f"MUSTER_BINARY={MUSTER}", "python3",
            str(ROOT / "bench" / "drivers" / "vm_held.py"))
    ways = "all" if way == "kvm" else "groups"
    plan = [(str(SETTLE_S), "held", *held),
            (str(SETTLE_S + 20 * grants), "limits", *run, "limits", "--grants", str(grants),
             "--seed", str(seed), "--ways", ways)]
    if devices:
        plan.append((str(SETTLE_S + 20 * devices), "devices", *run, "devices", "--grants",
                     str(devices), "--seed", str(seed)))
    if escapes:
        plan.append((str(2 * SETTLE_S), "escapes", *run, "escapes", "--levels", "room"))
    return plan


def vm_limits(grants=60, seed=1, devices=12, escapes=0):
    """`devices`: grants of random device nodes; `escapes` 1: attempts of a rank, too."""
    reason = why_not() or ("" if kernel() else
                           f"{KERNEL_PACKAGE} is not in {FOLDER}, and is not downloaded")
    if reason:
        print(f"left out: {reason}")
        return
    way = accelerator()[0]
    bench = cluster.BUILD / "bench"
    programs = [MUSTER, bench / "bench_limits", bench / "bench_devices"]
    found, boot_s = play(plan_of(grants, seed, devices, escapes, way),
                         programs + ([LIBRARY] if escapes else []))
    limits = figures_in(found["limits"][1])
    print(f"# by {way}, {CPUS} processors, {MEMORY_MB} MiB", flush=True)
    figure("vm_boot_s", boot_s, "s")
    figure("vm_held_broken", sum(figures_in(found["held"][1]).get("held_broken", [1])), "count")
    figure("vm_limits_grants", sum(limits.get("limits_grants", [])), "count")
    figure("vm_limits_ends", sum(limits.get("limits_ends", [])), "count")
    figure("vm_limits_broken", sum(limits.get("limits_broken", [grants])), "count")
    figure("vm_end_named", min(limits.get("end_named", [0.0])), "%")
    figure("vm_neighbours_touched", sum(limits.get("neighbours_touched", [grants])), "count")
    for name, told in (("devices", "devices_wrong"), ("escapes", "escapes")):
        if name in found:
            figure(f"vm_{told}", sum(figures_in(found[name][1]).get(told, [1])), "count")
    broken = [f"{name} (exit {code})" for name, (code, _) in found.items() if code != 0]
    if broken:
        raise Broken(f"in the guest broke: {', '.join(broken)}")
