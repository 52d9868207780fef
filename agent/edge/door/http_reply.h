#pragma once
// Answers in the form of the library: the header that each of them has, and the body in windows.

#include <atomic>
#include <cstdint>
#include <memory>

#include "agent/api/rest/http_message.h"
#include "agent/edge/door/http_stream.h"

struct MHD_Connection;
struct MHD_Response;

namespace muster::agent {

/// The caller destroys the response; `progress` grows as windows of a large body are sent, and
/// outlives it. Never null.
MHD_Response* make_response(HttpAnswer answer, std::atomic<std::uint64_t>& progress);
/// The same with the body from a stream, to `link`; the stream is gone when the response is.
MHD_Response* make_stream_response(HttpAnswer head, std::shared_ptr<HttpStream> stream,
                                   MHD_Connection* link, std::atomic<std::uint64_t>& progress);

/// Adds the security headers that the answer does not set itself, and up to half of its time, at
/// least a second, to Retry-After: clients that were refused together do not come back together.
/// `chance` is any number.
void complete(HttpAnswer& answer, std::uint32_t chance);

}  // namespace muster::agent
