// muster share: what each queue holds of each pool, its part of it by weights, and which one is
// next.

#include <algorithm>

#include "agent/api/json/queues.h"
#include "agent/api/payload.h"
#include "agent/api/queues.h"
#include "cli/kit/duration.h"
#include "cli/kit/table.h"
#include "cli/verbs/request_options.h"
#include "cli/verbs/verb.h"

namespace muster::cli {
namespace {

using agent::ShareInfo;

/// "28.4 %" of thousandths.
std::string percent_text(std::uint64_t permille) {
  return std::to_string(permille / 10) + "." + std::to_string(permille % 10) + " %";
}

/// "1.20" of thousandths, rounded.
std::string credit_text(std::uint64_t permille) {
  const std::uint64_t hundredths = (permille + 5) / 10;
  return std::to_string(hundredths / 100) + "." + std::to_string(100 + hundredths % 100).substr(1);
}

/// Whether its next job starts as the next one, and what is against that.
std::string share_note(const ShareInfo& share) {
  std::vector<std::string> notes;
  if (share.is_next) {
    notes.emplace_back("next");
  }
  if (share.is_owed) {
    notes.emplace_back("owed");
  }
  if (!share.at_max.empty()) {
    notes.push_back(share.at_max == share.path ? "at its max" : "max of " + share.at_max);
  }
  return join(notes);
}

class ShowShares final : public Verb {
 public:
  void describe(Options& options) override {
    options.word("PATH", query_.path, "Show only this queue and those below it", false);
    options.flag("--users", has_users_, "Show the users of each queue, too");
    common_.describe(options);
    common_.describe_consistent(options);
    options.example("muster share research --users");
  }

  int run(Session& session) override {
    auto list = session.read<agent::ShareList>(
        agent::Verb::kShares, query_.path.empty() ? "" : agent::encode_payload(query_));
    if (!list.has_value()) {
      return session.failed();
    }
    if (!has_users_) {
      std::erase_if(list->shares, [](const ShareInfo& share) { return !share.user.empty(); });
    }
    if (session.common().is_json) {
      session.out() << agent::to_json(*list, session.last()) << "\n";
      return 0;
    }
    session.out() << table_of_shares(*list).text(session.screen());
    if (list->shares.empty()) {
      session.note("no job runs or waits there");
    }
    return 0;
  }

 private:
  Table table_of_shares(const agent::ShareList& list) const {
    const std::string half_life = format_duration(std::chrono::milliseconds(list.half_life_ms));
    std::vector<Table::Column> columns = {{.title = "QUEUE", .columns_min = 16},
                                          {.title = "TYPE", .columns_min = 6},
                                          {.title = "HELD", .is_number = true},
                                          {.title = "OF", .is_number = true},
                                          {.title = "PART", .is_number = true},
                                          {.title = "WEIGHT", .is_number = true},
                                          {.title = "OVER " + half_life, .is_number = true},
                                          {.title = "CREDIT", .is_number = true},
                                          {.title = "PENDING", .is_number = true},
                                          {.title = "NEXT", .columns_min = 10}};
    const bool has_guarantees = std::any_of(
        list.shares.begin(), list.shares.end(),
        [](const ShareInfo& share) { return share.user.empty() && share.borrowed < share.held; });
    if (has_guarantees) {
      columns.insert(columns.begin() + 3, {.title = "BORROWED", .is_number = true});
    }
    if (has_users_) {
      columns.insert(columns.begin() + 1, {.title = "USER", .columns_min = 8});
    }
    Table table(std::move(columns));
    for (const ShareInfo& share : list.shares) {
      std::vector<std::string> cells = {
          share.path,
          share.pool_name,
          format_cpus(share.held),
          std::to_string(share.pool_size),
          format_cpus(share.part),
          std::to_string(share.weight) + " of " + std::to_string(share.weights),
          percent_text(share.mean_permille),
          credit_text(share.credit_permille),
          std::to_string(share.pending),
          share_note(share)};
      if (has_guarantees) {
        cells.insert(cells.begin() + 3, share.user.empty() ? format_cpus(share.borrowed) : "-");
      }
      if (has_users_) {
        cells.insert(cells.begin() + 1, share.user.empty() ? "-" : share.user);
      }
      table.add(std::move(cells));
    }
    return table;
  }

  agent::SharesQuery query_;
  bool has_users_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_share() {
  return std::make_unique<ShowShares>();
}

}  // namespace muster::cli
