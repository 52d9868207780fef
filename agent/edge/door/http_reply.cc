#include "agent/edge/door/http_reply.h"

#include <microhttpd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include "gossip/base/check.h"

namespace muster::agent {
namespace {

/// A larger body is copied in pieces of this size, that of a record of TLS: a connection holds one
/// for as long as its client does not read.
constexpr std::size_t kWindowBytes = 16 * 1024;
/// Of a stream, for as long as it is followed: a node has thousands of them.
constexpr std::size_t kStreamWindowBytes = 4 * 1024;

constexpr std::pair<std::string_view, std::string_view> kSecurityFields[] = {
    {"x-content-type-options", "nosniff"},
    {"cache-control", "no-store"},
    {"content-security-policy", "default-src 'none'"},
    {"x-frame-options", "DENY"},
    {"referrer-policy", "no-referrer"},
};

/// A longer wait is not lengthened: the number may be anything.
constexpr std::uint64_t kRetryAfterMax = 24 * 3600;

struct SmallBody {
  std::string bytes;
};

struct WindowedBody {
  std::string bytes;
  std::atomic<std::uint64_t>* progress;
};

struct StreamedBody {
  std::shared_ptr<HttpStream> stream;
  MHD_Connection* link;
  std::atomic<std::uint64_t>* progress;
};

ssize_t read_window(void* from, std::uint64_t position, char* to, std::size_t size) {
  const WindowedBody& body = *static_cast<WindowedBody*>(from);
  if (position >= body.bytes.size()) {
    return MHD_CONTENT_READER_END_OF_STREAM;
  }
  const auto begin = static_cast<std::size_t>(position);
  const std::size_t count = std::min(size, body.bytes.size() - begin);
  std::memcpy(to, body.bytes.data() + begin, count);
  body.progress->fetch_add(count, std::memory_order_relaxed);
  return static_cast<ssize_t>(count);
}

ssize_t read_stream(void* from, std::uint64_t, char* to, std::size_t size) {
  const StreamedBody& body = *static_cast<StreamedBody*>(from);
  const std::ptrdiff_t count = body.stream->read(body.link, to, size);
  if (count > 0) {
    body.progress->fetch_add(static_cast<std::uint64_t>(count), std::memory_order_relaxed);
  }
  return count;
}

void drop_small_body(void* body) {
  delete static_cast<SmallBody*>(body);
}

void drop_windowed_body(void* body) {
  delete static_cast<WindowedBody*>(body);
}

void drop_streamed_body(void* body) {
  static_cast<StreamedBody*>(body)->stream->leave();
  delete static_cast<StreamedBody*>(body);
}

/// A field that the library refuses, as one with a line feed, is left out.
void add_fields(MHD_Response* response, const HttpAnswer& answer) {
  CHECK(response != nullptr);
  if (!answer.content_type.empty()) {
    MHD_add_response_header(response, "content-type", answer.content_type.c_str());
  }
  for (const auto& [name, value] : answer.fields) {
    MHD_add_response_header(response, name.c_str(), value.c_str());
  }
}

void spread_retry(std::string& value, std::uint32_t chance) {
  std::uint64_t seconds = 0;
  const char* end = value.data() + value.size();
  const auto parsed = std::from_chars(value.data(), end, seconds);
  if (parsed.ec != std::errc() || parsed.ptr != end || seconds > kRetryAfterMax) {
    return;
  }
  const std::uint64_t most = std::max<std::uint64_t>(1, seconds / 2);
  value = std::to_string(seconds + chance % (most + 1));
}

std::uint32_t any_number() {
  return std::random_device()();
}

}  // namespace

void complete(HttpAnswer& answer, std::uint32_t chance) {
  for (const auto& [name, value] : kSecurityFields) {
    if (!field_of(answer.fields, name).has_value()) {
      answer.fields.emplace_back(name, value);
    }
  }
  for (auto& [name, value] : answer.fields) {
    if (name == "retry-after") {
      spread_retry(value, chance);
    }
  }
}

MHD_Response* make_response(HttpAnswer answer, std::atomic<std::uint64_t>& progress) {
  complete(answer, any_number());
  MHD_Response* response = nullptr;
  const std::size_t size = answer.body.size();
  if (size <= kWindowBytes) {
    // The library sends it together with the header.
    auto* body = new SmallBody{std::move(answer.body)};
    response = MHD_create_response_from_buffer_with_free_callback_cls(size, body->bytes.data(),
                                                                      drop_small_body, body);
  } else {
    auto* body = new WindowedBody{std::move(answer.body), &progress};
    response = MHD_create_response_from_callback(size, kWindowBytes, read_window, body,
                                                 drop_windowed_body);
  }
  add_fields(response, answer);
  return response;
}

MHD_Response* make_stream_response(HttpAnswer head, std::shared_ptr<HttpStream> stream,
                                   MHD_Connection* link, std::atomic<std::uint64_t>& progress) {
  complete(head, any_number());
  auto* body = new StreamedBody{std::move(stream), link, &progress};
  MHD_Response* response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, kStreamWindowBytes,
                                                             read_stream, body, drop_streamed_body);
  add_fields(response, head);
  return response;
}

}  // namespace muster::agent
