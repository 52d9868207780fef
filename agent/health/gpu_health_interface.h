#pragma once
// The inputs and the output of GpuHealth. The agent's edge makes the inputs: the prober's answers
// and events, the kernel's log, the results of hooks, and the orders of operators.

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "agent/hardware/machine_reading.h"
#include "agent/health/health_cause.h"
#include "agent/health/health_record.h"
#include "agent/health/kernel_message.h"
#include "agent/health/xid_merge.h"
#include "gossip/base/event.h"
#include "gossip/base/time.h"

namespace muster::agent {

namespace health {

/// Of the library's event: the GPU by uuid. Of the kernel's log: by address or uuid, as it stands
/// there, with the number of the record.
struct XidSeen {
  XidSource source = XidSource::kEvent;
  std::string uuid;
  std::string pci_id;
  std::uint32_t code = 0;
  std::string text;                   ///< For people; "" is fine.
  std::uint64_t kernel_sequence = 0;  ///< 0 for an event.
};
struct SwitchXidSeen {
  KernelSwitchXid xid;
  std::uint64_t kernel_sequence = 0;
};
/// The GPUs that this host registered with its leader. A look that lacks one is evidence.
struct Registered {
  std::vector<std::string> uuids;
};
struct Look {
  Instant began{};       ///< When the prober was asked.
  bool is_whole = true;  ///< False if it was a look at some of the GPUs.
  MachineReading reading;
};
/// The library did not answer in time: nothing is known, and nothing changes.
struct NoAnswer {};
/// The prober that asks this GPU alone does not come back.
struct GpuHangs {
  std::string uuid;
};
/// It came back. This ends the fact, not the cause.
struct GpuAnswers {
  std::string uuid;
  Instant began{};
};
/// From here to its end nothing that a look says of this GPU counts.
struct ResetBegan {
  std::string uuid;
};
struct ResetEnded {
  std::string uuid;
  std::string failure;  ///< "" if the reset was done.
};
struct CheckEnded {
  std::string uuid;
  Instant began{};
  std::string failure;  ///< "" if the self-test passed.
};
/// A program of the site that cleans up behind a grant did not agree. The grant held this GPU.
struct EpilogFailed {
  std::string uuid;
  std::string why;
};
/// An operator's word that the GPU is well: ends every cause. The log keeps an operator's mask.
struct UnmaskOrder {
  std::string uuid;
  std::string why;
};
/// An operator's word that the host is well.
struct UncordonOrder {
  std::string why;
};
/// A fact about the host; `why` is "" if it is over.
struct HostFact {
  HostCause cause = HostCause::kDriverStuck;
  std::string why;
};

using Input = std::variant<XidSeen, SwitchXidSeen, Registered, Look, NoAnswer, GpuHangs, GpuAnswers,
                           ResetBegan, ResetEnded, CheckEnded, EpilogFailed, UnmaskOrder,
                           UncordonOrder, HostFact>;

/// A GPU is in another state than before.
struct Change {
  std::string uuid;
  GpuState from = GpuState::kOk;
  GpuState to = GpuState::kOk;
  std::string why;
};
/// An Xid that the program on the GPU caused: evidence for its attempt.
struct AppFault {
  std::string uuid;
  std::uint32_t code = 0;
  std::string text;
};

struct Output {
  std::vector<Change> changes;
  bool has_host_changed = false;
  std::vector<std::string> resets;  ///< GPUs that want a reset as soon as they are idle.
  std::vector<std::string> checks;  ///< GPUs that want a self-test as soon as they are idle.
  std::vector<AppFault> app_faults;
  bool look_now = false;               ///< An Xid means something only beside a new look.
  std::optional<HealthRecord> record;  ///< To be stored in place of the last one.
  std::vector<Event> events;
};

}  // namespace health

/// For `muster gpus`.
struct GpuHealthInfo {
  std::string uuid;
  std::string pci_id;
  GpuState state = GpuState::kOk;
  std::string why;                    ///< "" if it is ok.
  Instant since{};                    ///< kLongAgo if it is ok.
  std::vector<std::string> evidence;  ///< A line for each open cause: "xid_mask: Xid 119 ...".
  std::uint64_t xids = 0;             ///< Since the agent began.
  bool wants_reset = false;
  bool wants_check = false;
};
struct HostHealthInfo {
  bool is_cordoned = false;
  std::string why;          ///< All causes, separated by "; ".
  bool is_answered = true;  ///< False while the library does not answer: the states are old.
};

}  // namespace muster::agent
