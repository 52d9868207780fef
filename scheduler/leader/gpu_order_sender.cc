#include "scheduler/leader/gpu_order_sender.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "gossip/base/check.h"

namespace muster::scheduler {
namespace {

bool is_listening(const HostRecord& host) {
  return host.is_reachable() && !host.is_removed && !host.is_superseded() &&
         !host.recovery.awaits_hello;
}

/// The oldest orders above `heard`, at most one message of them.
std::vector<GpuOrder> unheard(const HostRecord& host, const Token& heard) {
  std::vector<GpuOrder> orders;
  for (const GpuOrder& order : host.gpu_orders) {
    if (order.at > heard && orders.size() < kGpuOrdersMax) {
      orders.push_back(order);
    }
  }
  return orders;
}

}  // namespace

GpuOrderSender::GpuOrderSender(const StepContext& step) {
  for (const auto& [id, host] : step.state.hosts()) {
    follow(step, host, true);
  }
}

void GpuOrderSender::on_applied(const StepContext& step, const Entry& entry) {
  HostId about;
  bool is_news = true;
  if (const auto* order = std::get_if<entry::GpuOrder>(&entry)) {
    about = order->host;
  } else if (const auto* registered = std::get_if<entry::Register>(&entry)) {
    about = registered->host;
  } else if (const auto* observed = std::get_if<entry::Observe>(&entry)) {
    about = observed->host;
    is_news = false;
  }
  const HostRecord* host = about.is_zero() ? nullptr : step.state.host(about);
  if (host != nullptr) {
    follow(step, *host, is_news);
  }
}

bool GpuOrderSender::on_ack(const StepContext& step, const HostId& from, const GpuOrdersAck& ack) {
  const auto known = listeners_.find(from);
  const HostRecord* host = step.state.host(from);
  if (known == listeners_.end() || host == nullptr || ack.start != host->start) {
    return false;
  }
  if (ack.heard > known->second.heard) {
    known->second.heard = ack.heard;
    follow(step, *host, true);
  }
  return true;
}

void GpuOrderSender::follow(const StepContext& step, const HostRecord& host, bool is_news) {
  if (host.gpu_orders.empty()) {
    return;  // Orders about a GPU are replaced, and the last one stays.
  }
  Listener& listener = listeners_[host.id];
  if (listener.start != host.start) {
    listener = Listener{host.start, Token(), kNever, {}};
  }
  if (host.gpu_orders.back().at <= listener.heard || !is_listening(host)) {
    listener.again = kNever;
    return;
  }
  if (is_news || listener.again == kNever) {
    say(step, host, listener, false);
  }
}

void GpuOrderSender::say(const StepContext& step, const HostRecord& host, Listener& listener,
                         bool is_again) {
  GpuOrders message{host.start, unheard(host, listener.heard)};
  CHECK(!message.orders.empty());
  listener.wait = is_again ? std::min(2 * listener.wait, kGpuOrdersAgainMax) : kGpuOrdersAgain;
  listener.again = step.now + listener.wait;
  next_ = std::min(next_, listener.again);
  if (is_again) {
    step.output.say_again(host.id, std::move(message));
  } else {
    step.output.say(host.id, Nonce(), std::move(message));
  }
}

void GpuOrderSender::say_due(const StepContext& step) {
  if (step.now < next_) {
    return;
  }
  next_ = kNever;
  for (auto& [id, listener] : listeners_) {
    if (listener.again <= step.now) {
      const HostRecord* host = step.state.host(id);
      CHECK(host != nullptr);
      say(step, *host, listener, true);
    }
    next_ = std::min(next_, listener.again);
  }
}

void GpuOrderSender::check_invariants() const {
  for (const auto& [id, listener] : listeners_) {
    CHECK(next_ <= listener.again);
  }
}

}  // namespace muster::scheduler
