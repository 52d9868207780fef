// FollowBook: what answers of the node mean, and what of them is pushed to whom.

#include "agent/api/rest/follow_book.h"

#include <algorithm>
#include <utility>

#include "gossip/base/check.h"

namespace muster::agent {
namespace {

bool is_denial(const HttpAnswer& refusal) {
  return refusal.status == 401 || refusal.status == 403;
}
bool is_unknown_thing(const HttpAnswer& refusal) {
  return refusal.status == 404 || refusal.status == 410;
}

FollowRank rank_of(const FollowTopic& topic) {
  return {topic.wish.job, topic.place.attempt, topic.wish.rank};
}

std::string position_id(const FollowTopic& topic, std::uint64_t at) {
  return topic.wish.kind == FollowKind::kOutput ? output_event_id(at, topic.place.attempt)
                                                : std::to_string(at);
}

/// Of a state that the log had then; the host that answered may not reach the others.
std::string old_state_text(const FollowNews& news) {
  return "the answer is " + std::to_string(news.age_ms / 1000) +
         " s old: no quorum is reachable from host " + news.host;
}

}  // namespace

bool FollowBook::push(Instant now, std::uint64_t number, std::string_view bytes) {
  Follower& follower = followers_.at(number);
  if (over_.contains(number) || follower.blocked_since != kNever) {
    return false;
  }
  switch (streams_.push(number, bytes)) {
    case FollowStreams::Taken::kYes:
      return true;
    case FollowStreams::Taken::kGone:
      end(number);
      return false;
    case FollowStreams::Taken::kFull:
      break;
  }
  follower.blocked_since = now;
  next_room_ = blocked_.empty() ? now + kRoomPeriod : next_room_;
  blocked_.insert(number);
  return false;
}

void FollowBook::push_batches(Instant now, std::uint64_t number,
                              const std::vector<FollowBatch>& batches) {
  Follower& follower = followers_.at(number);
  for (const FollowBatch& batch : batches) {
    if (!batch.bytes.empty() && !push(now, number, batch.bytes)) {
      return;
    }
    follower.at = batch.to;
  }
}

bool FollowBook::push_gap(Instant now, std::uint64_t number, std::uint64_t to) {
  Follower& follower = followers_.at(number);
  const FollowTopic& topic = topics_.at(follower.topic);
  if (!push(now, number, gap_text(follower.at, to, position_id(topic, to)))) {
    return false;
  }
  follower.at = to;
  return true;
}

void FollowBook::deny(Instant now, std::uint64_t number, const std::string& text) {
  push(now, number, notice_text("denied", text));
  end(number);
}

void FollowBook::finish(Instant now, FollowTopic& topic) {
  if (!topic.is_ended && topic.end_text.empty()) {
    return;
  }
  for (const std::uint64_t number : topic.followers) {
    const Follower& follower = followers_.at(number);
    const bool has_all = follower.may_read && follower.at >= topic.size;
    const bool is_over = !topic.end_text.empty() || has_all;
    if (over_.contains(number) || !is_over || !topic.serves(follower, now)) {
      continue;
    }
    const std::string text = topic.end_text.empty() ? output_end_text(rank_of(topic), follower.at)
                                                    : notice_text("end", topic.end_text);
    if (push(now, number, text)) {
      end(number);
    }
  }
}

void FollowBook::tell_stale(Instant now, FollowTopic& topic) {
  const bool is_stale = !topic.stale.empty();
  const std::string text =
      is_stale ? notice_text("stale", topic.stale) : notice_text("fresh", std::string());
  for (const std::uint64_t number : topic.followers) {
    Follower& follower = followers_.at(number);
    if (follower.is_told_stale != is_stale && push(now, number, text)) {
      follower.is_told_stale = is_stale;
    }
  }
}

void FollowBook::failed(Instant now, FollowTopic& topic, const FollowProof& proof,
                        const HttpAnswer& refusal) {
  const std::string text = refusal_text(refusal);
  if (is_denial(refusal)) {
    // The others go on with another proof.
    for (const std::uint64_t number : topic.followers) {
      if (followers_.at(number).proof == proof) {
        deny(now, number, text);
      }
    }
    topic.next_ask = now;
    return;
  }
  if (is_unknown_thing(refusal) && topic.wish.kind == FollowKind::kJob) {
    topic.end_text = text;
    finish(now, topic);
  }
  topic.pause = std::clamp(2 * topic.pause, kFailedPauseMin, kFailedPauseMax);
  topic.next_ask = now + topic.pause;
  // A leader may just have changed: that is no news.
  if (++topic.failures > 1) {
    topic.stale = text;
    tell_stale(now, topic);
  }
}

void FollowBook::polled(Instant now, const Asked& asked,
                        std::variant<HttpAnswer, FollowNews> result) {
  const auto at = topics_.find(asked.topic);
  if (at == topics_.end()) {
    return;
  }
  at->second.is_asking = false;
  std::uint64_t number = asked.topic;
  if (const auto* refusal = std::get_if<HttpAnswer>(&result)) {
    failed(now, at->second, asked.proof, *refusal);
  } else {
    auto& news = std::get<FollowNews>(result);
    if (at->second.waits_for_place() && news.place.has_host) {
      number = settle(now, number, asked, news);
    }
    FollowTopic& topic = topics_.at(number);
    for (const std::uint64_t each : topic.followers) {
      Follower& follower = followers_.at(each);
      if (follower.proof == asked.proof && follower.check_at != kNever) {
        follower.checked_at = now;
        follower.check_at = now + kCheckPeriod;
      }
      follower.may_read |= news.proves_output && follower.proof == asked.proof;
    }
    topic.failures = 0;
    topic.stale.clear();
    const bool has_news = deliver(now, topic, news, asked.at, topic.followers);
    tell_stale(now, topic);
    finish(now, topic);
    topic.pace(now, asked.asked_at, has_news);
  }
  plan(now, number);
}

/// The output that was waited for has a place: those who wait go where those are who read it.
/// Their proofs were good for the job, and are checked for its output now.
std::uint64_t FollowBook::settle(Instant now, std::uint64_t topic, const Asked& asked,
                                 const FollowNews& news) {
  FollowTopic waiting = std::move(topics_.at(topic));
  topics_.erase(topic);
  topic_of_key_.erase(waiting.key);
  waiting.wish.attempt = news.place.attempt;
  const std::string key = topic_of(waiting.wish, asked.proof, news.place.attempt);
  const std::uint64_t number = topic_called(waiting.wish, key, news, now);
  for (const std::uint64_t each : waiting.followers) {
    Follower& follower = followers_.at(each);
    follower.topic = number;
    follower.checked_at = kLongAgo;
    follower.check_at = now;
    topics_.at(number).followers.insert(each);
  }
  next_sweep_ = now;
  return number;
}

void FollowBook::checked(Instant now, const Asked& asked,
                         const std::variant<HttpAnswer, FollowNews>& result) {
  const auto* const refusal = std::get_if<HttpAnswer>(&result);
  const auto at = followers_.find(asked.follower);
  if (at == followers_.end()) {
    return;
  }
  Follower& follower = at->second;
  follower.is_checked_now = false;
  if (follower.topic != asked.topic) {
    return;  // It was asked for less: the right to see the job.
  }
  const auto* const news = std::get_if<FollowNews>(&result);
  follower.may_read |= news != nullptr && news->proves_output;
  const bool is_good = refusal == nullptr && follower.may_read;
  follower.check_at = now + (is_good ? kCheckPeriod : kCheckAgain);
  if (refusal == nullptr) {
    follower.checked_at = now;
    finish(now, topics_.at(follower.topic));
    plan(now, follower.topic);
  } else if (is_denial(*refusal)) {
    deny(now, asked.follower, refusal_text(*refusal));
  }
}

bool FollowBook::deliver(Instant now, FollowTopic& topic, FollowNews& news, std::uint64_t from,
                         const Told& to) {
  switch (topic.wish.kind) {
    case FollowKind::kOutput:
      return deliver_output(now, topic, news, to);
    case FollowKind::kEvents:
      return deliver_events(now, topic, news, from, to);
    case FollowKind::kJob:
    case FollowKind::kJobs:
      break;
  }
  return deliver_state(now, topic, news, to);
}

bool FollowBook::deliver_state(Instant now, FollowTopic& topic, const FollowNews& news,
                               const Told& to) {
  const StateIds ids = state_ids(news.document);
  const bool is_new = topic.look != ids.look;
  if (topic.is_told_whole(to)) {
    topic.look = ids.look;
  }
  if (news.age_ms > kStateAgeMsMax) {
    topic.stale = old_state_text(news);
  }
  std::string text;
  for (const std::uint64_t number : to) {
    Follower& follower = followers_.at(number);
    if (follower.seen == ids.look) {
      continue;
    }
    text = text.empty() ? state_text(ids.id, news.document) : std::move(text);
    if (push(now, number, text)) {
      follower.seen = ids.look;
    }
  }
  return is_new;
}

bool FollowBook::deliver_output(Instant now, FollowTopic& topic, FollowNews& news, const Told& to) {
  if (!news.end.empty()) {
    topic.end_text = news.end;
    return false;
  }
  if (topic.waits_for_place()) {
    return false;
  }
  OutputChunk& chunk = news.chunk;
  hold_cut_character(chunk);
  if (topic.is_told_whole(to)) {
    // A host that could not read says how much there is, and gives no byte of it.
    topic.size = chunk.bytes.empty() ? std::min(chunk.begin, chunk.size) : chunk.size;
    topic.is_ended = chunk.ended;
  }
  const std::uint64_t end = chunk.begin + chunk.bytes.size();
  // Encoded once for all that stand at one offset.
  std::map<std::pair<std::uint64_t, std::string>, std::vector<FollowBatch>> made;
  for (const std::uint64_t number : to) {
    Follower& follower = followers_.at(number);
    if (!follower.may_read || follower.at < chunk.begin || follower.at >= end ||
        !topic.serves(follower, now)) {
      continue;
    }
    const auto [at, is_new] = made.try_emplace({follower.at, follower.wish.stream});
    if (is_new) {
      at->second = output_batches(rank_of(topic), chunk, follower.at, follower.wish.stream);
    }
    push_batches(now, number, at->second);
  }
  return !chunk.bytes.empty();
}

bool FollowBook::deliver_events(Instant now, FollowTopic& topic, const FollowNews& news,
                                std::uint64_t from, const Told& to) {
  const EventsPage& page = news.page;
  const std::uint64_t listed = page.events.empty() ? from : page.events.back().sequence;
  const std::uint64_t end =
      std::max(listed >= page.last || page.events.empty() ? page.last : 0, std::max(listed, from));
  if (topic.is_told_whole(to)) {
    topic.size = std::max(page.last, page.events.empty() ? 0 : listed);
  }
  const std::uint64_t first =
      page.events.empty() ? page.last : std::max(from + 1, page.events.front().sequence) - 1;
  const std::uint64_t kept = std::min(from + page.lost, std::max(from, first));
  std::map<std::uint64_t, std::vector<FollowBatch>> made;
  for (const std::uint64_t number : to) {
    Follower& follower = followers_.at(number);
    const bool counts_again = page.last != 0 && page.last < from && follower.at > page.last;
    if (counts_again && topic.serves(follower, now)) {
      push_gap(now, number, 0);  // The host lost its events, and counts from the beginning.
      continue;
    }
    if (follower.at >= from && follower.at < kept && topic.serves(follower, now)) {
      push_gap(now, number, kept);
    }
    if (follower.at < from || follower.at >= end || !topic.serves(follower, now)) {
      continue;
    }
    const auto [at, is_new] = made.try_emplace(follower.at);
    if (is_new) {
      at->second = events_batches(page, follower.at, end);
    }
    push_batches(now, number, at->second);
  }
  return !page.events.empty();
}

}  // namespace muster::agent
