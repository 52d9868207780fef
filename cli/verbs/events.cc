// muster events: what a node noticed and did, oldest first.

#include <algorithm>

#include "agent/api/events.h"
#include "agent/api/payload.h"
#include "cli/kit/duration.h"
#include "cli/kit/json_view.h"
#include "cli/kit/text.h"
#include "cli/verbs/verb.h"

namespace muster::cli {
namespace {

/// How often --follow asks: fast enough for a person, nothing for the node.
constexpr Duration kFollowEventsInterval = std::chrono::milliseconds(500);

std::string line_of(const agent::EventInfo& event) {
  const std::string age = format_age(event.age_ms);
  const std::string severity = printable(event.severity);
  return std::string(5 - std::min<std::size_t>(5, age.size()), ' ') + age + "  " + severity +
         std::string(5 - std::min<std::size_t>(5, severity.size()), ' ') + "  " +
         printable(event.text);
}

class Events final : public Verb {
 public:
  void describe(Options& options) override {
    common_.describe(options);
    options.flag("-f,--follow", follow_, "Go on with every new event, until interrupted");
    options.example("muster events -f");
  }

  int run(Session& session) override {
    std::uint64_t after = 0;
    do {
      const auto page = session.read<agent::EventsPage>(
          agent::Verb::kEvents, agent::encode_payload(agent::EventsQuery{after}));
      if (!page.has_value()) {
        return session.failed();
      }
      print(session, *page);
      if (!page->events.empty()) {
        after = page->events.back().sequence;
      }
      if (follow_) {
        session.world().sleep(kFollowEventsInterval);
      }
    } while (follow_ && session.out().good());
    return 0;
  }

 private:
  void print(Session& session, const agent::EventsPage& page) const {
    if (session.common().is_json && !follow_) {
      session.out() << to_json(page, session.last()) << "\n";
      return;
    }
    if (page.lost > 0) {
      session.note(std::to_string(page.lost) + " events are no longer kept by the node");
    }
    for (const agent::EventInfo& event : page.events) {
      session.out() << (session.common().is_json ? to_json(event) : line_of(event)) << "\n";
    }
    session.out() << std::flush;
  }

  bool follow_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_events() {
  return std::make_unique<Events>();
}

}  // namespace muster::cli
