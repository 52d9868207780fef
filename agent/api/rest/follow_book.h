#pragma once
// FollowBook knows the followers of one node: it says what to ask the node, and pushes the answers
// to those who follow. Pure: the edge asks, and has the streams. It holds positions, never the
// bytes between: what a stream refuses is asked for once more, or told as lost.
//
// Invariants
// - To a follower the bytes of an output go in order, each once: from its position on, and the
//   position moves with each accepted push alone. A resumed one goes on at any offset.
// - It loses bytes only if it is slow: it refused a push behind what there was at its beginning,
//   and had no room for kStuckMax. Then `gap` names exactly what it lost. One that makes room in
//   time goes on at its own pace. Of a job or a list it is told the newest state alone.
// - Of a topic one question is under way at a time, and one for each follower's own check. Equal
//   questions are asked once: followers share a topic by topic_of().
// - The first answer of a follower is told to it alone: the others hear at the pace of their topic,
//   or a thousand that come would each push to all before them.
// - Each follower's proof is checked alone before its first byte, and then every kCheckPeriod.
//   Output is pushed on no proof older than kFollowProofAge, and to no follower before the host of
//   the rank read it for its proof. A question shows the proof of a follower that is told its
//   answer.
// - No more followers than FollowLimits says; a topic lives as long as its followers.

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "agent/api/request.h"
#include "agent/api/rest/follow_ask.h"
#include "agent/api/rest/follow_text.h"
#include "agent/api/rest/follow_topic.h"
#include "agent/api/rest/follow_wish.h"
#include "agent/api/rest/http_message.h"
#include "gossip/base/time.h"

namespace muster::agent {

/// The answers to followers, by their numbers. Each call answers at once, so that the book holds no
/// bytes. Behind answer() and end() the book makes no call for that number.
class FollowStreams {
 public:
  enum class Taken : std::uint8_t {
    kYes,
    kFull,  ///< No byte of it: the follower has not read enough.
    kGone,
  };

  virtual ~FollowStreams() = default;
  /// An answer without events.
  virtual void answer(std::uint64_t follower, HttpAnswer answer) = 0;
  /// The beginning of an answer that goes on. Its body is empty.
  virtual void open(std::uint64_t follower, HttpAnswer head) = 0;
  virtual Taken push(std::uint64_t follower, std::string_view bytes) = 0;
  /// It has read enough for the largest push.
  virtual bool has_room(std::uint64_t follower) const = 0;
  virtual bool is_gone(std::uint64_t follower) const = 0;
  virtual void end(std::uint64_t follower) = 0;
};

struct FollowLimits {
  std::size_t followers = 4096;
  /// Questions of topics and checks under way together; more wait. The first question of a follower
  /// is asked at once: the server limits requests without an answer.
  std::size_t asks = 128;
};

struct FollowQuestion {
  std::uint64_t number = 0;  ///< The next question of one look has the same.
  FollowProof proof{};
  Request request{};
};

class FollowBook {
 public:
  static constexpr Duration kHeartbeat = std::chrono::seconds(15);
  static constexpr Duration kCheckPeriod = std::chrono::seconds(30);
  static constexpr Duration kCheckAgain = std::chrono::seconds(5);
  static constexpr Duration kStuckMax = std::chrono::seconds(2);
  /// For one answer of the node, and for one that is not needed.
  static constexpr Duration kPatience = std::chrono::seconds(8);
  static constexpr Duration kPatienceOfAddition = std::chrono::seconds(1);
  /// For all questions of one look.
  static constexpr Duration kPatienceOfLook = std::chrono::seconds(30);
  /// Between two looks whether blocked followers have room, and whether any has left.
  static constexpr Duration kRoomPeriod = std::chrono::milliseconds(50);
  static constexpr Duration kSweepPeriod = std::chrono::milliseconds(500);
  /// A state that is older than this is stale.
  static constexpr std::uint64_t kStateAgeMsMax = 5000;
  static constexpr Duration kFailedPauseMin = std::chrono::seconds(1);
  static constexpr Duration kFailedPauseMax = std::chrono::seconds(5);

  /// `streams` outlives this.
  explicit FollowBook(FollowStreams& streams, FollowLimits limits = {})
      : streams_(streams), limits_(limits) {}

