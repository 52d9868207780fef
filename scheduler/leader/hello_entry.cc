#include "scheduler/leader/hello_entry.h"

#include <set>
#include <string>

namespace muster::scheduler {

bool is_live_grant(GrantState state) {
  return state != GrantState::kEnded && state != GrantState::kAborted;
}

std::vector<const GrantReport*> adoptable_grants(const State& state, const HostId& host,
                                                 const Hello& hello) {
  std::vector<const GrantReport*> reports;
  for (const GrantReport& report : hello.grants) {
    if (report.detail.has_value() && state.may_be_adopted(report.token) &&
        state.adoption({host, hello.start, report.token, *report.detail}) !=
            State::Adoption::kNever) {
      reports.push_back(&report);
    }
  }
  return reports;
}

entry::Register register_of(const State& state, const HostId& host, const Hello& hello) {
  entry::Register fact;
  fact.host = host;
  fact.start = hello.start;
  fact.boot_id = hello.boot_id;
  fact.name = hello.name;
  fact.gpu_type = hello.gpu_type;
  fact.gpus = hello.gpus;
  fact.cpus = hello.cpus;
  fact.memory_mb = hello.memory_mb;
  fact.stuck = hello.stuck;
  fact.has_namespaces = hello.has_namespaces;
  fact.traits = hello.traits;
  for (const GrantReport& grant : hello.grants) {
    if (grant.state != GrantState::kAborted) {
      fact.live.push_back({grant.token, grant.state == GrantState::kEnded});
    }
  }
  const std::vector<const GrantReport*> reports = adoptable_grants(state, host, hello);
  if (reports.empty()) {
    return fact;
  }
  // No other attempt gets the GPUs that such an attempt holds.
  std::set<std::string> withheld(hello.stuck.begin(), hello.stuck.end());
  for (const GrantReport* report : reports) {
    fact.adoptable.push_back(report->token);
    for (const Member& member : report->detail->members) {
      for (const GpuSlot& gpu : member.gpus) {
        if (member.host == host) {
          withheld.insert(gpu.uuid.text());
        }
      }
    }
  }
  fact.stuck.assign(withheld.begin(), withheld.end());
  return fact;
}

bool is_registered_as(const HostRecord& record, const entry::Register& wanted) {
  return !record.recovery.awaits_hello && record.start == wanted.start &&
         record.boot_id == wanted.boot_id && record.name == wanted.name &&
         record.gpu_type == wanted.gpu_type && record.gpus == wanted.gpus &&
         record.cpus == wanted.cpus && record.memory_mb == wanted.memory_mb &&
         record.quarantined == wanted.stuck && record.recovery.unadopted == wanted.adoptable &&
         record.has_namespaces == wanted.has_namespaces && record.traits == wanted.traits;
}

}  // namespace muster::scheduler
