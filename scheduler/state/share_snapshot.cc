#include "scheduler/state/share_snapshot.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace muster::scheduler {
namespace {

enum class ShareDocument : std::uint8_t { kSampled = 0, kQueues = 1, kUsers = 2 };

/// Queues or users of one document.
constexpr std::size_t kShareRows = 1024;
constexpr std::size_t kQueueRowElements = 3;
constexpr std::size_t kUserRowElements = 4;
/// Queues of a tree: those that it names, those above them, the root and kDefaultQueue.
constexpr std::uint64_t kQueueNumberMax = kQueuesMax * kQueueDepthMax + 1;

gossip::Encoder begin_shares(std::uint64_t section, ShareDocument which, std::size_t fields) {
  gossip::Encoder out;
  out.array(2 + fields).u64(section).u64(static_cast<std::uint64_t>(which));
  return out;
}

/// [pool, [rows...]] behind `begun`, as often as it takes; `write_row` writes the elements of one.
template <class Row, class Write>
void add_share_rows(std::vector<gossip::Encoder>& documents, const gossip::Encoder& begun,
                    std::string_view pool, const std::vector<Row>& rows, std::size_t elements,
                    Write write_row) {
  for (std::size_t first = 0; first < rows.size(); first += kShareRows) {
    const std::size_t last = std::min(rows.size(), first + kShareRows);
    gossip::Encoder& out = documents.emplace_back(begun);
    out.text(pool).array((last - first) * elements);
    for (std::size_t i = first; i < last; ++i) {
      write_row(out, rows[i]);
    }
  }
}

/// Whether a snapshot has it: what is held alone says nothing that the attempts do not.
bool is_kept(const Share& share) {
  return share.mean != 0 || share.credit != kCreditOne;
}

void read_mean(gossip::Reader& in, Share& share) {
  share.mean = in.u64();
  share.credit = static_cast<std::uint32_t>(in.u64_at_most(kCreditMax));
  if (share.credit < kCreditMin || !is_kept(share)) {
    in.fail();
  }
}

void read_queue_shares(gossip::Reader& in, ShareParts& parts) {
  ShareBook::Pool& pool = parts.pools[in.text()];
  gossip::Reader rows = in.array_at_most(kShareRows * kQueueRowElements);
  while (rows.ok() && rows.left() > 0) {
    const std::size_t number = rows.u64_at_most(kQueueNumberMax);
    pool.queues.resize(std::max(pool.queues.size(), number + 1));
    read_mean(rows, pool.queues[number]);
  }
}

void read_user_shares(gossip::Reader& in, ShareParts& parts) {
  ShareBook::Pool& pool = parts.pools[in.text()];
  gossip::Reader rows = in.array_at_most(kShareRows * kUserRowElements);
  while (rows.ok() && rows.left() > 0) {
    const auto number = static_cast<std::uint32_t>(rows.u64_at_most(kQueueNumberMax));
    std::string user = rows.text();
    read_mean(rows, pool.users[{QueueNumber{number}, std::move(user)}]);
  }
}

}  // namespace

std::optional<ShareBook> ShareParts::whole(const QueueBook& queues, Duration cluster_time) && {
  const std::size_t count = queues.all().size();
  for (auto& [name, pool] : pools) {
    const bool has_stranger =
        pool.queues.size() > count ||
        std::any_of(pool.users.begin(), pool.users.end(),
                    [count](const auto& user) { return index_of(user.first.first) >= count; });
    if (has_stranger) {
      return std::nullopt;
    }
    pool.queues.resize(count);
  }
  // A snapshot from before there were queues: the book that follows from its log has no means.
  const Duration minutes = cluster_time - cluster_time % kSampleEvery;
  return ShareBook(std::move(pools), sampled_at.value_or(minutes));
}

std::vector<gossip::Encoder> share_documents(const ShareBook& shares, const QueueBook& queues,
                                             std::uint64_t section) {
  std::vector<gossip::Encoder> documents;
  if (!queues.is_set()) {
    return documents;
  }
  documents.push_back(begin_shares(section, ShareDocument::kSampled, 1));
  documents.back().duration(shares.sampled_at());
  for (const auto& [name, pool] : shares.pools()) {
    std::vector<std::pair<std::uint32_t, Share>> of_queues;
    for (std::uint32_t i = 0; i < pool.queues.size(); ++i) {
      if (is_kept(pool.queues[i])) {
        of_queues.emplace_back(i, pool.queues[i]);
      }
    }
    std::vector<std::pair<ShareBook::UserKey, Share>> of_users;
    std::copy_if(pool.users.begin(), pool.users.end(), std::back_inserter(of_users),
                 [](const auto& user) { return is_kept(user.second); });
    add_share_rows(documents, begin_shares(section, ShareDocument::kQueues, 2), name, of_queues,
                   kQueueRowElements, [](gossip::Encoder& out, const auto& row) {
                     out.u64(row.first).u64(row.second.mean).u64(row.second.credit);
                   });
    add_share_rows(documents, begin_shares(section, ShareDocument::kUsers, 2), name, of_users,
                   kUserRowElements, [](gossip::Encoder& out, const auto& row) {
                     out.u64(index_of(row.first.first)).text(row.first.second);
                     out.u64(row.second.mean).u64(row.second.credit);
                   });
  }
  return documents;
}

void read_shares(gossip::Reader& in, ShareParts& parts) {
  switch (static_cast<ShareDocument>(
      in.u64_at_most(static_cast<std::uint64_t>(ShareDocument::kUsers)))) {
    case ShareDocument::kSampled:
      parts.sampled_at = in.duration();
      break;
    case ShareDocument::kQueues:
      read_queue_shares(in, parts);
      break;
    case ShareDocument::kUsers:
      read_user_shares(in, parts);
      break;
  }
}

}  // namespace muster::scheduler
