#pragma once
// The rules that keep pages of other sites, and requests of doubtful length, from the door. A
// browser sends a request for any page: the page of another site can make it write, and a name
// that such a site owns may lead to this host. Proof is checked elsewhere.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/api/rest/http_message.h"

namespace muster::agent {

struct BrowserRules {
  /// Names and addresses of this door, without a port: "node1", "10.0.0.1", "::1". In any case.
  std::vector<std::string> names{};
  /// The Host may be any: for a unix socket, which no browser reaches.
  bool may_be_any_name = false;
};

/// The header that each method but GET and HEAD needs, with any value. A page of another site
/// cannot set it.
inline constexpr char kClientField[] = "muster-client";

/// The answer that refuses the request; nullopt if it may pass. 400: the length is said twice
/// (two Content-Length, or one beside Transfer-Encoding), another coding than chunked, or a field
/// that may come once came twice. 421: the Host is not a name of this door. 403: a method that
/// writes, without `muster-client` or with an Origin other than https:// and the Host.
std::optional<HttpAnswer> browser_refusal(const HttpRequest& request, const BrowserRules& rules);

/// The name in a Host: "node1" of "Node1:8443", "::1" of "[::1]:8443"; in lower case. nullopt if
/// it is not of that form.
std::optional<std::string> host_name_of(std::string_view host);

}  // namespace muster::agent
