#include "agent/api/rest/follow_ask.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <utility>

#include "agent/api/job_state.h"
#include "agent/api/json/dump.h"
#include "agent/api/rest/call.h"
#include "agent/api/rest/host_lookup.h"
#include "gossip/base/check.h"

namespace muster::agent {
namespace {

using Slot = std::shared_ptr<std::optional<FollowNews>>;

CallStep found_news(const Slot& slot, FollowNews news, const Response& from) {
  news.host = from.answered_by;
  news.age_ms = from.age_ms;
  *slot = std::move(news);
  return ended({});
}

CallFrame frame_of(const std::string& access) {
  CallFrame frame;
  frame.access = access;
  return frame;
}

// ---- the output of a rank ----

CallStep look_for_rank(const Slot& slot, const FollowWish& wish, const std::string& access,
                       bool is_first);

Request output_question(const FollowWish& wish, const std::string& access, const RankPlace& place,
                        std::uint64_t from, std::uint64_t since_ms) {
  Request question =
      request_of(frame_of(access), Verb::kOutput,
                 encode_payload(OutputQuery{place.token, wish.rank, from, since_ms, true}));
  question.target = place.host;
  return question;
}

CallStep refused_output(const FollowWish& wish, const RankPlace& place, std::uint64_t from,
                        Response response) {
  response.text = "output of rank " + std::to_string(wish.rank) + " on host " + place.host_name +
                  " is missing from byte " + std::to_string(from) + " on: " + response.text +
                  " (the rank: " + place.state + ")";
  return refused(response);
}

/// The host of the rank has no output of it. By the log it may have to begin yet, or nothing comes.
CallStep explain_missing(const Slot& slot, const FollowWish& wish, const std::string& access,
                         const RankPlace& place, std::uint64_t from, const Response& missing) {
  return look_up<JobDetail>(
      frame_of(access), Verb::kShow, encode_payload(JobRef{wish.job}),
      [=](const JobDetail& detail, const Response&) {
        FollowNews news;
        news.place = rank_place_of(detail, wish.rank, place.attempt);
        news.chunk.begin = from;
        news.chunk.size = from;
        if (!news.place.may_begin) {
          news.end = "output of rank " + std::to_string(wish.rank) + " on host " + place.host_name +
                     " is missing from byte " + std::to_string(from) + " on: " + missing.text;
        }
        news.place.has_host = true;
        news.place.token = place.token;
        news.place.attempt = place.attempt;
        news.place.host = place.host;
        news.place.host_name = place.host_name;
        return found_news(slot, std::move(news), missing);
      });
}

CallStep read_rank(const Slot& slot, const FollowWish& wish, const std::string& access,
                   const RankPlace& place, std::uint64_t from, bool is_first) {
  const std::uint64_t since_ms = is_first && from == 0 ? wish.since_ms : 0;
  return ask(output_question(wish, access, place, from, since_ms),
             [=](const Response& response) -> CallStep {
               const bool is_missing = response.status == ResponseStatus::kNotFound &&
                                       response.answered_by == place.host_name;
               if (is_missing && is_first && from == 0 && place.may_begin) {
                 FollowNews news;
                 news.place = place;
                 return found_news(slot, std::move(news), response);
               }
               if (is_missing && !is_first) {
                 return explain_missing(slot, wish, access, place, from, response);
               }
               if (response.status != ResponseStatus::kOk) {
                 return refused_output(wish, place, from, response);
               }
               auto chunk = decode_payload<OutputChunk>(response.payload);
               if (!chunk.has_value()) {
                 return refused(ResponseStatus::kFailed, kUnreadableAnswer);
               }
               FollowNews news;
               news.place = place;
               news.chunk = *std::move(chunk);
               news.chunk.begin = std::max(news.chunk.begin, from);
               news.proves_output = true;
               return found_news(slot, std::move(news), response);
             });
}

CallStep refused_rank(const JobDetail& detail, const FollowWish& wish, std::uint64_t attempt) {
  const std::string job = "job " + text_of(detail.summary.id);
  if (detail.summary.tasks != 0) {
    return refused(ResponseStatus::kUsage, job + " is an array: name one of its tasks, as " +
                                               text_of(detail.summary.id) + ".0");
  }
  return attempt == 0
             ? refused(ResponseStatus::kNotFound,
                       wish.attempt == 0 ? job + " is " + detail.summary.state +
                                               " and never started, so it wrote nothing"
                                         : job + " has no attempt " + std::to_string(wish.attempt))
             : refused(ResponseStatus::kNotFound,
                       "attempt " + std::to_string(attempt) + " of " + job + " has no rank " +
                           std::to_string(wish.rank) + ", or the answer has no room for it");
}

/// A job that has not ended may get the attempt.
bool may_get_attempt(const JobDetail& detail, std::uint64_t attempt) {
  return detail.summary.tasks == 0 && !is_ended(detail.summary.state) &&
         (attempt == 0 || attempt > detail.summary.attempt);
}

CallStep look_for_rank(const Slot& slot, const FollowWish& wish, const std::string& access,
                       bool is_first) {
  return look_up<JobDetail>(
      frame_of(access), Verb::kShow, encode_payload(JobRef{wish.job}),
      [=](const JobDetail& detail, const Response& response) -> CallStep {
        const RankPlace place = rank_place_of(detail, wish.rank, wish.attempt);
        if (detail.summary.tasks == 0 && place.has_host) {
          return read_rank(slot, wish, access, place, wish.from.value_or(0), is_first);
        }
        FollowNews news;
        if (place.attempt == 0 && may_get_attempt(detail, wish.attempt)) {
          return found_news(slot, std::move(news), response);
        }
        if (is_first) {
          return refused_rank(detail, wish, place.attempt);
        }
        news.end = "job " + text_of(wish.job) + " is " + detail.summary.state +
                   ", and the output that was waited for does not come";
        return found_news(slot, std::move(news), response);
      });
}

// ---- events ----

CallStep read_events(const Slot& slot, const std::string& access, const EventsQuery& query,
                     HostId target) {
  return look_up<EventsPage>(
      frame_of(access), Verb::kEvents, encode_payload(query),
      [slot, target](EventsPage page, const Response& response) {
        FollowNews news;
        news.page = std::move(page);
        news.target = target;
        return found_news(slot, std::move(news), response);
      },
      target);
}

CallStep look_for_events(const Slot& slot, const FollowWish& wish, const std::string& access) {
  if (wish.host.empty()) {
    return read_events(slot, access, wish.events, HostId());
  }
  return find_host(frame_of(access), wish.host,
                   [slot, access, query = wish.events](const HostInfo& host) {
                     return read_events(slot, access, query, host.id);
                   });
}

// ---- a job and the list of jobs ----

CallStep told_document(const Slot& slot, HttpAnswer answer) {
  if (answer.status != 200) {
    return ended(std::move(answer));
  }
  FollowNews news;
  news.document = std::move(answer.body);
  if (news.document.ends_with('\n')) {
    news.document.pop_back();
  }
  Response from;
  from.answered_by = field_of(answer.fields, "muster-answered-by").value_or("");
  const std::string_view age = field_of(answer.fields, "muster-age-ms").value_or("0");
  std::from_chars(age.data(), age.data() + age.size(), from.age_ms);
  return found_news(slot, std::move(news), from);
}

/// The questions of the call, as steps.
CallStep step_of_call(const Slot& slot, const std::shared_ptr<RestCall>& call) {
  CallStep step = ask(call->question(), [slot, call](const Response& response) {
    std::optional<HttpAnswer> answer = call->on_answer(response);
    return answer.has_value() ? told_document(slot, *std::move(answer)) : step_of_call(slot, call);
  });
  step.is_addition = call->is_addition();
  return step;
}

CallStep read_document(const Slot& slot, const FollowWish& wish, const std::string& access) {
  auto begun = RestCall::begin(wish.request, access);
  if (auto* answer = std::get_if<HttpAnswer>(&begun)) {
    return told_document(slot, std::move(*answer));
  }
  return step_of_call(slot, std::make_shared<RestCall>(std::get<RestCall>(std::move(begun))));
}

}  // namespace

FollowAsk FollowAsk::first(const FollowWish& wish, const std::string& access) {
  auto slot = std::make_shared<std::optional<FollowNews>>();
  switch (wish.kind) {
    case FollowKind::kOutput:
      return {slot, look_for_rank(slot, wish, access, true)};
    case FollowKind::kEvents:
      return {slot, look_for_events(slot, wish, access)};
    case FollowKind::kJob:
    case FollowKind::kJobs:
      break;
  }
  return {slot, read_document(slot, wish, access)};
}

FollowAsk FollowAsk::again(const FollowWish& wish, const std::string& access,
                           const RankPlace& place, HostId target, std::uint64_t from) {
  auto slot = std::make_shared<std::optional<FollowNews>>();
  if (wish.kind == FollowKind::kOutput) {
    FollowWish later = wish;
    later.from = from;
    return {slot, place.has_host ? read_rank(slot, later, access, place, from, false)
                                 : look_for_rank(slot, later, access, false)};
  }
  if (wish.kind == FollowKind::kEvents) {
    EventsQuery query = wish.events;
    query.after = from;
    query.newest = 0;
    query.since_ms = 0;
    return {slot, read_events(slot, access, query, target)};
  }
  return {slot, read_document(slot, wish, access)};
}

void FollowAsk::on_answer(const Response& response) {
  CHECK(!is_over());
  // The function lives on while it makes the step that takes its place.
  const CallNext next = std::move(step_.next);
  step_ = next(response);
}

std::variant<HttpAnswer, FollowNews> FollowAsk::take() {
  CHECK(is_over());
  return news_->has_value() ? std::variant<HttpAnswer, FollowNews>(**std::move(news_))
                            : std::move(step_.answer);
}

std::string refusal_text(const HttpAnswer& refusal) {
  const Json document = Json::parse(refusal.body, nullptr, false);
  if (!document.is_object() || !document.contains("detail") || !document["detail"].is_string()) {
    return "the node gave no answer";
  }
  return document["detail"].get<std::string>();
}

}  // namespace muster::agent
