#include "agent/edge/run/door_metrics.h"

#include <time.h>

#include <map>
#include <string_view>
#include <utility>

namespace muster::agent {
namespace {

Duration cpu_of_thread() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

using HttpCount = std::uint64_t HttpStats::*;

constexpr HttpCount kHttpCounts[] = {
    &HttpStats::connections_now,  &HttpStats::unproven_now, &HttpStats::questions_now,
    &HttpStats::bodies_bytes_now, &HttpStats::accepted,     &HttpStats::refused_address,
    &HttpStats::cut_silent,       &HttpStats::cut_body,     &HttpStats::cut_readers,
    &HttpStats::closed_idle,      &HttpStats::questions,    &HttpStats::refused_requests,
    &HttpStats::refused_busy,     &HttpStats::late,         &HttpStats::dropped_answers};

/// A count with the value of its label `reason`; "" = it has no such label.
struct HttpReason {
  std::string_view reason;
  HttpCount count = nullptr;
};

/// By door. A server that takes the place of another one may stand beside it for a moment.
using HttpDoors = std::map<std::string, HttpStats>;

HttpDoors doors_by_name(const std::vector<DoorStats>& doors) {
  HttpDoors named;
  for (const DoorStats& door : doors) {
    HttpStats& sum = named[door.is_https ? "https" : "socket"];
    for (const HttpCount count : kHttpCounts) {
      sum.*count += door.stats.*count;
    }
  }
  return named;
}

MetricFamily http_family(const HttpDoors& doors, MetricFamily family,
                         const std::vector<HttpReason>& reasons) {
  for (const auto& [door, stats] : doors) {
    for (const HttpReason& each : reasons) {
      MetricLabels labels = {{"door", door}};
      if (!each.reason.empty()) {
        labels.emplace_back("reason", std::string(each.reason));
      }
      family.samples.push_back({std::move(labels), stats.*each.count, {}});
    }
  }
  return family;
}

}  // namespace

void DoorMetrics::waited(Instant began, Duration meant, Instant ended) {
  if (waited_until_ != kNever) {
    note_late(began - waited_until_);
  }
  note_late(ended - began - meant);
  waited_until_ = ended;
}

void DoorMetrics::note_late(Duration late) {
  if (late >= kStall) {
    ++loop_.stalls;
    loop_.stalled += late;
  }
}

EdgeMetrics DoorMetrics::edge() const {
  EdgeMetrics edge;
  edge.started_unix_ms = started_unix_ms_;
  edge.loop = loop_;
  edge.loop.cpu = cpu_of_thread();
  return edge;
}

const std::string& DoorMetrics::text(Instant now, const Make& make) {
  if (made_at_ == kLongAgo || now - made_at_ >= kKept) {
    text_ = metrics_text(make());
    made_at_ = now;
  }
  return text_;
}

LinkMetrics link_metrics(const gossip::ZmqTransport::Stats& links, std::uint64_t dropped) {
  LinkMetrics metrics;
  metrics.messages_received = links.received;
  metrics.messages_sent = links.sent;
  metrics.dials = links.dials;
  metrics.ups = links.links_up;
  metrics.downs = links.links_down;
  metrics.drops.malformed = links.dropped_malformed + links.dropped_noise;
  metrics.drops.unproven = links.dropped_unproven;
  metrics.drops.too_large = links.dropped_too_large;
  metrics.drops.queue_full = links.dropped_queue_full + links.dropped_links_full;
  metrics.drops.no_route = links.dropped_no_route + links.dropped_link_ending;
  metrics.drops.no_key = links.dropped_no_key;
  metrics.drops.logins = dropped;
  metrics.refusals.unknown_key = links.refused_unknown_key;
  metrics.refusals.no_curve = links.refused_no_curve;
  metrics.refusals.malformed = links.refused_malformed;
  metrics.refusals.early_tickets = links.refused_early_tickets;
  metrics.refusals.unfinished = links.ended_unfinished;
  metrics.refusals.by_peer = links.refused_by_peer;
  metrics.refusals.logins = links.refused_logins + links.failed_logins;
  return metrics;
}

std::vector<MetricFamily> door_families(const std::vector<DoorStats>& doors) {
  const HttpDoors named = doors_by_name(doors);
  std::vector<MetricFamily> families;
  const auto add = [&](std::string name, std::string help, MetricType type,
                       const std::vector<HttpReason>& reasons) {
    families.push_back(http_family(named, {std::move(name), std::move(help), type, {}}, reasons));
  };
  using enum MetricType;
  add("muster_http_connections",
      "Open connections of HTTP; look for a client that opens too many if it nears 8192.", kGauge,
      {{"", &HttpStats::connections_now}});
  add("muster_http_unproven_connections",
      "Connections without a proof so far; look for a stranger if it stays high.", kGauge,
      {{"", &HttpStats::unproven_now}});
  add("muster_http_open_requests",
      "Requests without an answer so far; see muster_loop_stalls_total if it stays high.", kGauge,
      {{"", &HttpStats::questions_now}});
  add("muster_http_body_bytes",
      "Memory of the bodies of open requests; look for a client that sends much if it stays high.",
      kGauge, {{"", &HttpStats::bodies_bytes_now}});
  add("muster_http_connections_total",
      "Connections that were taken; let clients keep theirs if the rate is high.", kCounter,
      {{"", &HttpStats::accepted}});
  add("muster_http_refused_connections_total",
      "Connections that were closed at once; look for an address that opens too many if it rises.",
      kCounter, {{"address_limit", &HttpStats::refused_address}});
  add("muster_http_closed_connections_total",
      "Connections that were closed by a deadline, by reason; look for a slow or hostile client if "
      "others than idle rise.",
      kCounter,
      {{"silent", &HttpStats::cut_silent},
       {"slow_body", &HttpStats::cut_body},
       {"slow_reader", &HttpStats::cut_readers},
       {"idle", &HttpStats::closed_idle}});
  add("muster_http_requests_total", "Requests that were read; compare hosts to spread the clients.",
      kCounter, {{"", &HttpStats::questions}});
  add("muster_http_refused_requests_total",
      "Requests that never reached the node, by reason; look for a broken client, or one that asks "
      "too much if busy rises.",
      kCounter, {{"malformed", &HttpStats::refused_requests}, {"busy", &HttpStats::refused_busy}});
  add("muster_http_late_requests_total",
      "Requests without an answer in time; see muster_loop_stalls_total if it rises.", kCounter,
      {{"", &HttpStats::late}});
  add("muster_http_dropped_answers_total",
      "Answers for clients that had gone; raise their timeouts if it rises.", kCounter,
      {{"", &HttpStats::dropped_answers}});
  return families;
}

}  // namespace muster::agent