  /// A new follower; `number` is never used twice.
  void begin(Instant now, std::uint64_t number, FollowWish wish, FollowProof proof);
  /// The follower is no more: streams_ knows it no longer.
  void leave(std::uint64_t number);
  /// The node answered the question of that number, or could not be asked.
  void hear(Instant now, std::uint64_t question, const Response& response);
  /// The questions to be asked now.
  std::vector<FollowQuestion> turn(Instant now);
  /// The caller calls turn() then.
  Instant next_deadline() const;

  /// Whether hear() waits for an answer to that question.
  bool is_asking(std::uint64_t question) const { return asks_.contains(question); }
  std::size_t followers() const { return followers_.size(); }
  std::size_t topics() const { return topics_.size(); }
  std::size_t asks() const { return asks_.size(); }

 private:
  enum class Cause : std::uint8_t { kBegin, kPoll, kCheck };
  struct Asked {
    Cause cause{};
    std::uint64_t follower = 0;
    std::uint64_t topic = 0;  ///< With kPoll.
    FollowAsk ask;
    FollowProof proof{};
    std::uint64_t at = 0;
    Instant asked_at{};
    Instant deadline{};
  };

  void put_question(Instant now, std::uint64_t number, Asked& asked);
  void start(Instant now, Asked asked);
  void ask_topic(Instant now, std::uint64_t number, FollowTopic& topic);
  void check(Instant now, std::uint64_t number, Follower& follower);
  void expire(Instant now);
  void sweep(Instant now);
  void look_for_room(Instant now);
  /// Looks at the topic again when its next question is due.
  void plan(Instant now, std::uint64_t topic);
  void ask_due(Instant now);

  void begun(Instant now, const Asked& asked, std::variant<HttpAnswer, FollowNews> result);
  void polled(Instant now, const Asked& asked, std::variant<HttpAnswer, FollowNews> result);
  void checked(Instant now, const Asked& asked, const std::variant<HttpAnswer, FollowNews>& result);
  std::uint64_t topic_called(const FollowWish& wish, const std::string& key, const FollowNews& news,
                             Instant now);
  std::uint64_t settle(Instant now, std::uint64_t topic, const Asked& asked,
                       const FollowNews& news);
  void failed(Instant now, FollowTopic& topic, const FollowProof& proof, const HttpAnswer& refusal);
  /// To each follower that has not heard it: news cannot be had, or can again.
  void tell_stale(Instant now, FollowTopic& topic);

  /// Tells `to`, who are followers of the topic. True if there was something new. `from`: the news
  /// have all that lies behind it.
  using Told = std::set<std::uint64_t>;
  bool deliver(Instant now, FollowTopic& topic, FollowNews& news, std::uint64_t from,
               const Told& to);
  bool deliver_state(Instant now, FollowTopic& topic, const FollowNews& news, const Told& to);
  bool deliver_output(Instant now, FollowTopic& topic, FollowNews& news, const Told& to);
  bool deliver_events(Instant now, FollowTopic& topic, const FollowNews& news, std::uint64_t from,
                      const Told& to);
  void push_batches(Instant now, std::uint64_t number, const std::vector<FollowBatch>& batches);
  bool push_gap(Instant now, std::uint64_t number, std::uint64_t to);
  bool push(Instant now, std::uint64_t number, std::string_view bytes);
  void deny(Instant now, std::uint64_t number, const std::string& text);
  void finish(Instant now, FollowTopic& topic);
  /// Its stream ends, and it is forgotten behind the step.
  void end(std::uint64_t number);
  void forget_over();

  FollowStreams& streams_;
  FollowLimits limits_;
  Followers followers_;
  std::map<std::uint64_t, FollowTopic> topics_;
  std::map<std::string, std::uint64_t> topic_of_key_;
  std::map<std::uint64_t, Asked> asks_;
  std::set<std::uint64_t> blocked_;
  std::set<std::uint64_t> over_;  ///< Followers that are forgotten behind the step.
  std::vector<FollowQuestion> questions_;
  std::uint64_t last_number_ = 0;  ///< Of topics and questions.
  Instant next_sweep_{};
  Instant next_room_{};
  /// When to look at which topic. An entry may be out of date: then the look changes nothing.
  std::set<std::pair<Instant, std::uint64_t>> plan_;
  bool is_due_ = false;
};

}  // namespace muster::agent
