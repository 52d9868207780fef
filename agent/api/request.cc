#include "agent/api/request.h"

#include <utility>

#include "agent/api/verbs.h"

namespace muster::agent {
namespace {

using gossip::Encoder;
using gossip::Reader;

static_assert(has_row_for_each(verbs::kTable, &VerbRow::verb), "each verb has one row");

bool is_status(std::uint64_t number) {
  return number <= static_cast<std::uint64_t>(ResponseStatus::kConflict) ||
         number == static_cast<std::uint64_t>(ResponseStatus::kUnknown);
}

}  // namespace

std::string encode(const Request& request) {
  Encoder out;
  const bool is_signed = request.signature.has_value();
  const bool has_token = is_signed || request.shows_token();
  out.array(is_signed   ? 10
            : has_token ? 9
                        : 7)
      .u64(static_cast<std::uint64_t>(request.verb))
      .boolean(request.consistent)
      .id(request.target)
      .bytes(request.arguments)
      .text(request.user)
      .text(request.via)
      .text(request.node);
  if (has_token) {
    out.bytes(request.access).id(request.token);
  }
  if (is_signed) {
    write(out, *request.signature);
  }
  return out.take();
}

std::string encode(const Response& response) {
  return Encoder()
      .array(5)
      .u64(static_cast<std::uint64_t>(response.status))
      .text(response.text)
      .text(response.answered_by)
      .u64(response.age_ms)
      .bytes(response.payload)
      .take();
}

std::optional<Request> decode_request(Reader body) {
  Request request;
  request.verb = static_cast<Verb>(body.u64_at_most(kByteValues - 1));
  request.consistent = body.boolean();
  request.target = body.id<HostId>();
  request.arguments = std::string(body.bytes());
  request.user = body.left() > 0 ? body.text(kAskerNameBytesMax) : "";
  request.via = body.left() > 0 ? body.text(kAskerNameBytesMax) : "";
  request.node = body.left() > 0 ? body.text(kAskerNameBytesMax) : "";
  request.access = body.left() > 0 ? std::string(body.bytes()) : "";
  request.token = body.left() > 0 ? body.id<scheduler::AccessTokenId>() : decltype(request.token)();
  if (body.left() > 0) {
    request.signature = scheduler::read_person_signature(body);
  }
  const bool is_good = body.ok() && find_verb(request.verb) != nullptr;
  return is_good ? std::optional(std::move(request)) : std::nullopt;
}

std::optional<Response> decode_response(Reader body) {
  Response response;
  const std::uint64_t status = body.u64();
  response.text = std::string(body.bytes());
  response.answered_by = body.text();
  response.age_ms = body.u64();
  response.payload = std::string(body.bytes());
  if (!body.ok() || !is_status(status)) {
    return std::nullopt;
  }
  response.status = static_cast<ResponseStatus>(status);
  return response;
}

ResponseStatus status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalid:
      return ResponseStatus::kUsage;
    case ErrorCode::kNotFound:
      return ResponseStatus::kNotFound;
    case ErrorCode::kConflict:
      return ResponseStatus::kConflict;
    case ErrorCode::kCorrupt:
    case ErrorCode::kIo:
      return ResponseStatus::kFailed;
    case ErrorCode::kUnavailable:
      return ResponseStatus::kNoQuorum;
    case ErrorCode::kUnknown:
      return ResponseStatus::kUnknown;
    case ErrorCode::kImpossible:
      return ResponseStatus::kImpossible;
    case ErrorCode::kDenied:
      return ResponseStatus::kDenied;
  }
  return ResponseStatus::kFailed;
}

}  // namespace muster::agent
