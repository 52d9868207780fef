#pragma once
// The audit of the cluster: the newest changes and refusals of persons, page by page.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gossip/base/ids.h"

namespace muster::agent {

/// Selects lines. A line has to match every field. Operators and administrators may ask for all;
/// other users get their own lines.
struct AuditQuery {
  std::uint64_t after = 0;     ///< Only lines above this number; 0 = all kept.
  std::uint64_t newest = 0;    ///< Only the newest ones that match, so many; 0 = all.
  std::uint64_t since_ms = 0;  ///< Only lines no older than this; 0 = of any age.
  std::string user{};          ///< "" = of any user.
  std::string verb{};          ///< "submit", "cancel", ...; "" = any.
  bool operator==(const AuditQuery&) const = default;
};

struct AuditInfo {
  std::uint64_t number = 0;   ///< Counts up, and is never used again.
  LogIndex index;             ///< Of the entry.
  std::uint64_t unix_ms = 0;  ///< The leader's wall clock at the entry, for people; 0 = not known.
  std::string by;             ///< "USER@HOST"; "" = several persons.
  std::string user;
  HostId host;            ///< The host that vouched for the person.
  std::string host_name;  ///< Its name, as the node that answers knows it.
  std::string told_by;    ///< Name of the host that reported it; "" = the log itself shows it.
  std::string proof;      ///< "host"
  std::string verb;
  std::string object;   ///< "job 12", "host n1", "user ann"; "" = none, or not known.
  std::string outcome;  ///< "done", "refused", "denied"
  std::string why;
  bool operator==(const AuditInfo&) const = default;
};

struct AuditPage {
  std::vector<AuditInfo> lines;  ///< The oldest first.
  std::uint64_t next = 0;        ///< The next page is behind this number; 0 = this is the last one.
  std::uint64_t first = 0;       ///< Number of the oldest line kept; 0 = no line is kept.
  std::uint64_t last = 0;        ///< Number of the newest line kept, listed or not.
  bool is_own = false;           ///< Only the asker's own lines were looked at.
  bool operator==(const AuditPage&) const = default;
};
/// The most lines in a page. It ends also behind the line with which it reaches kAuditPageBytes.
inline constexpr std::size_t kAuditPage = 500;
inline constexpr std::size_t kAuditPageBytes = 256 << 10;

}  // namespace muster::agent
