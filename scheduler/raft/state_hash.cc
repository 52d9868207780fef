#include "scheduler/raft/state_hash.h"

#include <algorithm>
#include <map>
#include <set>

#include "scheduler/raft/quorum.h"

namespace muster::scheduler {
namespace {

/// After this many newer hashes an alarm no longer waits for a voter that said no hash.
constexpr std::size_t kStateHashesAwaited = 4;

/// The hashes of the voters at one index.
struct Count {
  StateHash agreed;  ///< Form 0 if no majority holds one hash.
  std::size_t silent = 0;
  std::size_t highest = 0;
  std::size_t hashes = 0;
};

Count count_at(const std::vector<HashedMember>& members, std::uint64_t form, LogIndex index) {
  Count count;
  std::size_t voters = 0;
  std::map<std::uint64_t, std::size_t> votes;
  for (const HashedMember& member : members) {
    const StateHash said = member.hashes->at(index);
    voters += member.is_voter ? 1U : 0U;
    if (member.is_voter && said.form == form) {
      ++votes[said.hash];
    } else {
      count.silent += member.is_voter ? 1U : 0U;
    }
  }
  for (const auto& [hash, number] : votes) {
    count.highest = std::max(count.highest, number);
    if (number >= majority_of(voters)) {
      count.agreed = {form, index, hash};
    }
  }
  count.hashes = votes.size();
  return count;
}

}  // namespace

bool StateHashes::add(const StateHash& hash) {
  if (hash.form == 0 || hash == at(hash.index)) {
    return false;
  }
  // A member that applies its log again after a restart goes back in it.
  const bool is_next =
      kept_.empty() || (kept_.back().form == hash.form && kept_.back().index < hash.index);
  if (!is_next) {
    std::erase_if(kept_, [&](const StateHash& known) {
      return known.form != hash.form || known.index >= hash.index;
    });
  }
  kept_.push_back(hash);
  if (kept_.size() > kStateHashesKept) {
    kept_.pop_front();
  }
  return true;
}

StateHash StateHashes::at(LogIndex index) const {
  const auto found = std::find_if(kept_.begin(), kept_.end(),
                                  [&](const StateHash& known) { return known.index == index; });
  return found == kept_.end() ? StateHash() : *found;
}

HashFindings compare_hashes(const std::vector<HashedMember>& members, std::uint64_t form) {
  std::set<LogIndex> indexes;
  std::size_t voters = 0;
  for (const HashedMember& member : members) {
    voters += member.is_voter ? 1U : 0U;
    for (const StateHash& known : member.hashes->kept()) {
      indexes.insert(known.index);
    }
  }
  HashFindings findings;
  if (form == 0) {
    return findings;
  }
  std::set<HostId> judged;
  std::size_t newer = 0;
  bool is_decided = false;
  for (auto index = indexes.rbegin(); index != indexes.rend(); ++index, ++newer) {
    const Count count = count_at(members, form, *index);
    if (count.agreed.form == 0) {
      // The hash of a late voter may still decide.
      const bool is_hopeless = count.highest + count.silent < majority_of(voters);
      const bool is_split = count.hashes > 1 && (is_hopeless || newer >= kStateHashesAwaited);
      if (is_split && !is_decided && !findings.split.has_value()) {
        findings.split = *index;
      }
      continue;
    }
    is_decided = true;
    for (const HashedMember& member : members) {
      const StateHash said = member.hashes->at(*index);
      if (said.form == form && judged.insert(member.host).second && said != count.agreed) {
        findings.diverged.push_back({member.host, count.agreed});
      }
    }
  }
  return findings;
}

}  // namespace muster::scheduler
