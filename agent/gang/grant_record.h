#pragma once
// What an agent durably knows of one token: the record behind its state. A grant is an attempt's
// share on this host. Records live in Environment::kId under "grant/".

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "crdt/disk/write_batch.h"
#include "scheduler/protocol/agent_messages.h"

namespace muster::agent {

inline constexpr std::string_view kGrantTable = "grant/";

/// kRunning and kStopping are never written: what distinguishes them from kStarting is known by the
/// supervisor, which outlives the agent.
struct GrantRecord {
  Token token;
  scheduler::GrantState state = scheduler::GrantState::kReady;
  JobId job;
  std::uint32_t attempt = 1;
  scheduler::JobSpec spec;
  std::vector<scheduler::Member> members;  ///< Of the whole attempt, in rank order.
  Duration hold{0};
  std::vector<scheduler::RankResult> results;  ///< Set when kEnded and kAborted.
  bool operator==(const GrantRecord&) const = default;

  /// The member of `host`, or nothing when the attempt has none there.
  const scheduler::Member* member_of(HostId host) const;
  /// True when rank 0 is on `host`: it holds MASTER_PORT for the attempt's life.
  bool has_first_rank(HostId host) const;
};

/// One result of `kind` for each rank of `member`.
std::vector<scheduler::RankResult> results_of_all(const scheduler::Member& member,
                                                  scheduler::RankResult::Kind kind,
                                                  const std::string& detail);

std::string key_of_grant(Token token);
std::string encode(const GrantRecord& record);
/// Nothing when the bytes are not of that shape; unknown keys are skipped.
std::optional<GrantRecord> decode_grant(const std::string& bytes);

}  // namespace muster::agent
