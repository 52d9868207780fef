#pragma once
// AuditCheck reads an audit file line by line, and says which line is the first that is wrong. It
// finds each changed, removed, added, moved or repeated line. Lines cut off at the end, and a
// change of the last line, are found only beside an end that was noted earlier and elsewhere. Pure:
// an edge reads the file.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "agent/api/json/audit_chain.h"
#include "gossip/base/signing.h"

namespace muster::agent {

struct AuditFileReport {
  std::string path;                 ///< As the caller names the file.
  std::uint64_t lines = 0;          ///< Lines up to the first wrong one.
  std::uint64_t missing = 0;        ///< Lines of the audit that the file says it does not have.
  std::uint64_t first_unix_ms = 0;  ///< Of the first line with a time; 0 = there is no such line.
  std::uint64_t last_unix_ms = 0;
  ChainEnd end = chain_begin();  ///< Of `lines`.
  std::uint64_t wrong_line = 0;  ///< The first wrong one, from 1; 0 = all fit.
  std::string why{};             ///< The reason, for people; "" = all fit.
  bool operator==(const AuditFileReport&) const = default;
};

class AuditCheck {
 public:
  /// `noted`: an end that the file had earlier; nullopt = none was noted. `verifier` outlives this.
  AuditCheck(const gossip::Verifier& verifier, std::string path, std::optional<ChainEnd> noted);

  /// Takes the next line, without its line feed. False if it is wrong: then the caller takes no
  /// further line.
  bool take(std::string_view line);
  /// `has_rest`: behind the last line feed the file goes on. Behind a wrong line that is of no
  /// matter.
  AuditFileReport finish(bool has_rest);

 private:
  std::string why_wrong(std::string_view line);

  ChainReader chain_;
  std::optional<ChainEnd> noted_;  ///< nullopt also once it was met.
  std::string cluster_;            ///< That of the first line.
  AuditFileReport report_;
};

}  // namespace muster::agent
