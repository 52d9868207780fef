#pragma once
// GuaranteeBook: for each attempt that holds something, the queues of its path at which it is
// guaranteed. Elsewhere it borrows: the owner of a guarantee may take it back from there. Owned by
// Books; pure; integers only.
//
// A queue keeps an account for each key of its guarantees: a GPU type, kAllGpus or kCpus. An
// attempt stands in the account of its pool and, if it holds GPUs, in that of kAllGpus; it is
// guaranteed at a queue if one of them covers it. An account covers attempts whole, in this order,
// as far as its guarantee reaches: those covered by the account of that key one queue below, those
// that it covers already, and the others, the oldest first. Hence an attempt that is covered stays
// so until it holds less, the tree changes, or a queue below needs the guarantee for itself. By age
// alone, each end of an attempt might turn the guarantees of others, and two queues could take from
// each other without an end.
//
// Invariants: what is covered below is covered by every account of that key above; an account
// covers at most its guarantee; if all that stands in an account fits, all of it is covered.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/state/queue_book.h"
#include "scheduler/state/share_book.h"

namespace muster::scheduler {

/// Attempts that do not fit and are passed for younger ones, at one account and event. Beyond that
/// a younger one waits for the next event, though it would fit.
inline constexpr std::size_t kPassedOverMax = 64;

/// Where an attempt is covered: a bit for each depth of its path, bit 0 for the queue at the top.
struct Cover {
  std::uint8_t by_pool = 0;
  std::uint8_t by_all_gpus = 0;
  bool operator==(const Cover&) const = default;

  bool is_none() const { return by_pool == 0 && by_all_gpus == 0; }
  bool is_at(std::size_t depth) const { return ((by_pool | by_all_gpus) >> depth & 1U) != 0; }
};
static_assert(kQueueDepthMax <= 8);

class GuaranteeBook {
 public:
  /// The amount that an attempt holds, and where.
  struct Claim {
    QueueNumber queue{};  ///< A leaf.
    std::string pool;     ///< A folded GPU type, kOtherPool or kCpuPool.
    std::uint64_t charge = 0;
    Cover cover{};
    bool operator==(const Claim&) const = default;
  };
  using Claims = std::map<Token, Claim>;

  /// Of a tree, without claims.
  explicit GuaranteeBook(const QueueBook& queues = QueueBook());
  /// Of a tree, with claims that are covered as they say. nullopt if the invariants do not hold.
  static std::optional<GuaranteeBook> of(const QueueBook& queues, Claims claims);

  const Claims& claims() const { return claims_; }
  bool has(const Token& token) const { return claims_.contains(token); }
  /// None for an attempt without a claim.
  Cover cover(const Token& token) const;
  /// All that stands in the account of the queue, in thousandths, covered or not; 0 if the queue
  /// has no such account.
  std::uint64_t claimed(QueueNumber queue, std::string_view key) const;
  /// Whether `charge` more of the pool fits into what is left of the queue's own guarantee.
  bool is_owed(QueueNumber queue, std::string_view pool, std::uint64_t charge) const;

  /// The attempt holds so much from now on. Precondition: it has no claim; `charge` is above 0.
  void add(const Token& token, QueueNumber leaf, const std::string& pool, std::uint64_t charge);
  /// It holds so much less. Precondition: its claim is at least as much.
  void remove(const Token& token, std::uint64_t charge);
  /// Where a new claim would be covered if these claims went for it. It comes before others that
  /// what they leave would cover. Tokens without a claim do not count.
  Cover cover_instead(QueueNumber leaf, std::string_view pool, std::uint64_t charge,
                      std::span<const Token> gone) const;
  /// These claims go, and the new one comes, covered as cover_instead() says, unless a queue below
  /// needs for another one what they leave. Precondition: `token` has no claim; `charge` is above
  /// 0.
  void replace(std::span<const Token> gone, const Token& token, QueueNumber leaf,
               const std::string& pool, std::uint64_t charge);
  /// The tree is another one. `claims` are those before with their leaves of now. A claim stays
  /// covered at the queues that are still above it under the same path, as far as their guarantees
  /// reach. O(claims * depth).
  void retell(const QueueBook& before, const QueueBook& after, Claims claims);

  bool operator==(const GuaranteeBook&) const = default;

 private:
  struct Account {
    std::uint64_t limit = 0;
    std::uint64_t claimed = 0;
    std::uint64_t covered = 0;
    std::set<Token> own;   ///< Covered here, and not one queue below.
    std::set<Token> lent;  ///< Not covered.
    bool operator==(const Account&) const = default;
  };
  struct Queue {
    std::uint32_t parent = 0;
    std::uint32_t depth = 0;  ///< 0 for a queue at the top, and for the root, which has no account.
    std::map<std::string, Account, std::less<>> accounts;  ///< By key.
    bool operator==(const Queue&) const = default;
  };
  /// Tokens that an account covers now, or does not cover any more.
  struct Turn {
    std::vector<Token> covered;
    std::vector<Token> uncovered;
  };

  Account* account(std::uint32_t queue, std::string_view key);
  const Account* account(std::uint32_t queue, std::string_view key) const;
  void set_covered(const Token& token, std::string_view key, std::uint32_t depth, bool is_covered);
  bool is_in(const Token& token, std::uint32_t queue) const;
  void enter(const Token& token, const Claim& claim, std::string_view key);
  void lower(const Token& token, const Claim& before, std::uint64_t charge, std::string_view key);
  Turn settle(Account& account, std::string_view key, std::uint32_t depth, const Turn& below,
              const Token& first = Token());
  void settle_path(QueueNumber leaf, std::string_view key, const Token& first = Token());
  void settle_all();
  bool stand(const Token& token, const Claim& claim, std::string_view key);

  std::vector<Queue> queues_;  ///< By QueueNumber.
  Claims claims_;
};

}  // namespace muster::scheduler
