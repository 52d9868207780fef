#pragma once
// Followers without sockets, and a node with one job, its output and its events, for FollowBook.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/api/json/dump.h"
#include "agent/api/payload.h"
#include "agent/api/rest/follow_book.h"
#include "gossip/base/base64.h"
#include "tests/agent/api/rest/call_testing.h"

namespace muster::agent::rest_testing {

struct FollowedEvent {
  std::string name{};
  std::string id{};
  Json data{};
};

/// The events in `text`; comments and `retry` are left out.
inline std::vector<FollowedEvent> events_in(const std::string& text) {
  std::vector<FollowedEvent> events;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = text.find("\n\n", start);
    EXPECT_NE(end, std::string::npos) << "an event without its end";
    if (end == std::string::npos) {
      break;
    }
    FollowedEvent event;
    bool has_data = false;
    for (std::size_t at = start; at < end;) {
      const std::size_t stop = std::min(text.find('\n', at), end);
      const std::string line = text.substr(at, stop - at);
      at = stop + 1;
      if (line.starts_with("event: ")) {
        event.name = line.substr(7);
      } else if (line.starts_with("id: ")) {
        event.id = line.substr(4);
      } else if (line.starts_with("data: ")) {
        EXPECT_FALSE(has_data) << "two lines of data";
        has_data = true;
        event.data = Json::parse(line.substr(6));
      }
    }
    if (has_data) {
      events.push_back(std::move(event));
    }
    start = end + 2;
  }
  return events;
}

/// The bytes of a piece of output.
inline std::string bytes_of_piece(const Json& piece) {
  if (piece["base64"].is_null()) {
    return piece["text"].get<std::string>();
  }
  return from_base64(piece["base64"].get<std::string>(), Base64::kPadded).value_or("");
}

class FollowLines final : public FollowStreams {
 public:
  struct Line {
    std::string text{};       ///< All that was taken.
    std::size_t waiting = 0;  ///< Of it, not read.
    std::size_t room = 256 * 1024;
    bool reads = true;  ///< At once.
    bool is_open = false;
    bool is_ended = false;
    bool is_gone = false;
    int status = 0;  ///< Of an answer without events.
    HttpAnswer answer{};
  };

  void answer(std::uint64_t follower, HttpAnswer answer) override {
    lines[follower].status = answer.status;
    lines[follower].answer = std::move(answer);
  }
  void open(std::uint64_t follower, HttpAnswer head) override {
    lines[follower].is_open = true;
    lines[follower].answer = std::move(head);
  }
  Taken push(std::uint64_t follower, std::string_view bytes) override {
    Line& line = lines[follower];
    EXPECT_TRUE(line.is_open);
    EXPECT_FALSE(line.is_ended);
    if (line.is_gone) {
      return Taken::kGone;
    }
    if (line.waiting + bytes.size() > line.room) {
      return Taken::kFull;
    }
    line.text += bytes;
    line.waiting += line.reads ? 0 : bytes.size();
    return Taken::kYes;
  }
  bool has_room(std::uint64_t follower) const override {
    return lines.at(follower).waiting <= 32 * 1024;
  }
  bool is_gone(std::uint64_t follower) const override {
    const auto at = lines.find(follower);
    return at != lines.end() && at->second.is_gone;
  }
  void end(std::uint64_t follower) override {
    EXPECT_FALSE(lines[follower].is_ended);
    lines[follower].is_ended = true;
  }

  std::vector<FollowedEvent> events(std::uint64_t follower) {
    return events_in(lines[follower].text);
  }
  std::vector<std::string> names(std::uint64_t follower) {
    std::vector<std::string> found;
    for (const FollowedEvent& event : events(follower)) {
      found.push_back(event.name);
    }
    return found;
  }

  std::map<std::uint64_t, Line> lines;
};

/// Job 7 with rank 0 on host "b", and the events of that host.
class FollowedNode {
 public:
  Response answer(const Request& request) {
    ++asked[request.verb];
    lines_shown.insert(request.access);
    if (denied.contains(request.access)) {
      return bad(ResponseStatus::kDenied, "this access token was revoked");
    }
    if (fails != ResponseStatus::kOk) {
      return bad(fails, "no quorum");
    }
    if (request.verb == Verb::kShow) {
      return good_with(detail());
    }
    if (request.verb == Verb::kOutput) {
      return output_of(request);
    }
    if (request.verb == Verb::kEvents) {
      return events_of(request);
    }
    if (request.verb == Verb::kJobs) {
      return good_with(JobList{{detail().summary}, JobId(), 0});
    }
    ADD_FAILURE() << "not expected: " << static_cast<int>(request.verb);
    return bad(ResponseStatus::kFailed, "not expected");
  }

