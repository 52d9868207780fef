"""Has spin search the model of the attempt protocol (attempt.pml) to its end.

`run.py search` demands that no search finds an error, that each one is complete, and that every
WITNESS of the model was reached by some search. `run.py removals` leaves out one rule at a time and
demands a counter-example each, which it prints in the model's own words. Without an argument: both.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

MODEL = pathlib.Path(__file__).resolve().parent
MEMORY_MB = 2000
DEPTH_MAX = 100_000  # Steps of one run; the searches below reach some hundred.
SECONDS_MAX = 200
PAN_FLAGS = ["-w", "-DSAFETY", "-DNOREDUCE", f"-DMEMLIM={MEMORY_MB}"]

# Each is wide in one thing and narrow in the others; attempt.pml has the defaults.
SEARCHES = {
    "gangs": ["TOKENS=2"],
    "restarts": ["TOKENS=2", "RESTARTS=1", "LEADERS=1", "ONE_JOB"],
    "tokens": ["TOKENS=3", "RESTARTS=1", "HOSTS=1", "HOLD=3", "GRACE=2"],
}
# Each flag leaves out one rule. The first three are the ones whose loss must never go unseen.
NAMED = ["NO_TOKEN_CHECK", "NO_MAJORITY_ROUND", "NO_READY_ONLY_START"]
OTHERS = ["EQUAL_TOKEN", "ROUND_BEFORE_RECEIPT", "NO_OWN_TERM_ENTRY", "HOLD_FROM_RECEIPT",
          "HOLD_RESTARTED_BY_ASSIGN", "START_WITHOUT_HOLD", "SHORT_TIMER", "TIMER_SURVIVES_PARDON",
          "ABORT_AFTER_START", "REGISTER_ENDS_ALL", "RETRY_ON_SILENCE"]
# What a counter-example needs besides.
NEEDS = {"REGISTER_ENDS_ALL": ["RESTARTS=1"], "RETRY_ON_SILENCE": ["ONE_JOB"]}


class Failure(Exception):
    """What was demanded of a search did not hold."""


def call(command, folder, allowed=(0,)):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False,
                          timeout=SECONDS_MAX)
    said = done.stdout + done.stderr
    if done.returncode not in allowed:
        raise Failure(f"{' '.join(command)} exited {done.returncode}:\n{said[-3000:]}")
    return said


def build(folder, defines, *flags):
    """Makes folder/pan, the searcher of the model under `defines`."""
    for source in MODEL.glob("*.pml"):
        shutil.copy(source, folder)
    call(["spin", "-a", *(f"-D{define}" for define in defines), "attempt.pml"], folder)
    call(["gcc", *PAN_FLAGS, *flags, "-o", "pan", "pan.c"], folder)


def errors_in(said):
    found = re.search(r"errors: (\d+)", said)
    if found is None:
        raise Failure(f"pan ended early:\n{said[-3000:]}")
    return int(found.group(1))


def number_in(said, pattern):
    return float(re.search(pattern, said).group(1))


def search(name, defines):
    """One complete search without an error. Returns its number of states and its witnesses."""
    with tempfile.TemporaryDirectory() as folder:
        build(folder, [*defines, "WITNESSES"], "-O2")
        said = call(["./pan", f"-m{DEPTH_MAX}", "-w22", "-n"], folder)
    if errors_in(said) != 0:
        raise Failure(f"{name}: a counter-example to the whole model:\n{said[-3000:]}")
    cut_short = re.search(r"max search depth too small|not completed|out of memory|memory limit",
                          said)
    if cut_short is not None:
        raise Failure(f"{name}: the search is not complete ({cut_short.group(0)})")
    states = int(number_in(said, r"([\d.e+]+) states, stored"))
    seconds = number_in(said, r"elapsed time ([\d.]+)")
    megabytes = number_in(said, r"([\d.]+)\s+total actual memory")
    depth = int(number_in(said, r"depth reached (\d+)"))
    print(f"{name}: {states} states, depth {depth}, {seconds} s, {megabytes:.0f} MB, errors: 0",
          flush=True)
    return states, set(re.findall(r"^witness (\w+)$", said, re.MULTILINE))


def search_all():
    expected = set()
    for source in MODEL.glob("*.pml"):
        expected |= set(re.findall(r'WITNESS\(\d+, "(\w+)"\)', source.read_text()))
    states, witnessed = 0, set()
    for name, defines in SEARCHES.items():
        more, seen = search(name, defines)
        states += more
        witnessed |= seen
    print(f"figure model_states {states} count")
    print(f"figure model_witnesses {len(witnessed)} count")
    if not expected or witnessed != expected:
        raise Failure(f"never reached: {', '.join(sorted(expected - witnessed)) or 'no witness'}")


def counter_example(removal):
    """The shortest run that breaks a property without the rule, in words."""
    defines = [removal, "ONLY_TWO_BOUND", *NEEDS.get(removal, [])]
    with tempfile.TemporaryDirectory() as folder:
        build(folder, defines, "-O0", "-DBFS")
        said = call(["./pan", f"-m{DEPTH_MAX}", "-w22", "-n"], folder)
        if errors_in(said) == 0 or "assertion violated" not in said:
            return None
        words = call(["spin", "-t", "-T", *(f"-D{define}" for define in defines), "attempt.pml"],
                     folder, allowed=(0, 1))
    return [line for line in words.splitlines() if re.match(r"(log|host|leader|a tick)", line)]


def remove_each(removals):
    found = 0
    for removal in removals:
        steps = counter_example(removal)
        if steps is None:
            print(f"{removal}: NO counter-example", flush=True)
            continue
        found += 1
        print(f"{removal}: counter-example of {len(steps)} steps", flush=True)
        for step in steps:
            print(f"    {step}")
    return found


def remove_all():
    named = remove_each(NAMED)
    others = remove_each(OTHERS)
    print(f"figure model_removals_found {named} count")
    print(f"figure model_other_removals_found {others} count")
    if named != len(NAMED) or others != len(OTHERS):
        raise Failure("a rule can be left out and nothing is found: the model does not lean on it")


def main(arguments):
    parts = {"search": search_all, "removals": remove_all}
    if any(argument not in parts for argument in arguments):
        print(f"usage: run.py [{'|'.join(parts)}]", file=sys.stderr)
        return 2
    for tool in ("spin", "gcc"):
        if shutil.which(tool) is None:
            print(f"model: {tool} is missing; cmake/setup.sh installs it", file=sys.stderr)
            return 1
    try:
        for part in arguments or parts:
            parts[part]()
    except (Failure, subprocess.TimeoutExpired) as failure:
        print(f"model: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
