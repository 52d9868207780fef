#pragma once
// QueryFields takes the parameters of a query by name and type, and refuses those that no rule
// takes. Errors name the parameter.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/api/rest/field_log.h"
#include "agent/api/rest/http_message.h"
#include "gossip/base/result.h"

namespace muster::agent {

/// An absent parameter is nullopt; so is one that is wrong: end() returns the first error.
class QueryFields {
 public:
  /// `query` and `log` outlive this. `log`: for tests, or null.
  explicit QueryFields(const HttpFields& query, FieldLog* log = nullptr);
  QueryFields(const QueryFields&) = delete;
  QueryFields& operator=(const QueryFields&) = delete;

  bool has(std::string_view name) const;

  /// Given once, and not empty.
  std::optional<std::string> text(std::string_view name);
  /// One of `allowed`; the error lists them.
  std::optional<std::string> choice(std::string_view name,
                                    const std::vector<std::string_view>& allowed);
  /// Digits alone.
  std::optional<std::uint64_t> number(std::string_view name, std::uint64_t min, std::uint64_t max);
  /// "1" or "true", "0" or "false"; a bare name is true.
  std::optional<bool> boolean(std::string_view name);
  /// "state=running,failed" or "state=running&state=failed"; "" if it is absent. No text is empty.
  std::vector<std::string> texts(std::string_view name);
  /// As texts(), of these alone.
  std::vector<std::string> choices(std::string_view name,
                                   const std::vector<std::string_view>& allowed);

  /// A rule of the caller: "limit: " and `why`. Only the first error counts.
  void refuse(std::string_view name, const std::string& why);
  /// Whether there is no error so far.
  bool is_good() const { return !error_.has_value(); }

  /// kInvalid with the first error; without one, the first parameter that nobody took, with the
  /// nearest name that was asked for.
  Status end() const;

 private:
  /// Takes the parameter; null if it is absent. Given twice is an error.
  const std::string* take(std::string_view name);
  /// All values of the parameter; empty after an error.
  std::vector<std::string> items(std::string_view name);

  const HttpFields& query_;
  FieldLog* log_;
  std::optional<std::string> error_;
  std::vector<std::string> asked_;  ///< Names that were taken, whether they are there or not.
};

}  // namespace muster::agent
