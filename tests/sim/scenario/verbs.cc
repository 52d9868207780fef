#include "tests/sim/scenario/verbs.h"

namespace muster::sim::scenario {
namespace {

constexpr VerbRow kVerbs[kVerbCount] = {
    {Verb::kStart, "start", "SET", "the agents start again", "", ""},
    {Verb::kKill, "kill", "SET", "SIGKILL of the agents; their ranks run on", "", ""},
    {Verb::kRestart, "restart", "SET", "kill and start", "", ""},
    {Verb::kFreeze, "freeze", "SET", "every process of the hosts stands still", "", ""},
    {Verb::kThaw, "thaw", "SET", "... and goes on", "", ""},
    {Verb::kPowerOff, "power off", "SET",
     "hosts lose their power; what was not synced is lost in the simulator alone", "", ""},
    {Verb::kPowerOn, "power on", "SET", "hosts boot and their agents start", "", ""},
    {Verb::kCut, "cut", "SET from SET [one-way] [loss P%]",
     "no packet passes between them; one-way: from the first to the second; loss: only this share "
     "is lost",
     "", ""},
    {Verb::kRing, "ring", "SET", "each of them reaches its two neighbours among them alone", "",
     ""},
    {Verb::kFlap, "flap", "SET from SET every D for D", "cut for D, whole for D, and so on", "",
     ""},
    {Verb::kHeal, "heal", "[over D]", "every cable is whole; over D: one host after the other", "",
     ""},
    {Verb::kDelay, "delay", "SET from SET D", "all that is said between them takes D longer", "",
     "the kernel has no netem here"},
    {Verb::kSlowDisk, "slow disk", "SET D", "a synced write takes D; 0s: as before", "",
     "a device that is slow needs device-mapper"},
    {Verb::kFillDisk, "fill disk", "SET", "the data directory's file system is full",
     "its disks have no size", ""},
    {Verb::kFreeDisk, "free disk", "SET", "... and has room again", "its disks have no size", ""},
    {Verb::kClockRate, "clock rate", "SET N ppm",
     "the clocks run so much too fast, from the start on", "",
     "a clock's rate belongs to the whole machine"},
    {Verb::kClockJump, "clock jump", "SET [back] D", "the wall clocks of the agents jump by D", "",
     ""},
    {Verb::kSubmit, "submit", "NAME GPUS [for D] [hold D]",
     "a gang of one rank a GPU; GPUS may be a share: 50%", "", ""},
    {Verb::kCancel, "cancel", "NAME", "the job is cancelled", "", ""},
    {Verb::kLead, "lead", "SET", "the quorum is transferred to that one voter", "", ""},
};

}  // namespace

std::span<const VerbRow> verb_table() {
  return kVerbs;
}

const VerbRow& row_of(Verb verb) {
  return kVerbs[static_cast<std::size_t>(verb)];
}

}  // namespace muster::sim::scenario
