#include "agent/front/reset_watch.h"

#include <string>
#include <utility>

#include "gossip/wire/wire.h"

namespace muster::agent {
namespace {

constexpr const char* kToldKey = "users/reset";

std::string bytes_of(const scheduler::AdminReset& reset) {
  return gossip::Encoder().array(2).u64(reset.epoch).num(reset.at).take();
}

/// Only what orders resets: nobody reads the rest again.
std::optional<scheduler::AdminReset> reset_in(std::string bytes) {
  const Result<gossip::Document> document = gossip::Document::parse(std::move(bytes));
  if (!document) {
    return std::nullopt;
  }
  gossip::Reader in = document->root();
  scheduler::AdminReset reset;
  reset.epoch = in.u64();
  reset.at = in.num<LogIndex>();
  return in.ok() ? std::optional(reset) : std::nullopt;
}

}  // namespace

ResetWatch::ResetWatch(const crdt::Records& state, const scheduler::Directory& copy) {
  if (const auto kept = state.find(kToldKey); kept != state.end()) {
    told_ = reset_in(kept->second);
  }
  if (!told_.has_value() && copy.is_founded()) {
    told_ = copy.last_reset();
  }
}

std::optional<ResetWatch::News> ResetWatch::look(const scheduler::Directory& users) {
  const scheduler::AdminReset& last = users.last_reset();
  if (!users.is_founded() || (told_.has_value() && !last.is_after(*told_))) {
    return std::nullopt;
  }
  const bool is_first_list = !told_.has_value();
  told_ = last;
  if (last.epoch == 0) {
    return std::nullopt;
  }
  News news;
  news.writes = {{kToldKey, bytes_of(last)}};
  if (!is_first_list) {
    news.alarm =
        Event{Severity::kAlarm,
              "admin_reset",
              {{"admin", last.admin}, {"by", last.by}, {"entry", std::to_string(last.at.value())}}};
  }
  return news;
}

}  // namespace muster::agent
