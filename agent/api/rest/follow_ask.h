#pragma once
// FollowAsk is one look for news: the questions to the node behind each other, and the news or the
// refusal in the end. Pure.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "agent/api/events.h"
#include "agent/api/output.h"
#include "agent/api/request.h"
#include "agent/api/rest/call_step.h"
#include "agent/api/rest/follow_wish.h"
#include "agent/api/rest/rank_place.h"
#include "gossip/base/ids.h"

namespace muster::agent {

/// The news of one look. By the kind of the wish some fields are set.
struct FollowNews {
  RankPlace place{};    ///< kOutput; its attempt is 0 while the job has none to read.
  OutputChunk chunk{};  ///< kOutput with an attempt.
  /// kOutput: the host of the rank read it for this proof. An answer that there is no output yet
  /// proves no right to it.
  bool proves_output = false;
  EventsPage page{};         ///< kEvents
  HostId target{};           ///< kEvents: of a named host.
  std::string document{};    ///< kJob, kJobs: as the route answers it, without the line feed.
  std::string end{};         ///< Not empty: no news will come any more, and why.
  std::string host{};        ///< The host that answered.
  std::uint64_t age_ms = 0;  ///< Of the answer.
};

class FollowAsk {
 public:
  /// The first look in the name of a follower, which finds out where to look later.
  static FollowAsk first(const FollowWish& wish, const std::string& access);
  /// A later look. `place` and `target`: as the news had them; `from`: behind this offset or
  /// sequence number.
  static FollowAsk again(const FollowWish& wish, const std::string& access, const RankPlace& place,
                         HostId target, std::uint64_t from);

  /// Over at once: a refusal without a question.
  bool is_over() const { return step_.next == nullptr; }
  /// To be asked now. Precondition: not over.
  const Request& question() const { return step_.question; }
  bool is_addition() const { return step_.is_addition; }
  /// `response` answers question(). Then the look is over, or question() is the next one.
  void on_answer(const Response& response);
  /// Precondition: over.
  std::variant<HttpAnswer, FollowNews> take();

 private:
  FollowAsk(std::shared_ptr<std::optional<FollowNews>> news, CallStep step)
      : news_(std::move(news)), step_(std::move(step)) {}

  std::shared_ptr<std::optional<FollowNews>> news_;  ///< Set by the last step.
  CallStep step_;
};

/// The text of a refusal, for people: the detail of its document.
std::string refusal_text(const HttpAnswer& refusal);

}  // namespace muster::agent
