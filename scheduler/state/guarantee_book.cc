#include "scheduler/state/guarantee_book.h"

#include <algorithm>
#include <utility>

#include "gossip/base/check.h"

namespace muster::scheduler {
namespace {

/// Thousandths of one GPU or CPU.
constexpr std::uint64_t kThousandths = 1000;
/// More than an attempt can hold: sums of as many as a snapshot may have stay below 2^64.
constexpr std::uint64_t kClaimMax = std::uint64_t{1} << 40;

/// The key of the accounts of that pool itself.
std::string_view own_key(std::string_view pool) {
  return pool == kCpuPool ? kCpus : pool;
}

/// Calls `visit` with the key of each account in which attempts of that pool stand. A GPU type may
/// have the name of another key: it has no account of its own.
template <class Visit>
void each_key(std::string_view pool, Visit visit) {
  if (pool != kAllGpus && pool != kCpus) {
    visit(own_key(pool));
  }
  if (pool != kCpuPool) {
    visit(kAllGpus);
  }
}

/// Whether attempts of that pool stand in accounts of that key.
bool stands_in(std::string_view pool, std::string_view key) {
  bool is_found = false;
  each_key(pool, [&](std::string_view each) { is_found = is_found || each == key; });
  return is_found;
}

std::uint8_t& bits_of(Cover& cover, std::string_view key) {
  return key == kAllGpus ? cover.by_all_gpus : cover.by_pool;
}

void set_bit(std::uint8_t& bits, std::uint32_t depth, bool is_set) {
  const auto bit = static_cast<std::uint8_t>(1U << depth);
  bits = static_cast<std::uint8_t>(is_set ? bits | bit : bits & ~bit);
}

bool is_covered_at(Cover cover, std::string_view key, std::uint32_t depth) {
  return (bits_of(cover, key) >> depth & 1U) != 0;
}

/// Paths of the queue and all above it, from the top.
std::vector<std::string_view> paths_to(const QueueBook& queues, QueueNumber queue) {
  std::vector<std::string_view> paths;
  for (; queue != kRootQueue; queue = queues.at(queue).parent) {
    paths.emplace_back(queues.at(queue).node.path);
  }
  std::reverse(paths.begin(), paths.end());
  return paths;
}

}  // namespace

GuaranteeBook::GuaranteeBook(const QueueBook& queues) {
  for (const QueueRecord& record : queues.all()) {
    Queue queue;
    queue.parent = index_of(record.parent);
    const bool is_root = queues_.empty();
    queue.depth = is_root || queue.parent == 0 ? 0 : queues_.at(queue.parent).depth + 1;
    for (const auto& [key, amount] : record.guaranteed) {
      queue.accounts[key].limit = amount * kThousandths;
    }
    queues_.push_back(std::move(queue));
  }
}

std::optional<GuaranteeBook> GuaranteeBook::of(const QueueBook& queues, Claims claims) {
  GuaranteeBook book(queues);
  for (const auto& [token, claim] : claims) {
    const bool is_sane = claim.charge != 0 && claim.charge <= kClaimMax &&
                         index_of(claim.queue) < book.queues_.size() &&
                         queues.at(claim.queue).is_leaf();
    if (!is_sane) {
      return std::nullopt;
    }
    Cover known;
    bool is_sound = true;
    each_key(claim.pool, [&](std::string_view key) {
      is_sound = is_sound && book.stand(token, claim, key);
      for (std::uint32_t at = index_of(claim.queue); at != 0; at = book.queues_[at].parent) {
        if (book.account(at, key) != nullptr) {
          set_bit(bits_of(known, key), book.queues_[at].depth, true);
        }
      }
    });
    is_sound = is_sound && (claim.cover.by_pool & ~known.by_pool) == 0 &&
               (claim.cover.by_all_gpus & ~known.by_all_gpus) == 0;
    if (!is_sound) {
      return std::nullopt;
    }
  }
  for (const Queue& queue : book.queues_) {
    for (const auto& [key, account] : queue.accounts) {
      if (account.covered > account.limit ||
          (account.claimed <= account.limit && !account.lent.empty())) {
        return std::nullopt;
      }
    }
  }
  book.claims_ = std::move(claims);
  return book;
}

/// Enters a covered claim into the accounts of that key. False if it is covered below and not here.
bool GuaranteeBook::stand(const Token& token, const Claim& claim, std::string_view key) {
  bool is_below = false;
  for (std::uint32_t at = index_of(claim.queue); at != 0; at = queues_[at].parent) {
    Account* const found = account(at, key);
    if (found == nullptr) {
      continue;
    }
    const bool is_here = is_covered_at(claim.cover, key, queues_[at].depth);
    if (is_below && !is_here) {
      return false;
    }
    found->claimed += claim.charge;
    if (is_here) {
      found->covered += claim.charge;
      if (!is_below) {
        found->own.insert(token);
      }
    } else {
      found->lent.insert(token);
    }
    is_below = is_here;
  }
  return true;
}

Cover GuaranteeBook::cover(const Token& token) const {
  const auto found = claims_.find(token);
  return found == claims_.end() ? Cover() : found->second.cover;
}

const GuaranteeBook::Account* GuaranteeBook::account(std::uint32_t queue,
                                                     std::string_view key) const {
  const auto& accounts = queues_.at(queue).accounts;
  const auto found = accounts.find(key);
  return found == accounts.end() ? nullptr : &found->second;
}

GuaranteeBook::Account* GuaranteeBook::account(std::uint32_t queue, std::string_view key) {
  auto& accounts = queues_.at(queue).accounts;
  const auto found = accounts.find(key);
  return found == accounts.end() ? nullptr : &found->second;
}

std::uint64_t GuaranteeBook::claimed(QueueNumber queue, std::string_view key) const {
  const Account* const found = account(index_of(queue), key);
  return found == nullptr ? 0 : found->claimed;
}

bool GuaranteeBook::is_owed(QueueNumber queue, std::string_view pool, std::uint64_t charge) const {
  bool is_covered = false;
  each_key(pool, [&](std::string_view key) {
    const Account* const found = account(index_of(queue), key);
    is_covered = is_covered || (found != nullptr && found->claimed <= found->limit &&
                                charge <= found->limit - found->claimed);
  });
  return is_covered;
}

void GuaranteeBook::add(const Token& token, QueueNumber leaf, const std::string& pool,
                        std::uint64_t charge) {
  replace({}, token, leaf, pool, charge);
}

void GuaranteeBook::remove(const Token& token, std::uint64_t charge) {
  const auto known = claims_.find(token);
  CHECK(known != claims_.end());
  CHECK(known->second.charge >= charge);
  const Claim before = known->second;
  known->second.charge -= charge;
  if (before.charge == charge) {
    claims_.erase(known);
  }
  each_key(before.pool, [&](std::string_view key) {
    lower(token, before, charge, key);
    settle_path(before.queue, key);
  });
}

Cover GuaranteeBook::cover_instead(QueueNumber leaf, std::string_view pool, std::uint64_t charge,
                                   std::span<const Token> gone) const {
  Cover cover;
  each_key(pool, [&](std::string_view key) {
    bool is_below = false;
    for (std::uint32_t at = index_of(leaf); at != 0; at = queues_[at].parent) {
      const Account* const found = account(at, key);
      if (found == nullptr) {
        continue;
      }
      std::uint64_t left = found->limit - found->covered;
      for (const Token& token : gone) {
        const bool is_here = is_in(token, at) && stands_in(claims_.at(token).pool, key);
        left += is_here && is_covered_at(this->cover(token), key, queues_[at].depth)
                    ? claims_.at(token).charge
                    : 0;
      }
      is_below = is_below || charge <= left;
      if (is_below) {
        set_bit(bits_of(cover, key), queues_[at].depth, true);
      }
    }
  });
  return cover;
}

void GuaranteeBook::replace(std::span<const Token> gone, const Token& token, QueueNumber leaf,
                            const std::string& pool, std::uint64_t charge) {
  CHECK(charge != 0);
  std::vector<Claim> left;
  for (const Token& each : gone) {
    const auto known = claims_.find(each);
    if (known == claims_.end()) {
      continue;
    }
    left.push_back(known->second);
    claims_.erase(known);
    each_key(left.back().pool,
             [&](std::string_view key) { lower(each, left.back(), left.back().charge, key); });
  }
  const auto [claim, is_new] = claims_.emplace(token, Claim{leaf, pool, charge});
  CHECK(is_new);
  each_key(pool, [&](std::string_view key) {
    enter(token, claim->second, key);
    settle_path(leaf, key, gone.empty() ? Token() : token);
  });
  for (const Claim& each : left) {
    each_key(each.pool, [&](std::string_view key) { settle_path(each.queue, key); });
  }
}

/// It stands in the accounts above it, not covered.
void GuaranteeBook::enter(const Token& token, const Claim& claim, std::string_view key) {
  for (std::uint32_t at = index_of(claim.queue); at != 0; at = queues_[at].parent) {
    if (Account* const found = account(at, key); found != nullptr) {
      found->claimed += claim.charge;
      found->lent.insert(token);
    }
  }
}

/// It holds so much less in the accounts above it, and leaves them if it holds nothing any more.
void GuaranteeBook::lower(const Token& token, const Claim& before, std::uint64_t charge,
                          std::string_view key) {
  for (std::uint32_t at = index_of(before.queue); at != 0; at = queues_[at].parent) {
    Account* const found = account(at, key);
    if (found == nullptr) {
      continue;
    }
    found->claimed -= charge;
    found->covered -= is_covered_at(before.cover, key, queues_[at].depth) ? charge : 0;
    if (before.charge == charge) {
      found->own.erase(token);
      found->lent.erase(token);
    }
  }
}

/// Whether the claim is in that queue or below it.
bool GuaranteeBook::is_in(const Token& token, std::uint32_t queue) const {
  const auto claim = claims_.find(token);
  std::uint32_t at = claim == claims_.end() ? 0 : index_of(claim->second.queue);
  while (at != 0 && at != queue) {
    at = queues_[at].parent;
  }
  return at == queue;
}

void GuaranteeBook::set_covered(const Token& token, std::string_view key, std::uint32_t depth,
                                bool is_covered) {
  set_bit(bits_of(claims_.at(token).cover, key), depth, is_covered);
}

/// Brings the account in order after a turn of the accounts of that key one queue below. `first`:
/// it comes before the others that are not covered.
GuaranteeBook::Turn GuaranteeBook::settle(Account& account, std::string_view key,
                                          std::uint32_t depth, const Turn& below,
                                          const Token& first) {
  Turn turn;
  const auto cover = [&](const Token& token) {
    account.covered += claims_.at(token).charge;
    set_covered(token, key, depth, true);
    // An attempt that gave way above and fits again has not turned.
    const auto gone = std::find(turn.uncovered.begin(), turn.uncovered.end(), token);
    if (gone == turn.uncovered.end()) {
      turn.covered.push_back(token);
    } else {
      turn.uncovered.erase(gone);
    }
  };
  for (const Token& token : below.covered) {
    if (account.own.erase(token) == 0) {
      account.lent.erase(token);
      cover(token);
    }
  }
  account.own.insert(below.uncovered.begin(), below.uncovered.end());
  while (account.covered > account.limit) {
    CHECK(!account.own.empty());
    const Token youngest = *account.own.rbegin();
    account.own.erase(youngest);
    account.lent.insert(youngest);
    account.covered -= claims_.at(youngest).charge;
    set_covered(youngest, key, depth, false);
    turn.uncovered.push_back(youngest);
  }
  const auto fits = [&](const Token& token) {
    return claims_.at(token).charge <= account.limit - account.covered;
  };
  if (account.lent.contains(first) && fits(first)) {
    account.lent.erase(first);
    account.own.insert(first);
    cover(first);
  }
  std::size_t passed_over = 0;
  for (auto next = account.lent.begin();
       next != account.lent.end() && passed_over < kPassedOverMax;) {
    if (!fits(*next)) {
      ++passed_over;
      ++next;
      continue;
    }
    account.own.insert(*next);
    cover(*next);
    next = account.lent.erase(next);
  }
  return turn;
}

/// From the leaf up. Every queue above one with an account of that key has one, too.
void GuaranteeBook::settle_path(QueueNumber leaf, std::string_view key, const Token& first) {
  Turn turn;
  for (std::uint32_t at = index_of(leaf); at != 0; at = queues_[at].parent) {
    if (Account* const found = account(at, key); found != nullptr) {
      turn = settle(*found, key, queues_[at].depth, turn, first);
    }
  }
}

void GuaranteeBook::retell(const QueueBook& before, const QueueBook& after, Claims claims) {
  GuaranteeBook told(after);
  for (auto& [token, claim] : claims) {
    const Claim& was = claims_.at(token);
    const auto old_paths = paths_to(before, was.queue);
    const auto new_paths = paths_to(after, claim.queue);
    claim.cover = {};
    each_key(claim.pool, [&](std::string_view key) {
      const bool may_stay = key == kAllGpus || was.pool == claim.pool;
      for (std::uint32_t at = index_of(claim.queue); at != 0; at = told.queues_[at].parent) {
        const std::uint32_t depth = told.queues_[at].depth;
        const bool is_same =
            may_stay && depth < old_paths.size() && old_paths[depth] == new_paths[depth];
        if (is_same && is_covered_at(was.cover, key, depth) && told.account(at, key) != nullptr) {
          set_bit(bits_of(claim.cover, key), depth, true);
        }
      }
      const bool is_sound = told.stand(token, claim, key);
      CHECK(is_sound);
    });
  }
  told.claims_ = std::move(claims);
  told.settle_all();
  *this = std::move(told);
}

/// A queue has a higher number than the one above it.
void GuaranteeBook::settle_all() {
  std::vector<std::map<std::string, Turn, std::less<>>> below(queues_.size());
  for (std::size_t at = queues_.size(); at-- > 1;) {
    for (auto& [key, account] : queues_[at].accounts) {
      const Turn turn = settle(account, key, queues_[at].depth, below[at][key]);
      Turn& above = below[queues_[at].parent][key];
      above.covered.insert(above.covered.end(), turn.covered.begin(), turn.covered.end());
      above.uncovered.insert(above.uncovered.end(), turn.uncovered.begin(), turn.uncovered.end());
    }
  }
}

}  // namespace muster::scheduler
