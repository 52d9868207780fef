#pragma once
// The documents of --json: snake_case keys that never change, whole ids, integers, arrays. A
// document has no line breaks. Bytes that are not UTF-8 become U+FFFD. Fields that people fill
// (output, command, environment, directory) may hold such bytes: base64 beside them has the
// original. Only dump.h includes nlohmann/json.

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

/// Each document also holds `answered_by` and `age_ms` of its answer.
/// `uses` is the log's view of the hosts; nullopt if no voter could be asked.
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
/// As to_json(why), for a job that is not submitted: without a number, with the hosts it would get.
std::string dry_run_json(const WhyInfo& why, const Response& answer);
std::string to_json(const WhyHostInfo& why, const Response& answer);

std::string to_json(const StatsInfo& stats, const Response& answer);

/// One line of `events --follow`.
std::string to_json(const EventInfo& event);
/// `node` is nullopt if no node answered.
std::string to_json(const std::optional<VersionInfo>& node);
/// `done` is "added", "removed" or "leads". `host_name` is "" if the user named no host.
std::string quorum_changed_json(const std::string& done, const std::string& host_name,
                                const std::string& detail);
std::string recovered_json(const std::string& host_name, std::uint64_t epoch, LogIndex last);
std::string fenced_json(const std::string& host_name, HostId host);
/// `done` is "drained", "undrained" or "removed".
std::string host_ordered_json(std::string_view done, const std::string& host_name, HostId host);
std::string left_json(const std::string& host_name);

}  // namespace muster::agent
