#pragma once
// A program of the kernel that decides which character devices the processes of a control group
// (v2) may open: BPF_PROG_TYPE_CGROUP_DEVICE, written as instructions, so that neither a compiler
// nor a library for it is needed. It works without any controller. Programs of groups above count
// as well: each must allow.

#include <linux/bpf.h>

#include <string>
#include <vector>

#include "agent/isolation/room_plan.h"
#include "gossip/base/result.h"

namespace muster::agent {

/// Allows to open `allowed` for reading and writing, and nothing else: no other character or block
/// device, and no making of a node.
std::vector<bpf_insn> device_program(const std::vector<DeviceNumber>& allowed);

/// Loads that program and attaches it to the group; it stays as long as the group. kIo says which
/// call failed.
Status attach_device_program(const std::string& group, const std::vector<DeviceNumber>& allowed);

}  // namespace muster::agent
