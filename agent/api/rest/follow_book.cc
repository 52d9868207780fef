// FollowBook: followers come and go, questions are asked and time passes. follow_book_news.cc has
// the answers.

#include "agent/api/rest/follow_book.h"

#include <algorithm>
#include <utility>

#include "agent/api/rest/problem.h"

namespace muster::agent {
namespace {

/// A follower that was cut asks again after this time.
constexpr char kStreamBegin[] = "retry: 2000\n\n";
constexpr char kHeartbeatText[] = ":\n\n";
/// Of questions behind each other that a look without an answer goes on to.
constexpr int kRefusalsMax = 8;
/// In which some of the followers have gone.
constexpr std::uint64_t kCrowdRetryMs = 10'000;

HttpAnswer too_many_followers(std::size_t max) {
  return problem(429, ResponseStatus::kNoQuorum,
                 "this host has " + std::to_string(max) +
                     " followers, its limit `followers`: ask another host, or later",
                 kCrowdRetryMs);
}

HttpAnswer stream_head(const FollowNews& news) {
  HttpAnswer head;
  head.content_type = kEventStreamType;
  head.fields = {{"cache-control", "no-store"}, {"muster-answered-by", news.host}};
  return head;
}

Response no_answer() {
  Response response;
  response.status = ResponseStatus::kUnknown;
  response.text = "the node gave no answer in time";
  return response;
}

/// Where the follower stands behind its first answer.
void place_follower(Follower& follower, const FollowNews& news) {
  const FollowWish& wish = follower.wish;
  if (wish.kind == FollowKind::kOutput) {
    follower.at = news.place.attempt == 0 ? wish.from.value_or(0) : news.chunk.begin;
    follower.goal = news.chunk.size;
  } else if (wish.kind == FollowKind::kEvents) {
    const EventsPage& page = news.page;
    const std::uint64_t last =
        std::max(page.last, page.events.empty() ? 0 : page.events.back().sequence);
    const std::uint64_t first = page.events.empty() ? last : page.events.front().sequence - 1;
    follower.at = wish.is_from_now ? last : wish.from.value_or(first);
    follower.goal = last;
  } else if (!wish.last_id.empty()) {
    const StateIds ids = state_ids(news.document);
    follower.seen = ids.id == wish.last_id ? ids.look : "";
  }
}

}  // namespace

void FollowBook::begin(Instant now, std::uint64_t number, FollowWish wish, FollowProof proof) {
  if (followers_.size() >= limits_.followers) {
    streams_.answer(number, too_many_followers(limits_.followers));
    return;
  }
  FollowAsk ask = FollowAsk::first(wish, proof.line);
  if (ask.is_over()) {
    std::variant<HttpAnswer, FollowNews> result = ask.take();
    auto* refusal = std::get_if<HttpAnswer>(&result);
    streams_.answer(number, refusal == nullptr ? HttpAnswer() : std::move(*refusal));
    return;
  }
  Follower follower;
  follower.proof = proof;
  follower.wish = std::move(wish);
  followers_.emplace(number, std::move(follower));
  start(now, {Cause::kBegin, number, 0, std::move(ask), std::move(proof), 0, now, now});
}

void FollowBook::leave(std::uint64_t number) {
  over_.insert(number);
  forget_over();
}

void FollowBook::put_question(Instant now, std::uint64_t number, Asked& asked) {
  asked.deadline = now + (asked.ask.is_addition() ? kPatienceOfAddition : kPatience);
  questions_.push_back({number, asked.proof, asked.ask.question()});
}

void FollowBook::start(Instant now, Asked asked) {
  const std::uint64_t number = ++last_number_;
  put_question(now, number, asks_.emplace(number, std::move(asked)).first->second);
}

void FollowBook::hear(Instant now, std::uint64_t question, const Response& response) {
  const auto at = asks_.find(question);
  if (at == asks_.end()) {
    return;  // It was given up.
  }
  at->second.ask.on_answer(response);
  const bool is_late = now >= at->second.asked_at + kPatienceOfLook;
  for (int left = kRefusalsMax; is_late && left > 0 && !at->second.ask.is_over(); --left) {
    at->second.ask.on_answer(no_answer());
  }
  if (!at->second.ask.is_over()) {
    put_question(now, question, at->second);
    return;
  }
  Asked asked = std::move(at->second);
  asks_.erase(at);
  std::variant<HttpAnswer, FollowNews> result = asked.ask.take();
  switch (asked.cause) {
    case Cause::kBegin:
      begun(now, asked, std::move(result));
      break;
    case Cause::kPoll:
      polled(now, asked, std::move(result));
      break;
    case Cause::kCheck:
      checked(now, asked, result);
      break;
  }
  forget_over();
  is_due_ = true;
}

Instant FollowBook::next_deadline() const {
  if (is_due_ || !questions_.empty()) {
    return Instant();
  }
  Instant next = followers_.empty() && asks_.empty() ? kNever : next_sweep_;
  next = blocked_.empty() ? next : std::min(next, next_room_);
  const bool may_ask = !plan_.empty() && asks_.size() < limits_.asks;
  return may_ask ? std::min(next, plan_.begin()->first) : next;
}

std::vector<FollowQuestion> FollowBook::turn(Instant now) {
  if (next_deadline() > now) {
    return {};
  }
  is_due_ = false;
  if (next_sweep_ <= now) {
    next_sweep_ = now + kSweepPeriod;
    expire(now);
    sweep(now);
  }
  if (!blocked_.empty() && next_room_ <= now) {
    next_room_ = now + kRoomPeriod;
    look_for_room(now);
  }
  forget_over();
  ask_due(now);
  return std::exchange(questions_, {});
}

void FollowBook::expire(Instant now) {
  std::vector<std::uint64_t> late;
  for (const auto& [number, asked] : asks_) {
    if (asked.deadline <= now) {
      late.push_back(number);
    }
  }
  for (const std::uint64_t number : late) {
    hear(now, number, no_answer());
  }
}

void FollowBook::sweep(Instant now) {
  for (auto& [number, follower] : followers_) {
    if (streams_.is_gone(number)) {
      end(number);
    }
    if (follower.topic == 0 || over_.contains(number)) {
      continue;
    }
    if (now >= follower.beat_at + kHeartbeat) {
      follower.beat_at += kHeartbeat;
      if (follower.blocked_since == kNever) {
        streams_.push(number, kHeartbeatText);  // A full stream has no need of it.
      }
    }
    if (now >= follower.check_at && !follower.is_checked_now && asks_.size() < limits_.asks) {
      check(now, number, follower);
    }
  }
}

/// The offset is behind all bytes: the answer has none, and takes the same right.
void FollowBook::check(Instant now, std::uint64_t number, Follower& follower) {
  const FollowTopic& topic = topics_.at(follower.topic);
  follower.is_checked_now = true;
  start(now,
        {Cause::kCheck, number, follower.topic,
         FollowAsk::again(topic.wish, follower.proof.line, topic.place, topic.target, UINT64_MAX),
         follower.proof, 0, now, now});
}

void FollowBook::look_for_room(Instant now) {
  const std::set<std::uint64_t> blocked = blocked_;
  for (const std::uint64_t number : blocked) {
    if (over_.contains(number) || !streams_.has_room(number)) {
      continue;
    }
    Follower& follower = followers_.at(number);
    FollowTopic& topic = topics_.at(follower.topic);
    const Instant since = std::exchange(follower.blocked_since, kNever);
    blocked_.erase(number);
    const bool is_slow = follower.at >= follower.goal && now - since > kStuckMax;
    if (topic.has_positions() && is_slow && follower.at < topic.size) {
      push_gap(now, number, topic.size);
    }
    tell_stale(now, topic);
    finish(now, topic);
    plan(now, follower.topic);
  }
}

void FollowBook::plan(Instant now, std::uint64_t topic) {
  const auto at = topics_.find(topic);
  const Instant due = at == topics_.end() ? kNever : at->second.due(followers_, now);
  if (due != kNever) {
    plan_.emplace(due, topic);
  }
}

void FollowBook::ask_due(Instant now) {
  while (!plan_.empty() && plan_.begin()->first <= now && asks_.size() < limits_.asks) {
    const std::uint64_t number = plan_.begin()->second;
    plan_.erase(plan_.begin());
    const auto at = topics_.find(number);
    const Instant due = at == topics_.end() ? kNever : at->second.due(followers_, now);
    if (due <= now) {
      ask_topic(now, number, at->second);
    } else if (due != kNever) {
      plan_.emplace(due, number);
    }
  }
}

void FollowBook::ask_topic(Instant now, std::uint64_t number, FollowTopic& topic) {
  const std::uint64_t asker = topic.asker(followers_, now);
  const Follower& follower = followers_.at(asker);
  topic.is_asking = true;
  topic.last_at = follower.at;
  start(now,
        {Cause::kPoll, asker, number,
         FollowAsk::again(topic.wish, follower.proof.line, topic.place, topic.target, follower.at),
         follower.proof, follower.at, now, now});
}

void FollowBook::begun(Instant now, const Asked& asked,
                       std::variant<HttpAnswer, FollowNews> result) {
  const auto at = followers_.find(asked.follower);
  if (at == followers_.end()) {
    return;
  }
  Follower& follower = at->second;
  auto* news = std::get_if<FollowNews>(&result);
  if (news == nullptr || follower.wish.is_head) {
    streams_.answer(asked.follower,
                    news == nullptr ? std::get<HttpAnswer>(std::move(result)) : stream_head(*news));
    over_.insert(asked.follower);
    return;
  }
  streams_.open(asked.follower, stream_head(*news));
  streams_.push(asked.follower, kStreamBegin);
  place_follower(follower, *news);
  follower.checked_at = follower.beat_at = now;
  follower.may_read = news->proves_output;
  follower.check_at = follower.wish.kind != FollowKind::kOutput
                          ? kNever
                          : now + (follower.may_read ? kCheckPeriod : kCheckAgain);
  const std::string key = topic_of(follower.wish, follower.proof, news->place.attempt);
  const std::uint64_t number = topic_called(follower.wish, key, *news, now);
  follower.topic = number;
  follower.wish.request = {};
  FollowTopic& topic = topics_.at(number);
  topic.followers.insert(asked.follower);
  if (!follower.wish.from.has_value()) {
    news->page.lost = 0;  // Older than what was asked for.
  }
  deliver(now, topic, *news, follower.at, {asked.follower});
  tell_stale(now, topic);
  finish(now, topic);
  plan(now, number);
}

std::uint64_t FollowBook::topic_called(const FollowWish& wish, const std::string& key,
                                       const FollowNews& news, Instant now) {
  if (const auto known = topic_of_key_.find(key); known != topic_of_key_.end()) {
    return known->second;
  }
  const std::uint64_t number = ++last_number_;
  FollowTopic& topic = topics_[number];
  topic_of_key_.emplace(key, number);
  topic.key = key;
  topic.wish = wish;
  topic.place = news.place;
  topic.target = news.target;
  topic.pause = topic.pause_min();
  topic.next_ask = now + topic.pause;
  return number;
}

void FollowBook::end(std::uint64_t number) {
  if (over_.insert(number).second) {
    streams_.end(number);
  }
}

void FollowBook::forget_over() {
  for (const std::uint64_t number : std::exchange(over_, {})) {
    const auto at = followers_.find(number);
    if (at == followers_.end()) {
      continue;
    }
    const auto topic = topics_.find(at->second.topic);
    if (topic != topics_.end()) {
      topic->second.followers.erase(number);
    }
    if (topic != topics_.end() && topic->second.followers.empty()) {
      topic_of_key_.erase(topic->second.key);
      topics_.erase(topic);
    }
    blocked_.erase(number);
    followers_.erase(at);
  }
}

}  // namespace muster::agent
