#pragma once
// HttpHead is the request line and header of a request, as the library read them, and whether the
// server refuses it for them.

#include <cstdint>
#include <optional>
#include <string_view>

#include "agent/api/rest/http_message.h"
#include "agent/edge/door/http_options.h"

struct MHD_Connection;

namespace muster::agent {

struct HttpHead {
  HttpRequest request{};  ///< Without its body.
  std::optional<HttpAnswer> refusal{};
  /// The refusal is sent before the body, and the connection is closed behind it: the client waits
  /// for a word, or where the body ends is in doubt, or it is too large to be read and dropped.
  bool must_answer_now = false;
};

/// A refused body up to this size is read and dropped, so that a client that sends without
/// listening still reads the refusal.
inline constexpr std::size_t kDroppedBodyMax = 4 * 1024 * 1024;

/// `target`: of the request line, before anything was decoded.
HttpHead read_head(MHD_Connection* link, std::string_view method, std::string_view target,
                   const HttpServerOptions& options);

}  // namespace muster::agent
