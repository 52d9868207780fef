#include "agent/api/rest/output_calls.h"

// The output of one rank, a piece a call: as many bytes as one answer of its host holds.

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/api/job_state.h"
#include "agent/api/jobs.h"
#include "agent/api/json/orders.h"
#include "agent/api/output.h"
#include "agent/api/rest/job_ids.h"

namespace muster::agent {
namespace {

constexpr char kJsonLines[] = "application/x-ndjson";

/// The piece that a client asks for.
struct OutputAsked {
  JobId job;
  std::uint64_t rank = 0;
  std::uint64_t attempt = 0;  ///< 0 = the last one.
  std::uint64_t offset = 0;
  std::uint64_t since_ms = 0;
  std::string stream{};  ///< "" = both.
};

/// Bytes of one stream, with one mark.
struct MarkedBytes {
  std::uint64_t offset = 0;
  std::string bytes{};
  OutputMark mark{};
};

/// The number of bytes that end on a whole character, if they are UTF-8.
std::size_t whole_bytes(std::string_view bytes) {
  constexpr std::size_t kSequenceBytesMax = 4;
  for (std::size_t back = 1; back < kSequenceBytesMax && back <= bytes.size(); ++back) {
    const auto byte = static_cast<unsigned char>(bytes[bytes.size() - back]);
    const std::size_t sequence_bytes = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    if (sequence_bytes > back) {
      return bytes.size() - back;
    }
    if ((byte & 0xc0) != 0x80) {
      break;
    }
  }
  return bytes.size();
}

/// The chunk cut at its marks, without the other stream.
std::vector<MarkedBytes> marked_bytes(const OutputChunk& chunk, const std::string& stream) {
  std::vector<MarkedBytes> runs;
  std::uint64_t at = chunk.begin;
  const std::uint64_t end = chunk.begin + chunk.bytes.size();
  for (std::size_t i = 0; i <= chunk.marks.size() && at < end; ++i) {
    // Before the first mark nothing is known.
    const OutputMark mark = i == 0 ? OutputMark() : chunk.marks[i - 1];
    const std::uint64_t until =
        i < chunk.marks.size() ? std::clamp(chunk.marks[i].offset, at, end) : end;
    const bool is_wanted =
        stream.empty() || mark.stream.empty() || mark.stream == stream || mark.stream == kOurs;
    if (until > at && is_wanted) {
      runs.push_back({at, chunk.bytes.substr(at - chunk.begin, until - at), mark});
    }
    at = until;
  }
  return runs;
}

OutputPiece piece_of(const OutputAsked& asked, const MarkedBytes& run, std::size_t size) {
  return {asked.job,       asked.attempt,    asked.rank, run.offset, run.bytes.substr(0, size),
          run.mark.stream, run.mark.unix_ms, false};
}

/// One piece a run. The end of a character that is cut goes with the rest of it, which is the next
/// run of that stream.
std::vector<OutputPiece> pieces_of(const OutputAsked& asked, std::vector<MarkedBytes> runs) {
  std::vector<OutputPiece> pieces;
  std::map<std::string, MarkedBytes> cut;
  for (MarkedBytes& run : runs) {
    if (const auto begun = cut.find(run.mark.stream); begun != cut.end()) {
      run.bytes.insert(0, begun->second.bytes);
      run.offset = begun->second.offset;
      cut.erase(begun);
    }
    const std::size_t whole = whole_bytes(run.bytes);
    if (whole > 0) {
      pieces.push_back(piece_of(asked, run, whole));
    }
    if (whole < run.bytes.size()) {
      cut[run.mark.stream] = {run.offset + whole, run.bytes.substr(whole), run.mark};
    }
  }
  for (const auto& [stream, run] : cut) {
    pieces.push_back(piece_of(asked, run, run.bytes.size()));
  }
  return pieces;
}

CallStep told_chunk(const CallFrame& frame, const OutputAsked& asked, OutputChunk chunk,
                    const Response& response) {
  // An older node does not say where its bytes begin.
  chunk.begin = std::max(chunk.begin, asked.offset);
  const bool is_at_end = chunk.begin + chunk.bytes.size() >= chunk.size || chunk.bytes.empty();
  if (const std::size_t whole = whole_bytes(chunk.bytes); !is_at_end && whole > 0) {
    chunk.bytes.resize(whole);  // The next piece begins with the character that is cut.
  }
  const std::uint64_t next = chunk.begin + chunk.bytes.size();
  std::vector<OutputPiece> pieces = pieces_of(asked, marked_bytes(chunk, asked.stream));
  if (is_at_end && pieces.empty()) {
    pieces.push_back(piece_of(asked, {next, "", {}}, 0));
  }
  if (is_at_end) {
    pieces.back().ended = chunk.ended;
  }
  std::string lines;
  for (const OutputPiece& piece : pieces) {
    lines += (lines.empty() ? "" : "\n") + to_json(piece);
  }
  CallStep step = told(frame, std::move(lines), response);
  step.answer.content_type = kJsonLines;
  if (pieces.empty()) {
    step.answer.body.clear();
  }
  if (!is_at_end || !chunk.ended) {
    step.answer.fields.emplace_back("muster-next", std::to_string(next));
  }
  return step;
}

/// Where the rank ran.
struct PlaceOfRank {
  const AttemptInfo* attempt = nullptr;
  const MemberInfo* member = nullptr;
  std::string state{};
};

PlaceOfRank place_of(const JobDetail& detail, const OutputAsked& asked) {
  PlaceOfRank place;
  for (const AttemptInfo& attempt : detail.attempts) {
    const bool is_later = place.attempt == nullptr || attempt.number > place.attempt->number;
    if (asked.attempt == 0 ? is_later : attempt.number == asked.attempt) {
      place.attempt = &attempt;
    }
  }
  if (place.attempt == nullptr) {
    return place;
  }
  for (const MemberInfo& member : place.attempt->members) {
    if (asked.rank < member.first_rank || asked.rank - member.first_rank >= member.ranks.size()) {
      continue;
    }
    place.member = &member;
    place.state = member.state;
    for (const RankInfo& rank : member.ranks) {
      if (rank.rank == asked.rank) {
        place.state = rank.detail.empty() ? rank.state : rank.state + ", " + rank.detail;
      }
    }
  }
  return place;
}

CallStep refused_place(const JobDetail& detail, const OutputAsked& asked,
                       const PlaceOfRank& place) {
  const std::string job = "job " + text_of(detail.summary.id);
  if (detail.summary.tasks != 0) {
    return refused(ResponseStatus::kUsage, job + " is an array: name one of its tasks, as " +
                                               text_of(detail.summary.id) + ".0");
  }
  if (place.attempt == nullptr) {
    return refused(ResponseStatus::kNotFound,
                   asked.attempt != 0 ? job + " has no attempt " + std::to_string(asked.attempt)
                                      : job + " is " + detail.summary.state +
                                            " and never started, so it wrote nothing");
  }
  const std::string attempt = "attempt " + std::to_string(place.attempt->number);
  return place.attempt->members_left_out > 0
             ? refused(ResponseStatus::kFailed, "the answer has no room for the hosts of rank " +
                                                    std::to_string(asked.rank) + " in " + attempt)
             : refused(ResponseStatus::kNotFound,
                       attempt + " of " + job + " has no rank " + std::to_string(asked.rank));
}

/// The host of the rank answers and has no output of it, and the log knows of no end: it may have
/// to begin yet.
bool may_begin_yet(const PlaceOfRank& place, const Response& response) {
  return response.status == ResponseStatus::kNotFound &&
         response.answered_by == place.member->host_name &&
         (place.state == "assigned" || place.state == "ready" || place.state == "running");
}

CallStep read_output(const CallFrame& frame, OutputAsked asked, const JobDetail& detail) {
  const PlaceOfRank place = place_of(detail, asked);
  if (place.member == nullptr || detail.summary.tasks != 0) {
    return refused_place(detail, asked, place);
  }
  asked.job = detail.summary.id;
  asked.attempt = place.attempt->number;
  Request question = request_of(frame, Verb::kOutput,
                                encode_payload(OutputQuery{place.attempt->token, asked.rank,
                                                           asked.offset, asked.since_ms, true}));
  question.target = place.member->host;
  // Of the place the detail is the owner, and it is gone by then.
  const std::string subject = "output of rank " + std::to_string(asked.rank) + " on host " +
                              place.member->host_name + " is missing from byte " +
                              std::to_string(asked.offset) + " on: ";
  const MemberInfo member = *place.member;
  return ask(std::move(question),
             [frame, asked, subject, member, state = place.state](const Response& response) {
               if (response.status == ResponseStatus::kOk) {
                 auto chunk = decode_payload<OutputChunk>(response.payload);
                 return chunk.has_value() ? told_chunk(frame, asked, *std::move(chunk), response)
                                          : refused(ResponseStatus::kFailed, kUnreadableAnswer);
               }
               if (asked.offset == 0 && may_begin_yet({nullptr, &member, state}, response)) {
                 return told_chunk(frame, asked, OutputChunk(), response);
               }
               Response failed = response;
               failed.text = subject + response.text + " (the rank: " + state + ")";
               return refused(failed);
             });
}

}  // namespace

CallStep rank_output(CallInput& input) {
  OutputAsked asked;
  const Result<JobId> job = job_of(input);
  const Result<std::uint64_t> rank = parse_count(input.value("rank"));
  asked.attempt = input.query.number("attempt", 0, UINT64_MAX).value_or(0);
  asked.offset = input.query.number("offset", 0, UINT64_MAX).value_or(0);
  asked.since_ms = span_ms(input.query, "since");
  asked.stream = input.query.choice("stream", {kStdout, kStderr}).value_or("");
  if (const Status status = input.end(); !status || !job || !rank) {
    return refused(!job ? job.error() : !rank ? rank.error() : status.error());
  }
  asked.job = *job;
  asked.rank = *rank;
  return look_up<JobDetail>(input.frame, Verb::kShow, encode_payload(JobRef{*job}),
                            [frame = input.frame, asked](const JobDetail& detail, const Response&) {
                              return read_output(frame, asked, detail);
                            });
}

}  // namespace muster::agent
