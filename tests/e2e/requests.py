"""What jobs ask of hosts, on real processes: racks, islands, CPUs, memory, labels, host lists, ranks
without GPUs, one launcher a host. Each case is a function; its docstring is the promise."""

import json
import os
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scenarios"))

from lab import Failure, Lab, play, wait_for  # noqa: E402

BASE_PORT = int(os.environ.get("MUSTER_TEST_PORT", "7480"))
MACHINE = "sim:8xH100,cpus=16,mem=64G,island=4+4"
#: What each host is told beside its name.
FLAGS = {
    "a": {"gpus": MACHINE, "rack": "r1", "spine": "s1", "label": "zone=a"},
    "b": {"gpus": MACHINE, "rack": "r1", "spine": "s1", "label": "zone=a"},
    "c": {"gpus": MACHINE, "rack": "r2", "spine": "s1"},
    "d": {"gpus": "sim:4xA100,cpus=8,mem=32G", "rack": "r2", "spine": "s1"},
    "e": {"gpus": "cpus=8,mem=16G", "label": "disk=nvme"},
}


def submit(agent, *arguments):
    code, out, err = agent.cli("submit", *arguments)
    if code != 0:
        raise Failure(f"submit {' '.join(arguments)} exited {code}: {err}")
    return out.split()[1]


def refused(agent, *arguments, code, text):
    got, _, err = agent.cli("submit", *arguments, "--", "true")
    if got != code or text not in err:
        raise Failure(f"submit {' '.join(arguments)} exited {got}: {err}")


def detail(agent, number):
    return agent.ask("show", number) or {"job": {"state": "", "hosts": []}, "attempts": []}


def wait_state(agent, number, state, seconds=20):
    wait_for(f"job {number} {state}", lambda: detail(agent, number)["job"]["state"] == state,
             seconds)


def hosts_of(agent, number):
    return sorted(detail(agent, number)["job"]["hosts"])


def output_of(agent, number):
    code, out, err = agent.cli("logs", number, "--rank", "all")
    if code != 0:
        raise Failure(f"logs {number} exited {code}: {err}")
    return out


def shown_host(agent, name):
    code, out, err = agent.cli("hosts", "show", name, "--json")
    if code != 0:
        raise Failure(f"hosts show {name} exited {code}: {err}")
    return json.loads(out)


def cancel(agent, *numbers):
    for number in numbers:
        agent.cli("cancel", number)
    for number in numbers:
        wait_state(agent, number, "cancelled")


def run(agent, *arguments):
    number = submit(agent, *arguments)
    wait_state(agent, number, "completed")
    return number


def hosts_show_what_they_are(lab):
    """`hosts show` names rack, spine, labels, islands, CPUs and memory."""
    _, out, _ = lab["c"].cli("hosts", "show", "a")
    for text in ("rack        r1", "spine       s1", "zone=a", "arch=", "cpus        16,", "memory      64G,"):
        if " ".join(text.split()) not in " ".join(out.split()):
            raise Failure(f"no '{text}' in\n{out}")
    islands = shown_host(lab["c"], "a")["islands"]
    if islands != [0, 0, 0, 0, 1, 1, 1, 1]:
        raise Failure(f"its islands are {islands}")


def a_gang_stays_in_its_rack(lab):
    """--pack rack: 16 GPUs lie in the one rack that has them; 24 are impossible, and said so."""
    number = submit(lab["a"], "--gpus", "16", "--pack", "rack", "--", "sleep", "1000")
    wait_state(lab["a"], number, "running")
    if hosts_of(lab["a"], number) != ["a", "b"]:
        raise Failure(f"it runs on {hosts_of(lab['a'], number)}")
    refused(lab["b"], "--gpus", "24", "--pack", "rack", code=3, text="--pack spine would be possible")
    cancel(lab["a"], number)


def a_pack_that_waits_is_relaxed_and_says_so(lab):
    """--pack rack@2s is taken apart after two seconds of cluster time, with an event."""
    held = submit(lab["a"], "--gpus", "8", "--host", "b", "--", "sleep", "1000")
    wait_state(lab["a"], held, "running")
    number = submit(lab["a"], "--gpus", "16", "--gpu-type", "h100", "--pack", "rack@2s", "--",
                    "sleep", "1000")
    wait_state(lab["a"], number, "running", seconds=30)
    if hosts_of(lab["a"], number) != ["a", "c"]:
        raise Failure(f"it runs on {hosts_of(lab['a'], number)}")
    causes = [step["cause"] for step in lab["a"].ask("show", number)["transitions"]]
    if "pack rack relaxed" not in causes:
        raise Failure(f"its history says {causes}")
    _, out, _ = lab["a"].cli("events", "--job", number)
    if "relaxed" not in out:
        raise Failure(f"events say {out}")
    cancel(lab["a"], held, number)


