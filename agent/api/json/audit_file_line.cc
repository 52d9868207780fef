#include "agent/api/json/audit_file_line.h"

#include "agent/api/json/audit.h"
#include "agent/api/json/dump.h"

namespace muster::agent {
namespace {

std::string cluster_member(const ClusterId& cluster) {
  return "\"cluster\":\"" + cluster.hex() + "\",";
}

/// 0 if it is null or not there; nullopt if it is anything but a number.
std::optional<std::uint64_t> number_in(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) {
    return 0;
  }
  return found->is_number_unsigned() ? std::optional(found->get<std::uint64_t>()) : std::nullopt;
}

}  // namespace

std::string audit_file_line(const ChainEnd& before, const ClusterId& cluster,
                            const AuditInfo& line) {
  return chain_line(before, line.number, cluster_member(cluster) + audit_members(line));
}

std::string audit_gap_line(const ChainEnd& before, const ClusterId& cluster, std::uint64_t last) {
  return chain_line(
      before, last,
      cluster_member(cluster) + "\"missing_from\":" + std::to_string(before.number + 1));
}

std::optional<AuditFileLine> read_audit_file_line(std::string_view text) {
  const Json object = Json::parse(text, nullptr, false);
  if (!object.is_object() || text.size() > kChainLineBytesMax) {
    return std::nullopt;
  }
  const auto number = number_in(object, "number");
  const auto unix_ms = number_in(object, "unix_ms");
  const auto index = number_in(object, "index");
  const auto missing_from = number_in(object, "missing_from");
  const auto cluster = object.find("cluster");
  if (!number || !unix_ms || !index || !missing_from || cluster == object.end() ||
      !cluster->is_string()) {
    return std::nullopt;
  }
  return AuditFileLine{*number, cluster->get<std::string>(), *unix_ms, *index, *missing_from};
}

}  // namespace muster::agent
