// The World's threads, where their work has its price (WorldOptions::prices): what an agent hears
// waits until its reflex and then its loop have a turn on its core, and what they do there takes
// its time.

#include <algorithm>
#include <utility>

#include <xxhash.h>

#include "gossip/base/check.h"
#include "tests/sim/world.h"
#include "tests/sim/world_host.h"

namespace muster::sim {
namespace {

bool is_vital_input(const agent::Node::Input& input) {
  const auto* received = std::get_if<gossip::Received>(&input);
  return received == nullptr || gossip::is_vital(received->bytes);
}

}  // namespace

void World::wake(std::uint32_t host, Lane lane) {
  if (const auto at = processors_.wake(now_, host, lane)) {
    queue_.push(*at, Turn{processors_.core_of(host)});
  }
}

void World::on(const Turn& event) {
  const Processors::Turn turn = processors_.turn(now_, event.core);
  if (turn.at > now_) {
    queue_.push(turn.at, Turn{event.core});
    return;
  }
  spent_ = Duration(0);
  const bool has_more = turn.lane == Lane::kReflex ? run_reflex(turn.host)
                        : turn.lane == Lane::kLoop ? run_loop(turn.host)
                                                   : run_check(turn.host);
  if (const auto at = processors_.done(now_, event.core, spent_, has_more)) {
    queue_.push(*at, Turn{event.core});
  }
}

void World::wait_at_reflex(std::uint32_t index,
                           std::variant<gossip::TransportOutput, agent::Node::Input>&& word) {
  hosts_[index]->at_reflex.push_back(std::move(word));
  wake(index, Lane::kReflex);
}

/// One word, in or out; whether there are more.
bool World::run_reflex(std::uint32_t index) {
  Host& host = *hosts_[index];
  if (host.node == nullptr || host.is_frozen || host.at_reflex.empty()) {
    return false;
  }
  auto word = std::move(host.at_reflex.front());
  host.at_reflex.pop_front();
  if (auto* output = std::get_if<gossip::TransportOutput>(&word)) {
    const bool is_word = std::holds_alternative<gossip::Send>(*output) ||
                         std::holds_alternative<gossip::Reply>(*output);
    spent_ += is_word ? processors_.prices().carry_out : Duration(0);
    carry_out(index, std::move(*output));
  } else {
    auto& input = std::get<agent::Node::Input>(word);
    answer_as_reflex(index, input);
    if (const auto* received = std::get_if<gossip::Received>(&input)) {
      spent_ += processors_.prices().carry_in;
      spent_ += received->is_answered ? processors_.prices().carry_out : Duration(0);
    }
    wait_in_loop(index, std::move(input));
  }
  return !host.at_reflex.empty();
}

/// An agent that ends leaves no word of its own unsaid.
void World::say_what_waits(std::uint32_t index) {
  for (auto& word : std::exchange(hosts_[index]->at_reflex, {})) {
    if (auto* output = std::get_if<gossip::TransportOutput>(&word)) {
      carry_out(index, std::move(*output));
    }
  }
}

void World::wait_in_loop(std::uint32_t index, agent::Node::Input&& input) {
  Host& host = *hosts_[index];
  host.waits_since = host.has_work() ? host.waits_since : std::optional(now_);
  (is_vital_input(input) ? host.vital : host.inbox).push_back(std::move(input));
  wake(index, Lane::kLoop);
}

void World::wait_with_timers(std::uint32_t index) {
  Host& host = *hosts_[index];
  host.waits_since = host.has_work() ? host.waits_since : std::optional(now_);
  host.tick_waits = true;
  wake(index, Lane::kLoop);
}

/// One input, or the timers; whether there is more to do.
bool World::run_loop(std::uint32_t index) {
  Host& host = *hosts_[index];
  if (host.node == nullptr || host.is_frozen) {
    return false;  // A frozen one is woken when it thaws.
  }
  const auto since = std::exchange(host.waits_since, std::nullopt);
  if (since.has_value() && now_ - *since > kPauseNoticed) {
    feed(index, agent::Paused{now_ - *since});
  }
  const std::uint64_t signed_before = host.node->store().stats().signed_times;
  // Signs of life first, then the timers, whose judgement hangs on them, then all the rest.
  if (host.tick_waits && host.vital.empty()) {
    host.tick_waits = false;
    spent_ += processors_.prices().tick;
    tick(index);
  } else if (!host.vital.empty() || !host.inbox.empty()) {
    std::deque<agent::Node::Input>& from = host.vital.empty() ? host.inbox : host.vital;
    agent::Node::Input input = std::move(from.front());
    from.pop_front();
    spent_ += price_of(input);
    feed(index, std::move(input));
  }
  if (host.node == nullptr) {
    return false;
  }
  spent_ += processors_.prices().sign *
            static_cast<std::int64_t>(host.node->store().stats().signed_times - signed_before);
  return host.has_work();
}

void World::wait_for_check(std::uint32_t index, crdt::RowsToCheck&& rows) {
  hosts_[index]->to_check.push_back(std::move(rows));
  wake(index, Lane::kCheck);
}

/// One message of rows; whether there are more.
bool World::run_check(std::uint32_t index) {
  Host& host = *hosts_[index];
  if (host.node == nullptr || host.is_frozen || host.to_check.empty()) {
    return false;
  }
  crdt::RowsToCheck rows = std::move(host.to_check.front());
  host.to_check.pop_front();
  for (const crdt::RowOf& row : rows.body.rows) {
    for (const auto& [id, field] : row.row.fields) {
      // One look for the fields of one publish.
      const std::uint64_t mark =
          XXH3_64bits_withSeed(field.proof.data(), field.proof.size(), row.host.prefix());
      spent_ += host.checked.insert(mark).second ? processors_.prices().check : Duration(0);
    }
  }
  wait_in_loop(index, host.rows_checker->check(std::move(rows)));
  return !host.to_check.empty();
}

Duration World::price_of(const agent::Node::Input& input) const {
  if (std::holds_alternative<gossip::Received>(input)) {
    return processors_.prices().word_in;
  }
  const auto* rows = std::get_if<crdt::RowsChecked>(&input);
  return rows == nullptr
             ? Duration(0)
             : processors_.prices().row_in * static_cast<std::int64_t>(rows->body.rows.size());
}

Duration World::price_of(const agent::Node::Output& output) const {
  const auto words =
      std::count_if(output.transport.begin(), output.transport.end(), [](const auto& each) {
        return std::holds_alternative<gossip::Send>(each) ||
               std::holds_alternative<gossip::Reply>(each);
      });
  return processors_.prices().word_out * words +
         processors_.prices().commit * static_cast<std::int64_t>(output.persists.size());
}

}  // namespace muster::sim
