#pragma once
// The proof of a request: the line of an access token, in the header or, from the page of this
// node, in a cookie. POST /v1/login puts a line that was shown in the header into the cookie, POST
// /v1/logout takes it away. The node judges the line; here it is only found.
//
// A browser adds the cookie to each request to this host, also to one that another page made.
// Therefore it counts over HTTPS alone, and not if the browser says that another page asks.
// browser_refusal() (agent/api/rest/browser_gate.h) has kept away other names of this host, and
// writes of other pages. No page can read the cookie, also not the own one.

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>

#include "agent/api/rest/http_message.h"

namespace muster::agent {

inline constexpr char kLoginPath[] = "/v1/login";
inline constexpr char kLogoutPath[] = "/v1/logout";
/// By "__Host-" browsers keep it for this host, by HTTPS alone, and take it from no other host.
inline constexpr std::string_view kProofCookie = "__Host-muster";
/// A token may end earlier.
inline constexpr int kProofCookieSeconds = 12 * 3600;

struct Proof {
  std::string line{};     ///< "" = the request shows none.
  bool is_login = false;  ///< The node is asked whoami_question(); its answer to login_answer().
};

/// Precondition: browser_refusal() let the request pass. Authorization wins over the cookie. An
/// answer at once: 400, there is a proof in the query, or /v1/login or /v1/logout is not used as it
/// has to be; 401, the header or the cookie is not readable, or /v1/login has no Authorization;
/// 405; and the answer of /v1/logout.
std::variant<HttpAnswer, Proof> read_proof(const HttpRequest& request, bool is_https);

/// The request of a login as GET /v1/whoami.
HttpRequest whoami_question(const HttpRequest& login);
/// The answer to whoami_question(), with the cookie if it is 200. Precondition: `line` is that of
/// the Proof.
HttpAnswer login_answer(HttpAnswer whoami, std::string_view line);

}  // namespace muster::agent
