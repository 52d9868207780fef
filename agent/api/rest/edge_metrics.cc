#include "agent/api/rest/edge_metrics.h"

#include <string>
#include <string_view>
#include <utility>

namespace muster::agent {
namespace {

/// Series that differ in one label.
using Counted = std::vector<std::pair<std::string_view, std::uint64_t>>;

MetricFamily by_reason(std::string name, std::string help, const Counted& counted) {
  MetricFamily family{std::move(name), std::move(help), MetricType::kCounter, {}};
  for (const auto& [reason, count] : counted) {
    family.samples.push_back({{{"reason", std::string(reason)}}, count, {}});
  }
  return family;
}

MetricFamily sync_family(const TimeBuckets& syncs) {
  MetricFamily family{"muster_disk_sync_seconds",
                      "Time of synced writes to id/ and raft/; give the agent a faster or less "
                      "loaded disk if many take over 0.25.",
                      MetricType::kHistogram,
                      {}};
  const auto counts = syncs.up_to();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const std::string bound = i < TimeBuckets::kBounds.size()
                                  ? metric_seconds(TimeBuckets::kBounds.at(i)).text()
                                  : std::string("+Inf");
    family.samples.push_back({{{"le", bound}}, counts.at(i), "_bucket"});
  }
  family.samples.push_back({{}, metric_seconds(syncs.sum()), "_sum"});
  family.samples.push_back({{}, counts.back(), "_count"});
  return family;
}

void add_disk(const DiskMetrics& disk, std::vector<MetricFamily>& families) {
  if (disk.size_bytes != 0) {
    families.push_back(single_metric("muster_disk_size_bytes",
                                     "Size of the file system of the data directory; compare the "
                                     "free bytes with it.",
                                     MetricType::kGauge, disk.size_bytes));
    families.push_back(single_metric("muster_disk_free_bytes",
                                     "Bytes free for the data directory; free some before 1 GiB or "
                                     "5 % is left, for then the host starts no job.",
                                     MetricType::kGauge, disk.free_bytes));
  }
  families.push_back(sync_family(disk.syncs));
}

void add_links(const LinkMetrics& links, std::vector<MetricFamily>& families) {
  const auto count = [&families](std::string name, std::string help, std::uint64_t value) {
    families.push_back(
        single_metric(std::move(name), std::move(help), MetricType::kCounter, value));
  };
  count("muster_link_messages_received_total",
        "Messages that came over links; compare hosts to find one that talks too much.",
        links.messages_received);
  count("muster_link_messages_sent_total",
        "Messages that went over links; compare hosts to find one that talks too much.",
        links.messages_sent);
  count("muster_link_dials_total",
        "Links that were dialled; look at the network if the rate stays high.", links.dials);
  count("muster_link_ups_total", "Links that came up; compare it with dials.", links.ups);
  count("muster_link_downs_total",
        "Links that ended; look at `muster events` of the host if the rate stays high.",
        links.downs);
  families.push_back(
      by_reason("muster_link_dropped_messages_total",
                "Messages that the transport dropped, by reason; look for a slow or foreign peer "
                "if it rises.",
                {{"malformed", links.drops.malformed},
                 {"unproven", links.drops.unproven},
                 {"too_large", links.drops.too_large},
                 {"queue_full", links.drops.queue_full},
                 {"no_route", links.drops.no_route},
                 {"no_key", links.drops.no_key},
                 {"login_pace", links.drops.logins}}));
  families.push_back(
      by_reason("muster_link_refused_connections_total",
                "Connections that were refused, by reason; look for a stranger, or a host that was "
                "revoked, if it rises.",
                {{"unknown_key", links.refusals.unknown_key},
                 {"no_curve", links.refusals.no_curve},
                 {"malformed", links.refusals.malformed},
                 {"early_tickets", links.refusals.early_tickets},
                 {"unfinished", links.refusals.unfinished},
                 {"by_peer", links.refusals.by_peer},
                 {"login_limit", links.refusals.logins}}));
}

}  // namespace

std::vector<MetricFamily> edge_families(const EdgeMetrics& edge) {
  std::vector<MetricFamily> families;
  if (edge.started_unix_ms > 0) {
    families.push_back(single_metric(
        "muster_start_time_seconds",
        "Start of the agent in seconds since 1970; read its log if it starts again and again.",
        MetricType::kGauge,
        metric_seconds_of_ms(static_cast<std::uint64_t>(edge.started_unix_ms))));
  }
  if (edge.certificate_ends_unix_s > 0) {
    families.push_back(single_metric(
        "muster_https_certificate_ends_seconds",
        "When the certificate of HTTPS ends, in seconds since 1970; put a new one there before.",
        MetricType::kGauge, static_cast<std::uint64_t>(edge.certificate_ends_unix_s)));
  }
  families.push_back(single_metric("muster_loop_stalls_total",
                                   "Times that the loop stood still for half a second; look for a "
                                   "full CPU, swapping or a frozen machine if it rises.",
                                   MetricType::kCounter, edge.loop.stalls));
  families.push_back(single_metric("muster_loop_stalled_seconds_total",
                                   "Time that the loop stood still; see muster_loop_stalls_total.",
                                   MetricType::kCounter, metric_seconds(edge.loop.stalled)));
  families.push_back(single_metric("muster_loop_cpu_seconds_total",
                                   "CPU time of the loop; see `muster stats` for its parts if the "
                                   "rate nears 1.",
                                   MetricType::kCounter, metric_seconds(edge.loop.cpu)));
  add_disk(edge.disk, families);
  add_links(edge.links, families);
  return families;
}

}  // namespace muster::agent
