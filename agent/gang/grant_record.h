#pragma once
// GrantRecord is the durable record of a grant: an attempt's share of this host. Records lie in
// Environment::kId under "grant/", by token.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "crdt/disk/write_batch.h"
#include "scheduler/protocol/agent_messages.h"

namespace muster::agent {

inline constexpr std::string_view kGrantTable = "grant/";

/// kRunning and kStopping are never written: the supervisor, which outlives the agent, tells them
/// from kStarting.
struct GrantRecord {
  Token token;
  scheduler::GrantState state = scheduler::GrantState::kReady;
  JobId job;
  std::uint32_t attempt = 1;
  scheduler::JobSpec spec;
  std::vector<scheduler::Member> members;  ///< All members of the attempt, in the order of ranks.
  Duration hold{0};
  std::vector<scheduler::RankResult> results;  ///< Set in kEnded and kAborted.
  bool operator==(const GrantRecord&) const = default;

  /// The member on `host`; nullptr if the attempt has no member there.
  const scheduler::Member* member_of(HostId host) const;
  /// True if rank 0 is on `host`: it holds MASTER_PORT for the attempt's life.
  bool has_first_rank(HostId host) const;
};

/// One result of `kind` for each rank of `member`.
std::vector<scheduler::RankResult> results_of_all(const scheduler::Member& member,
                                                  scheduler::RankResult::Kind kind,
                                                  const std::string& detail);

std::string key_of_grant(Token token);
std::string encode(const GrantRecord& record);
/// nullopt if the bytes do not encode a record. Unknown keys are skipped.
std::optional<GrantRecord> decode_grant(const std::string& bytes);

}  // namespace muster::agent
