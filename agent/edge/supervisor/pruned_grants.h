#pragma once
// The grants whose output was removed, and by which rule: `logs` says so instead of "no output". A
// file beside the grants has one line for each; a restart reads it, and it keeps the newest. It is
// for people alone: a line that is lost makes an answer less precise. Owned by KeptGrants.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/api/output.h"
#include "gossip/base/event.h"
#include "gossip/base/ids.h"

namespace muster::agent {

enum class PruneRule : std::uint8_t { kAge = 0, kBytes = 1, kFiles = 2 };
/// "age", "bytes", "files"
std::string text_of(PruneRule rule);
/// "it was removed, as ..."
std::string sentence_of(PruneRule rule, const OutputRule& limits);

struct PrunedGrant {
  Token token;
  std::string job;  ///< The number of the job or array; "" = not known.
  PruneRule rule = PruneRule::kAge;
};

/// One event a rule, however many went.
std::vector<Event> events_of(const std::vector<PrunedGrant>& grants, const OutputRule& limits);

class PrunedGrants {
 public:
  /// `path`: its file, which need not be there yet.
  explicit PrunedGrants(std::string path);
  void add(Token token, PruneRule rule);
  std::optional<PruneRule> find(Token token) const;
  /// Lower: `logs` cannot say why output of long ago is gone; higher: a longer file.
  static constexpr std::size_t kRememberedMax = 20'000;

 private:
  void rewrite();

  std::string path_;
  std::map<Token, PruneRule> rules_;
  std::size_t lines_ = 0;  ///< In the file.
};

}  // namespace muster::agent