def an_island_is_kept_whole(lab):
    """--pack island: four GPUs that share a switch."""
    one = submit(lab["a"], "--gpus", "1", "--host", "a", "--", "sleep", "1000")
    wait_state(lab["a"], one, "running")
    number = submit(lab["a"], "--gpus", "4", "--host", "a", "--pack", "island", "--", "sleep", "1000")
    wait_state(lab["a"], number, "running")
    listed = shown_host(lab["a"], "a")
    islands = {island for island, gpu in zip(listed["islands"], listed["gpu_list"])
               if str(gpu["job_id"]) == number}
    if len(islands) != 1:
        raise Failure(f"it lies in islands {islands}")
    cancel(lab["a"], one, number)


def ranks_without_gpus_run(lab):
    """--gpus 0 --ranks: they get CPUs, and no GPU; first on the host that has none."""
    number = run(lab["b"], "--gpus", "0", "--ranks", "3", "--", "sh", "-c",
                 "echo rank $RANK of $WORLD_SIZE gpus=$CUDA_VISIBLE_DEVICES.")
    out = output_of(lab["b"], number)
    for rank in range(3):
        if f"rank {rank} of 3 gpus=." not in out:
            raise Failure(f"it wrote {out}")
    if hosts_of(lab["b"], number) not in ([], ["e"]):
        raise Failure(f"it ran on {hosts_of(lab['b'], number)}")
    members = detail(lab["b"], number)["attempts"][0]["members"]
    if [(m["host"], m["cpu_thousandths"], m["memory_mib"]) for m in members] != [("e", 3000, 6144)]:
        raise Failure(f"it was given {members}")


def one_launcher_a_host_sees_all_its_gpus(lab):
    """--gpus 2x8 --ranks-per-host 1: two ranks, eight GPUs each."""
    number = run(lab["a"], "--gpus", "2x8", "--ranks-per-host", "1", "--", "sh", "-c",
                 "echo $RANK/$WORLD_SIZE local $LOCAL_RANK/$LOCAL_WORLD_SIZE "
                 "node $NODE_RANK gpus $(echo $CUDA_VISIBLE_DEVICES | tr , '\\n' | wc -l)")
    out = output_of(lab["a"], number)
    for rank in range(2):
        if f"{rank}/2 local 0/1 node {rank} gpus 8" not in out:
            raise Failure(f"it wrote {out}")


def cpus_can_be_what_is_missing(lab):
    """CPUs are counted: `why` names them when GPUs are free and CPUs are not."""
    eater = submit(lab["a"], "--gpus", "0", "--ranks", "1", "--cpus", "15", "--host", "a", "--",
                   "sleep", "1000")
    wait_state(lab["a"], eater, "running")
    number = submit(lab["a"], "--gpus", "4", "--host", "a", "--", "true")
    time.sleep(1)
    code, out, _ = lab["a"].cli("why", number)
    if code != 0 or "CPUs" not in out or detail(lab["a"], number)["job"]["state"] != "queued":
        raise Failure(f"why says {out}")
    cancel(lab["a"], eater)
    wait_state(lab["a"], number, "completed")


def labels_types_and_lists_choose_hosts(lab):
    """Labels, types in order of preference, and host lists."""
    for arguments, hosts in ((("--label", "zone=a", "--gpus", "16"), ["a", "b"]),
                             (("--not-label", "zone=a", "--gpus", "8"), ["c"]),
                             (("--gpu-type", "a100,h100", "--gpus", "4"), ["d"]),
                             (("--gpu-type", "a100,h100", "--gpus", "8"), None),
                             (("--host", "b,c", "--gpus", "2x8"), ["b", "c"]),
                             (("--not-host", "a,b,c", "--gpus", "2"), ["d"]),
                             (("--gpus", "0", "--ranks", "1", "--label", "disk=nvme"), ["e"])):
        number = run(lab["a"], *arguments, "--", "true")
        members = detail(lab["a"], number)["attempts"][0]["members"]
        found = sorted(member["host"] for member in members)
        if hosts is not None and found != hosts or hosts is None and "d" in found:
            raise Failure(f"{' '.join(arguments)} ran on {found}")