  JobDetail detail() const {
    JobDetail detail;
    detail.summary.id = JobId(7);
    detail.summary.state = state;
    detail.summary.attempt = attempt;
    detail.summary.age_ms = ++looks;
    if (attempt != 0) {
      MemberInfo member;
      member.host_name = "b";
      member.state = "running";
      member.ranks.resize(1);
      member.ranks[0].state = rank_state;
      AttemptInfo info;
      info.number = attempt;
      info.members.push_back(member);
      detail.attempts.push_back(info);
    }
    return detail;
  }

  std::string state = "running";
  std::string rank_state = "running";
  std::uint64_t attempt = 1;
  std::string output;
  bool has_output = true;
  bool is_ended = false;
  std::size_t chunk_max = kOutputBytesMax;
  std::vector<std::uint64_t> sequences;
  std::uint64_t events_dropped = 0;  ///< Sequences up to here are not kept.
  std::set<std::string> denied;
  std::set<std::string> may_not_read;  ///< They see the job. A host without output refuses none.
  ResponseStatus fails = ResponseStatus::kOk;
  std::map<Verb, int> asked;
  std::set<std::string> lines_shown;
  mutable std::uint64_t looks = 0;

 private:
  Response output_of(const Request& request) const {
    const auto query = decode_payload<OutputQuery>(request.arguments).value_or(OutputQuery());
    if (!has_output) {
      return bad(ResponseStatus::kNotFound, "it was removed, as the folder is full");
    }
    if (may_not_read.contains(request.access)) {
      return bad(ResponseStatus::kDenied, "only the owner of a job reads its output");
    }
    OutputChunk chunk;
    chunk.size = output.size();
    chunk.begin = std::min<std::uint64_t>(query.offset, chunk.size);
    chunk.bytes = output.substr(chunk.begin, chunk_max);
    chunk.ended = is_ended;
    return good_with(chunk);
  }
  Response events_of(const Request& request) const {
    const auto query = decode_payload<EventsQuery>(request.arguments).value_or(EventsQuery());
    EventsPage page;
    for (const std::uint64_t sequence : sequences) {
      if (sequence > query.after && sequence > events_dropped) {
        page.events.push_back({sequence, 0, "info", "x", "x", 0});
      }
    }
    if (query.newest != 0 && page.events.size() > query.newest) {
      page.events.erase(page.events.begin(),
                        page.events.end() - static_cast<std::ptrdiff_t>(query.newest));
    }
    page.lost = events_dropped > query.after ? events_dropped - query.after : 0;
    page.last = sequences.empty() ? 0 : sequences.back();
    return good_with(page);
  }
};

/// A book, its followers and a node that answers at once or late, in virtual time.
class FollowWorld {
 public:
  explicit FollowWorld(FollowLimits limits = {}) : book(lines, limits) {}

  std::uint64_t follow(const std::string& path, HttpFields query = {}, const std::string& id = "",
                       const std::string& line = "line", HttpMethod method = HttpMethod::kGet) {
    HttpRequest request{method, path, std::move(query), {{"accept", kEventStreamType}}, ""};
    if (!id.empty()) {
      request.fields.emplace_back("last-event-id", id);
    }
    EXPECT_TRUE(asks_to_follow(request));
    auto wish = follow_wish_of(request);
    EXPECT_TRUE(std::holds_alternative<FollowWish>(wish)) << path;
    const std::uint64_t number = ++last;
    book.begin(now, number, std::get<FollowWish>(wish), {line, std::nullopt});
    settle();
    return number;
  }

  /// Asks and answers until nothing is due.
  void settle() {
    for (int turns = 0; turns < 1000; ++turns) {
      for (FollowQuestion& question : book.turn(now)) {
        open.push_back(std::move(question));
      }
      if (is_silent || (open.empty() && book.next_deadline() > now)) {
        return;
      }
      for (const FollowQuestion& question : std::exchange(open, {})) {
        book.hear(now, question.number, node.answer(question.request));
      }
    }
    ADD_FAILURE() << "it never rests";
  }
  void pass(Duration time) {
    const Instant until = now + time;
    while (now < until) {
      now = std::max(now + std::chrono::milliseconds(1), std::min(until, book.next_deadline()));
      settle();
    }
  }

  Instant now{std::chrono::hours(1)};
  FollowLines lines;
  FollowedNode node;
  FollowBook book;
  bool is_silent = false;  ///< The node gives no answers.
  std::vector<FollowQuestion> open;
  std::uint64_t last = 0;
};

}  // namespace muster::agent::rest_testing
