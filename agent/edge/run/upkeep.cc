#include "agent/edge/run/upkeep.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include "agent/edge/event_log.h"

namespace muster::agent {

bool Upkeep::turn(Instant now) {
  if (now < next_) {
    return false;
  }
  next_ = now + kPeriod;
  if (options_.logins != nullptr && options_.logins->renew()) {
    log_event({Severity::kWarn, "socket_renewed", {{"why", "another process removed it"}}});
  }
  options_.links->renew();
  renew_event_log();
  return is_hung_up() && reread();
}

/// Several that came since the last look are one.
bool Upkeep::is_hung_up() const {
  signalfd_siginfo signal{};
  bool came = false;
  while (read(options_.hup_fd, &signal, sizeof signal) == sizeof signal) {
    came = true;
  }
  return came;
}

bool Upkeep::reread() {
  reopen_event_log();
  const Result<Reread> news = options_.reread();
  if (!news) {
    log_event({Severity::kWarn,
               "hangup",
               {{"config", "not read again: " + news.error().text},
                {"advice", "correct it and send HUP again; until then the old settings stay"}}});
    return false;
  }
  std::string later;
  for (const std::string& name : news->at_next_start) {
    later += (later.empty() ? "" : ", ") + name;
  }
  Event event{Severity::kInfo, "hangup", {{"config", "read again"}, {"log", "opened again"}}};
  if (!later.empty()) {
    event.severity = Severity::kWarn;
    event.fields.emplace_back("at_next_start", later);
  }
  log_event(event);
  set_event_log_level(news->log_level);
  const bool is_new = !(news->output_rule == options_.output_rule);
  options_.output_rule = news->output_rule;
  return is_new;
}

}  // namespace muster::agent
