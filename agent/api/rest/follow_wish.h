#pragma once
// FollowWish is a request for Server-Sent Events: an answer that goes on. Four routes are followed:
// the output of a rank, a job, the list of jobs, and the events of a host. Pure.
//
// A client asks so by `accept: text/event-stream` or `?follow=1`, and goes on by `Last-Event-ID`
// with the id of the last event that it has. An id of the output is the offset behind its bytes, in
// attempts above the first one with "@ATTEMPT" behind it: a client that the browser connects again
// never takes the offset of one attempt for that of the next.

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "agent/api/events.h"
#include "agent/api/rest/http_message.h"
#include "gossip/base/ids.h"

namespace muster::agent {

inline constexpr char kEventStreamType[] = "text/event-stream";

enum class FollowKind : std::uint8_t { kOutput, kJob, kJobs, kEvents };

/// The asker: by the line of an access token, which is a secret, or as a login.
struct FollowProof {
  std::string line{};
  std::optional<std::uint32_t> uid{};
  auto operator<=>(const FollowProof&) const = default;
};

struct FollowWish {
  FollowKind kind{};
  bool is_head = false;  ///< HEAD: the header alone.
  /// Behind this offset or sequence number it goes on; nullopt = the beginning of the output, and
  /// of events those that come from now on.
  std::optional<std::uint64_t> from{};

  // kOutput
  JobId job{};
  std::uint64_t rank = 0;
  std::uint64_t attempt = 0;   ///< 0 = the last one, or the first one to come.
  std::string stream{};        ///< kStdout or kStderr alone; "" = both.
  std::uint64_t since_ms = 0;  ///< The first bytes are no older; 0 = of any age.

  // kJob, kJobs
  HttpRequest request{};  ///< The same for one answer.
  std::string last_id{};  ///< Of the state that the client has; "" = it has none.

  // kEvents
  EventsQuery events{};      ///< Of the first answer.
  std::string host{};        ///< "" = the node asked.
  bool is_from_now = false;  ///< The events of the first answer are left out.
};

/// Whether the request is to be followed: GET or HEAD of one of the four routes, which says so.
bool asks_to_follow(const HttpRequest& request);

/// The wish, or the refusal. The query of a job and of the list of jobs is checked by the first
/// question about it. Precondition: asks_to_follow().
std::variant<HttpAnswer, FollowWish> follow_wish_of(const HttpRequest& request);

/// The key of all that is told in the same words to those who ask for it: followers with one key
/// share its questions. Output is the same for each person that may read it, so its key has no
/// proof. `attempt`: of an output; 0 = none yet.
std::string topic_of(const FollowWish& wish, const FollowProof& proof, std::uint64_t attempt);

/// "4096", "4096@2"; as FollowWish says.
std::string output_event_id(std::uint64_t offset, std::uint64_t attempt);

}  // namespace muster::agent
