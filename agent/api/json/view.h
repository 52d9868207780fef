#pragma once
// What --json prints: snake_case keys that stay, whole ids, integers, arrays. One document without
// line breaks each. Bytes that are no UTF-8 become U+FFFD; where people's own words may hold such
// (output, command, environment, directory) the bytes stand beside them in base64. nlohmann/json
// stays in dump.h.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/api/events.h"
#include "agent/api/hosts.h"
#include "agent/api/jobs.h"
#include "agent/api/quorum.h"
#include "agent/api/request.h"
#include "agent/api/stats.h"

namespace muster::agent {

/// Each also holds `answered_by` and `age_ms` of the answer it came in.
/// `uses`: what the log says of hosts, when a voter could be asked.
std::string to_json(const HostList& list, const std::optional<std::map<HostId, HostUse>>& uses,
                    const Response& answer);
std::string to_json(const HostInfo& host, const HostDetail& detail, const Response& answer);
std::string to_json(const UsageList& list, const std::string& by, const Response& answer);
/// The history of a job.
std::string to_json(JobId job, const std::vector<TransitionInfo>& steps, const Response& answer);
std::string to_json(const QuorumInfo& quorum, const Response& answer);
std::string to_json(const EventsPage& page, const Response& answer);
std::string to_json(const JobList& list, std::size_t hidden, const Response& answer);
std::string to_json(const JobDetail& detail, const Response& answer);
std::string to_json(const WhyInfo& why, const Response& answer);
/// The same of a job that is not submitted: no number, and the hosts it would get.
std::string dry_run_json(const WhyInfo& why, const Response& answer);
std::string to_json(const WhyHostInfo& why, const Response& answer);

std::string to_json(const StatsInfo& stats, const Response& answer);

/// One line of `events --follow`.
std::string to_json(const EventInfo& event);
/// `node` is nothing when none answered.
std::string to_json(const std::optional<VersionInfo>& node);
/// `done` is "added", "removed" or "leads"; `host_name` "" = not asked for by name.
std::string quorum_changed_json(const std::string& done, const std::string& host_name,
                                const std::string& detail);
std::string recovered_json(const std::string& host_name, std::uint64_t epoch, LogIndex last);
std::string fenced_json(const std::string& host_name, HostId host);
/// `done` is "drained", "undrained" or "removed".
std::string host_ordered_json(std::string_view done, const std::string& host_name, HostId host);
std::string left_json(const std::string& host_name);

}  // namespace muster::agent
