"""Stories and benches that nobody plays rot: each name that `scenarios/run --list` and `bench/run
--list` show is begun, and played for some seconds. Whole, they are played by hand, or by tests of
their own."""

import concurrent.futures
import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BASE_PORT = int(os.environ.get("MUSTER_TEST_PORT", "8450"))
PORTS = 100  #: Of one of them.
AT_ONCE = 4
#: Until its faults begin; and of those that end by themselves, for they tell at their end.
SLICE_S = {"chaos": 20, "ranks_as_person": 60, "crowd": 60, "audit": 60,
           "clean": 60, "masked": 60, "devices": 60, "limits": 60, "escapes": 60, "probers": 60,
           "launch_rooms": 60, "burst": 60}
SLICE_ELSE_S = 6
LIMIT_S = 120  #: Of what does not end by itself.
TOLD_MAX = 4000  #: Letters of its last words.
CLEAN_UP_S = 30  #: For one that is told to end.
#: Of those whose usual size takes longer to make than to play.
SMALLER = {"restart": ["--jobs", "2000"], "account": ["--agents", "5"],
           "overload": ["--agents", "5", "--loops", "2"], "leases": ["--hosts", "100"],
           "restart_gangs": ["--gangs", "5", "--kills", "1"], "chaos": ["--hosts", "5"],
           "false_verdicts": ["--host_hours", "2"],
           "ranks_as_person": ["--jobs", "40", "--steps", "4"],
           "crowd": ["--seconds", "3", "--quiet", "2"],
           "audit": ["--calls", "300", "--places", "10"],
           "clean": ["--grants", "60", "--leaks", "0", "--planted", "20"],
           "masked": ["--trials", "3"],
           "devices": ["--grants", "200"], "limits": ["--grants", "10"],
           "launch_rooms": ["--grants", "20", "--runs", "3"],
           "share": ["--trees", "1"], "order": ["--states", "300"],
           "burst": ["--quiet", "2", "--burst", "5", "--clients", "10"],
           "gangs": ["--days", "2", "--hosts", "128"],
           "probers": ["--trials", "8", "--watched", "2"]}
#: Figures that have to be 0 in a slice, too.
ZERO = {"burst": ("burst_lost", "burst_unexplained")}
LEFT_OUT = {"same_behaviour": "builds another commit", "versus_serf": "needs serf",
            "vm_limits": "downloads a kernel, and boots it for minutes where it is emulated"}


def listed(runner):
    """(name, is it played on real processes) of each."""
    out = subprocess.run([ROOT / runner, "--list"], capture_output=True, text=True, check=True)
    return [(line.split()[0], "(--real" in line) for line in out.stdout.splitlines()
            if line[:1].strip()]


def last_words(process):
    """Of one that hangs: its output, and where its threads are (lab.end_after). It is asked to end
    first, for its agents would outlive it."""
    process.send_signal(signal.SIGUSR1)
    time.sleep(1)
    process.terminate()
    try:
        return process.communicate(timeout=CLEAN_UP_S)[0]
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        return process.communicate()[0]


def play(number, runner, name, is_real):
    """The output of one that broke; "" when it went well."""
    command = [str(ROOT / runner), name, *SMALLER.get(name, []),
               "--end-after", str(SLICE_S.get(name, SLICE_ELSE_S))]
    if runner == "scenarios/run":
        command += ["--base-port", str(BASE_PORT + PORTS * number)] + ["--real"] * is_real
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        out, _ = process.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return f"does not end within {LIMIT_S} s:\n{last_words(process)[-TOLD_MAX:]}"
    finally:
        with contextlib.suppress(ProcessLookupError):  # A bench's helpers may outlive its slice.
            os.killpg(process.pid, signal.SIGKILL)
    if process.returncode != 0:
        return f"exit {process.returncode}: {out[-600:]}"
    figures = [line.split() for line in out.splitlines() if line.startswith("figure ")]
    wrong = [figure for _, figure, value, *_ in figures
             if figure in ZERO.get(name, ()) and float(value) != 0]
    return f"not 0: {' '.join(wrong)}: {out[-600:]}" if wrong else ""


def main():
    wanted = [(runner, name, is_real) for runner in ("scenarios/run", "bench/run")
              for name, is_real in listed(runner)]
    broken = 0
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as hands:
        began = time.monotonic()
        turns = {}
        for number, (runner, name, is_real) in enumerate(wanted):
            if name in LEFT_OUT:
                print(f"left out  {runner} {name}: {LEFT_OUT[name]}", flush=True)
            else:
                turns[hands.submit(play, number, runner, name, is_real)] = f"{runner} {name}"
        for turn in concurrent.futures.as_completed(turns):
            why = turn.result()
            broken += bool(why)
            print(f"{'BROKEN' if why else 'ok':8}  {turns[turn]} "
                  f"{time.monotonic() - began:.0f} s {why}", flush=True)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
