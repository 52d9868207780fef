// muster usage: who uses GPUs now, and used how many hours of them.

#include "agent/api/jobs.h"
#include "agent/api/json/view.h"
#include "agent/api/payload.h"
#include "cli/kit/duration.h"
#include "cli/kit/table.h"
#include "cli/verbs/verb.h"

namespace muster::cli {
namespace {

class Usage final : public Verb {
 public:
  void describe(Options& options) override {
    options.value(
        "--by",
        [this](const std::string& given) -> Status {
          if (given != "user" && given != "type" && given != "name") {
            return Error{ErrorCode::kInvalid, "'" + given + "' is neither user, type nor name"};
          }
          query_.by = given;
          return ok();
        },
        "Show one row per user, GPU type or job name; names only of jobs that are still kept "
        "(default user)",
        "user|type|name");
    options.duration(
        "--since", since_,
        "Count only days that overlap this time, at most 35d (default all that are kept)");
    common_.describe(options);
    common_.describe_consistent(options);
    options.example("muster usage --by type --since 7d");
  }

  int run(Session& session) override {
    if (query_.by == "name" && since_ > Duration::zero()) {
      return session.fail(
          agent::ResponseStatus::kUsage,
          "--since works only with --by user and --by type: no days are kept for job names");
    }
    query_.since_ms = static_cast<std::uint64_t>(to_ms(since_));
    const auto list =
        session.read<agent::UsageList>(agent::Verb::kUsage, agent::encode_payload(query_));
    if (!list.has_value()) {
      return session.failed();
    }
    if (session.common().is_json) {
      session.out() << to_json(*list, query_.by, session.last()) << "\n";
      return 0;
    }
    Table table({{.title = query_.by == "user"   ? "USER"
                           : query_.by == "type" ? "TYPE"
                                                 : "NAME",
                  .columns_min = 12},
                 {.title = "JOBS NOW", .is_number = true},
                 {.title = "GPUS NOW", .is_number = true},
                 {.title = "GPU-HOURS", .is_number = true}});
    for (const agent::UsageRow& row : list->rows) {
      table.add({row.key, std::to_string(row.jobs_now), std::to_string(row.gpus_now),
                 format_hours(row.gpu_ms)});
    }
    session.out() << table.text(session.screen());
    const std::string of_what = list->days == 0   ? "jobs that are still kept, in"
                                : list->days == 1 ? "1 day of"
                                                  : std::to_string(list->days) + " days of";
    session.note("GPU-hours of " + of_what +
                 " cluster time, which stops without a leader: not for billing");
    if (list->rows_left_out > 0) {
      session.note(std::to_string(list->rows_left_out) + " more rows are not shown");
    }
    return 0;
  }

 private:
  agent::UsageQuery query_;
  Duration since_{0};
};

}  // namespace

std::unique_ptr<Verb> make_usage() {
  return std::make_unique<Usage>();
}

}  // namespace muster::cli
