// muster stats: what an agent counted since it started, and what that cost it.

#include "agent/api/stats.h"

#include "agent/api/json/view.h"
#include "agent/api/payload.h"
#include "cli/kit/duration.h"
#include "cli/kit/table.h"
#include "cli/verbs/verb.h"

namespace muster::cli {
namespace {

std::string number_or_dash(std::uint64_t number) {
  return number == 0 ? "-" : std::to_string(number);
}

class Stats final : public Verb {
 public:
  void describe(Options& options) override {
    common_.describe(options);
    options.example("muster stats --node gpu7");
  }

  int run(Session& session) override {
    const auto stats = session.read<agent::StatsInfo>(agent::Verb::kStats);
    if (!stats.has_value()) {
      return session.failed();
    }
    if (session.common().is_json) {
      session.out() << to_json(*stats, session.last()) << "\n";
      return 0;
    }
    Table table({{.title = "NAME"},
                 {.title = "COUNT", .is_number = true},
                 {.title = "BYTES", .is_number = true},
                 {.title = "CPU MS", .is_number = true}});
    constexpr std::uint64_t kUsPerMs = 1000;
    for (const agent::Counter& counter : stats->counters) {
      table.add({counter.name, std::to_string(counter.count), number_or_dash(counter.bytes),
                 number_or_dash(counter.cpu_us / kUsPerMs)});
    }
    session.out() << "host " << session.last().answered_by << ", started "
                  << format_age(stats->uptime_ms) << " ago\n"
                  << table.text(session.screen());
    return 0;
  }
};

}  // namespace

std::unique_ptr<Verb> make_stats() {
  return std::make_unique<Stats>();
}

}  // namespace muster::cli