def a_dry_run_tells_and_submits_nothing(lab):
    """Which hosts it would get; that others are ahead; what is missing; what can never be."""
    before = len(lab["a"].ask("jobs", "--all")["jobs"])

    def dry(agent, *arguments):
        code, out, err = agent.cli("submit", "--dry-run", "--json", *arguments, "--", "true")
        if code != 0:
            raise Failure(f"dry run of {' '.join(arguments)} exited {code}: {err}")
        return json.loads(out)

    told = dry(lab["e"], "--gpus", "12", "--gpu-type", "H100", "--pack", "rack")
    places = {place["host"]: place["units"] for place in told["places"]}
    if told["job_id"] is not None or sorted(places.values()) != [4, 8] or set(places) != {"a", "b"}:
        raise Failure(f"a gang of 12 in one rack would get {told}")
    code, out, _ = lab["b"].cli("submit", "--dry-run", "--gpus", "8", "--host", "c", "--", "true")
    if code != 0 or "dry run: not submitted; it fits and starts now" not in out \
            or "places   c (8)" not in out:
        raise Failure(f"it would get host c: {out}")
    holder = submit(lab["a"], "--gpus", "8", "--host", "c", "--", "sleep", "1000")
    wait_state(lab["a"], holder, "running")
    told = dry(lab["b"], "--gpus", "24", "--gpu-type", "H100")
    if told["places"] or told["lacking"] != 8 or told["would_start"] != [int(holder)]:
        raise Failure(f"8 of 24 are held: {told}")
    waiting = submit(lab["a"], "--gpus", "24", "--gpu-type", "H100", "--", "true")
    told = dry(lab["c"], "--gpus", "1", "--gpu-type", "H100")
    if told["ahead"] != [int(waiting)] or told["places"]:
        raise Failure(f"job {waiting} is ahead of it: {told}")
    told = dry(lab["c"], "--gpus", "1", "--gpu-type", "H100", "--priority", "1")
    if told["ahead"] or len(told["places"]) != 1:
        raise Failure(f"with a higher priority it would be first: {told}")
    cancel(lab["a"], waiting, holder)
    refused(lab["d"], "--dry-run", "--gpus", "1x16", code=3,
            text="no host has 16 GPUs; the most is 8")
    refused(lab["d"], "--dry-run", "--wait", "--gpus", "1", code=2, text="submits nothing")
    if len(lab["a"].ask("jobs", "--all")["jobs"]) != before + 2:
        raise Failure("a dry run left a job")


def what_cannot_be_is_refused_at_once(lab):
    """Exit 3, and what could be is named."""
    for arguments, text in ((("--gpu-type", "b200"), "there are: A100, H100"),
                            (("--label", "zone=z"), "no host has the label zone=z; there are:"),
                            (("--host", "nobody"), "no host is called nobody"),
                            (("--gpus", "1x16"), "no host has 16 GPUs; the most is 8"),
                            (("--gpus", "24", "--cpus", "3/gpu"),
                             "GPUs with 3 CPUs each, and the hosts could ever hold"),
                            (("--gpus", "1", "--mem", "100G"),
                             "no host has 100G of memory for each GPU; the most is"),
                            (("--gpus", "8", "--pack", "island"), "--pack host would be possible")):
        refused(lab["d"], *arguments, code=3, text=text)


def main():
    cases = [hosts_show_what_they_are, a_gang_stays_in_its_rack, an_island_is_kept_whole,
             ranks_without_gpus_run, one_launcher_a_host_sees_all_its_gpus,
             labels_types_and_lists_choose_hosts, cpus_can_be_what_is_missing,
             a_pack_that_waits_is_relaxed_and_says_so, a_dry_run_tells_and_submits_nothing,
             what_cannot_be_is_refused_at_once]
    broken = 0
    with Lab("abcde", base_port=BASE_PORT) as lab:
        for name, flags in FLAGS.items():
            lab[name].flags = flags
        lab.start()
        wait_for("a leader", lambda: (lab["a"].ask("quorum") or {}).get("leader"), 20)
        wait_for("all GPUs", lambda: lab["a"].cli("submit", "--gpus", "24", "--gpu-type", "H100",
                                                  "--wait", "--", "true", timeout=30)[0] == 0, 60)
        wait_for("the last hosts", lambda: lab["a"].cli("hosts", "show", "e")[0] == 0 and
                 lab["a"].cli("hosts", "show", "d")[0] == 0, 30)
        broken += play(cases, lab)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
