#include "cli/verbs/why_text.h"

#include <algorithm>
#include <vector>

#include "cli/kit/duration.h"
#include "cli/kit/table.h"
#include "cli/kit/text.h"
#include "cli/verbs/request_options.h"
#include "cli/verbs/storm_banner.h"
#include "scheduler/protocol/queues.h"

namespace muster::cli {
namespace {

/// Where the words behind "gpus" and the like begin.
constexpr std::size_t kTextColumn = 9;

std::string names_of(const std::vector<JobId>& jobs) {
  std::vector<std::string> numbers;
  for (const JobId job : jobs) {
    numbers.push_back(text_of(job));
  }
  return (jobs.size() == 1 ? "job " : "jobs ") + join(numbers);
}

std::string need_text(const agent::WhyInfo& why) {
  if (why.wanted == 0) {
    return "";
  }
  return (why.has_gpus ? "gpus     " : "ranks    ") + std::to_string(why.wanted) + " wanted, " +
         std::to_string(why.free) + (why.has_gpus ? " free, " : " fit, ") +
         std::to_string(why.lacking) + " lacking\n";
}

/// The queue is strict: nothing but the start of those ahead brings it nearer.
std::string ahead_text(const agent::WhyInfo& why, std::uint64_t count) {
  const std::uint64_t more = count - why.ahead.size();
  return "ahead    " + names_of(why.ahead) +
         (more == 0 ? "" : " and " + std::to_string(more) + " more") + "\n" +
         "turn     comes once " +
         (count == 1 ? "the job ahead of it has started\n"
                     : "the " + std::to_string(count) + " jobs ahead of it have started\n");
}

std::string withheld_text(const agent::WhyInfo& why) {
  std::vector<std::string> parts;
  for (const agent::WithheldInfo& withheld : why.withheld) {
    parts.push_back(std::to_string(withheld.gpus) + " (" + withheld.reason + ")");
  }
  return (parts.empty() ? "" : "withheld " + join(parts) + "\n") +
         (why.left_out.empty()
              ? ""
              : "left out " + join(why.left_out) + ": refused it or answered late\n");
}

/// Which hosts can hold some of it now, and what stands against the others.
std::string hosts_text(const agent::WhyInfo& why) {
  if (why.wanted == 0 || why.lacking == 0) {
    return "";
  }
  std::string text = "hosts    " + std::to_string(why.open_hosts) + " could hold a part of it";
  for (const agent::WhyFilter& filter : why.filters) {
    text += "; " + std::to_string(filter.hosts) + ": " + filter.reason;
  }
  text += "\n";
  std::vector<std::string> levels;
  for (const agent::WhyLevel& level : why.largest) {
    levels.push_back(std::to_string(level.units) +
                     (level.level == "any" ? " in total" : " in one " + level.level));
  }
  return text + (levels.empty() ? "" : "largest  " + join(levels) + "\n");
}

std::string places_text(const agent::WhyInfo& why) {
  std::vector<std::string> hosts;
  for (const agent::WhyPlace& place : why.places) {
    hosts.push_back(place.host + " (" + std::to_string(place.units) + ")");
  }
  return hosts.empty()
             ? ""
             : "places   " + join(hosts) +
                   (why.places_more == 0 ? ""
                                         : " and " + std::to_string(why.places_more) + " more") +
                   "\n";
}

/// The queue, and what keeps its next job back whatever is free.
std::string queue_lines(const agent::WhyInfo& why) {
  std::string text;
  const bool is_queue_worth_it = why.queue != scheduler::kDefaultQueue || !why.full_queue.empty();
  if (!why.queue.empty() && is_queue_worth_it) {
    text += "queue    " + why.queue + (why.tier.empty() ? "" : ", tier " + why.tier) + "\n";
  }
  if (!why.full_queue.empty()) {
    text += "full     queue " + why.full_queue + " may hold at most " + why.full_text +
            ": some of its jobs have to end first\n";
  }
  if (!why.turn.text.empty() && why.turn.rule != "next") {
    text += "next     " + why.turn.text + "\n";
  } else if (why.turn.pool.empty() && why.others_wait) {
    text +=
        "others   jobs of other queues, or of other users of its queue, may go first: see `muster "
        "share`\n";
  }
  return text;
}

/// The start of the first job, if it does not fit and time limits say when it will.
std::string plan_text(const agent::WhyInfo& why) {
  if (why.turn.starts_in_ms == 0) {
    return "";
  }
  const auto left = std::chrono::milliseconds(why.turn.starts_in_ms);
  return "planned  in at most about " + format_after(left) + ", on " +
         std::to_string(why.turn.planned_hosts) +
         (why.turn.planned_hosts == 1 ? " host" : " hosts") +
         ": by the time limits of what runs there\n";
}

std::string sooner_text(const agent::WhyInfo& why) {
  return why.turn.next_with.empty()
             ? ""
             : "sooner   with " + why.turn.next_with + " it would be the next one: `muster edit`\n";
}

std::string change_text(const agent::WhyInfo& why) {
  // An older node gives no count, and one that waits for hosts starts nothing.
  const std::uint64_t ahead = std::max<std::uint64_t>(why.ahead_count, why.ahead.size());
  if (ahead > 0 || why.awaits_hosts) {
    return ahead > 0 ? ahead_text(why, ahead) + sooner_text(why) : "";
  }
  std::string text = plan_text(why) + sooner_text(why);
  if (!why.would_start.empty()) {
    text += "starts   now, if " + names_of(why.would_start) + " ended\n";
  }
  if (why.fits_now > 0 && why.fits_now < why.wanted) {
    text += "fits     with " + std::to_string(why.fits_now) + (why.has_gpus ? " GPU" : " rank") +
            (why.fits_now == 1 ? "" : "s") + " it would start now\n";
  }
  return text;
}

std::string holders_text(const agent::WhyInfo& why, const Screen& screen) {
  if (why.holders.empty()) {
    return "";
  }
  Table table({{.title = "HOLDER", .is_number = true},
               {.title = "NAME", .columns_min = 12},
               {.title = "GPUS", .is_number = true},
               {.title = "CPUS", .is_number = true},
               {.title = "HOSTS", .columns_min = 12}});
  for (const agent::HolderInfo& holder : why.holders) {
    table.add({holder.job == JobId() ? "-" : text_of(holder.job), holder.name,
               std::to_string(holder.gpus), format_cpus(holder.cpus), join(holder.hosts, ",")});
  }
  return "\n" + table.text(screen) +
         (why.holders_more == 0
              ? ""
              : "and " + std::to_string(why.holders_more) + " more, none with more GPUs\n");
}

}  // namespace

std::string why_text(const agent::WhyInfo& why, const std::string& headline, const Screen& screen) {
  const std::string text = printable_lines(headline) + printable_lines(queue_lines(why)) +
                           need_text(why) + printable_lines(hosts_text(why)) +
                           printable_lines(withheld_text(why)) + printable_lines(places_text(why)) +
                           change_text(why);
  return storm_banner(why.storm) + fitted(text, kTextColumn, screen) + holders_text(why, screen);
}

}  // namespace muster::cli
