#pragma once
// FollowDesk carries FollowBook (agent/api/rest) to the streams of the door's servers and to the
// Node: its questions are messages of clients, as those of WebDoor, by routes of its own range.
// Owned by WebDoor; used by its thread.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "agent/api/rest/follow_book.h"
#include "agent/edge/door/http_server.h"
#include "agent/edge/door/http_stream.h"
#include "gossip/base/ids.h"
#include "gossip/base/rng.h"
#include "gossip/base/time.h"
#include "gossip/wire/transport.h"

namespace muster::agent {

class FollowDesk final : private FollowStreams {
 public:
  /// The routes of its questions; those of WebDoor are lower.
  static constexpr std::uint64_t kFirstRoute = std::uint64_t{3} << 62;
  static bool owns(gossip::Route route) { return route.value() >= kFirstRoute; }
  /// A follower has room again once no more than this waits for it: then the largest push fits.
  static constexpr std::size_t kRoomBytes = 32 * 1024;
  static_assert(kRoomBytes + kFollowStateBytes + 1024 <= HttpStream::kBufferMax);
  static_assert(kRoomBytes + kFollowBatchBytes + 7 * kFollowPieceBytes + 1024 <=
                HttpStream::kBufferMax);

  explicit FollowDesk(Rng rng, FollowLimits limits = {}) : book_(*this, limits), rng_(rng) {}
  FollowDesk(const FollowDesk&) = delete;
  FollowDesk& operator=(const FollowDesk&) = delete;

  /// A question that asks_to_follow(), with its proof. `server` outlives the follower, or is
  /// closed by close().
  void begin(Instant now, HttpServer& server, const HttpQuestion& question, FollowProof proof);
  /// Ends the followers of this server.
  void close(const HttpServer& server);

  /// The caller calls take() then.
  Instant next_deadline() const { return book_.next_deadline(); }
  /// The messages that the Node hears now.
  std::vector<gossip::TransportInput> take(Instant now);
  /// The Node answered. Precondition: owns(reply.route).
  void hear(Instant now, const gossip::Reply& reply);

  std::size_t followers() const { return book_.followers(); }

 private:
  struct Line {
    HttpServer* server = nullptr;
    std::uint64_t question = 0;            ///< Of the server.
    std::shared_ptr<HttpStream> stream{};  ///< Null before open().
  };

  void answer(std::uint64_t follower, HttpAnswer answer) override;
  void open(std::uint64_t follower, HttpAnswer head) override;
  Taken push(std::uint64_t follower, std::string_view bytes) override;
  bool has_room(std::uint64_t follower) const override;
  bool is_gone(std::uint64_t follower) const override;
  void end(std::uint64_t follower) override;

  FollowBook book_;
  Rng rng_;
  std::map<std::uint64_t, Line> lines_;    ///< By follower.
  std::map<std::uint64_t, Nonce> nonces_;  ///< Of the questions under way, by their numbers.
  std::uint64_t last_follower_ = 0;
};

}  // namespace muster::agent
