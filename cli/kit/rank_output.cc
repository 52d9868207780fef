#include "cli/kit/rank_output.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "agent/api/json/orders.h"
#include "agent/api/output.h"
#include "agent/api/payload.h"
#include "agent/api/request.h"

namespace muster::cli {
namespace {

using agent::ResponseStatus;

/// Lines are looked for no further from the end; those of one stream may be rare among others.
constexpr std::uint64_t kTailBytesMax = 64 << 20;
/// A longer line is printed in parts.
constexpr std::size_t kLineBytesMax = 64 * 1024;
/// One silent host must not hold up the ranks of the others for long.
constexpr Duration kFollowTimeout = std::chrono::seconds(2);

/// How many of the bytes end on a whole character, if they are UTF-8.
std::size_t whole_characters(std::string_view bytes) {
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

/// Its own host answers and has no output of it, and the log knows of no end: it may have to begin
/// yet. Another host may answer that the rank's host is not reachable.
bool may_have_no_file(const RankSource& source, const Reply& reply) {
  const std::string& state = source.state;
  return reply.is_from_node && reply.status == ResponseStatus::kNotFound &&
         reply.response.answered_by == source.host_name &&
         (state == "assigned" || state == "ready" || state == "running");
}

}  // namespace

Reply RankOutput::ask(Session& session, std::uint64_t offset, bool follow) const {
  agent::Request request;
  request.verb = agent::Verb::kOutput;
  request.target = source_.host;
  request.arguments =
      agent::encode_payload(agent::OutputQuery{source_.token, source_.rank, offset, wish_.since_ms,
                                               !wish_.stream.empty() || session.common().is_json});
  const Duration timeout = session.common().timeout;
  return session.exchange(request, follow ? std::min(timeout, kFollowTimeout) : timeout);
}

/// The wanted ones of the bytes in [begin, end), or of as many of them as the host has. A reply
/// that is not ok says why they could not be had.
Reply RankOutput::read_between(Session& session, std::uint64_t begin, std::uint64_t end,
                               bool follow, std::vector<OutputRun>& runs) const {
  Reply reply;
  runs.clear();
  while (begin < end) {
    reply = ask(session, begin, follow);
    auto chunk = reply.is_ok() ? agent::decode_payload<agent::OutputChunk>(reply.response.payload)
                               : std::nullopt;
    if (!chunk.has_value() || chunk->bytes.empty()) {
      break;
    }
    chunk->begin = begin;
    chunk->bytes.resize(std::min<std::size_t>(chunk->bytes.size(), end - begin));
    begin += chunk->bytes.size();
    for (OutputRun& run : wanted_runs(*chunk)) {
      runs.push_back(std::move(run));
    }
  }
  return reply;
}

/// The chunk cut at its marks, without what is of the other stream.
std::vector<OutputRun> RankOutput::wanted_runs(const agent::OutputChunk& chunk) const {
  std::vector<OutputRun> runs;
  std::uint64_t at = chunk.begin;
  const std::uint64_t end = chunk.begin + chunk.bytes.size();
  for (std::size_t i = 0; i <= chunk.marks.size() && at < end; ++i) {
    // Before the first mark nothing is known.
    const agent::OutputMark mark = i == 0 ? agent::OutputMark() : chunk.marks[i - 1];
    const std::uint64_t until =
        i < chunk.marks.size() ? std::clamp(chunk.marks[i].offset, at, end) : end;
    const bool is_wanted = wish_.stream.empty() || mark.stream.empty() ||
                           mark.stream == wish_.stream || mark.stream == agent::kOurs;
    if (until > at && is_wanted) {
      runs.push_back({at, chunk.bytes.substr(at - chunk.begin, until - at), mark});
    }
    at = until;
  }
  return runs;
}

/// Piece by piece backwards, until enough lines lie behind it.
Reply RankOutput::skip_to_tail(Session& session, std::uint64_t size, bool follow) {
  Reply reply;
  std::uint64_t lines = 0;
  std::uint64_t found = size;
  bool is_behind = false;  // The line break at the very end ends the last line.
  std::vector<OutputRun> runs;
  const std::uint64_t tail = *wish_.tail;
  while (tail > 0 && found > floor_ && lines < tail &&
         (size - found < kTailBytesMax || !wish_.stream.empty())) {
    const std::uint64_t begin =
        found - std::min<std::uint64_t>(found - floor_, agent::kOutputBytesMax);
    reply = read_between(session, begin, found, follow, runs);
    if (!reply.is_ok()) {
      return reply;
    }
    found = begin;
    for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
      for (std::uint64_t at = run->bytes.size(); at > 0 && lines < tail; --at) {
        if (run->bytes[at - 1] == '\n' && is_behind && ++lines == tail) {
          found = run->offset + at;
        }
        is_behind = true;
      }
    }
  }
  offset_ = found;
  wish_.tail.reset();
  return reply;
}

bool RankOutput::advance(Session& session, bool follow) {
  const Reply reply = ask(session, offset_, follow);
  if (!reply.is_ok()) {
    fail_or_wait(session, reply, follow);
    return false;
  }
  auto chunk = agent::decode_payload<agent::OutputChunk>(reply.response.payload);
  if (!chunk.has_value()) {
    is_over_ = true;
    exit_code_ = session.fail(ResponseStatus::kFailed, kUnreadableAnswer);
    return false;
  }
  silent_since_ = kNever;
  is_out_of_reach_ = false;
  if (is_missing_told_) {
    is_missing_told_ = false;
    exit_code_ = 0;
    session.note("host " + source_.host_name + " answers again: rank " +
                 std::to_string(source_.rank) + " goes on from byte " + std::to_string(offset_));
  }
  if (wish_.since_ms > 0) {
    wish_.since_ms = 0;
    floor_ = offset_ = std::max(offset_, chunk->begin);
  }
  chunk->begin = offset_;
  if (wish_.tail.has_value()) {
    const Reply found = skip_to_tail(session, chunk->size, follow);
    if (!found.is_ok()) {
      fail_or_wait(session, found, follow);
      return false;
    }
    return advance(session, follow);
  }
  const std::uint64_t before = offset_;
  take(session, std::move(*chunk), follow);
  return offset_ > before;
}

void RankOutput::take(Session& session, agent::OutputChunk chunk, bool follow) {
  const bool is_at_end = offset_ + chunk.bytes.size() >= chunk.size || chunk.bytes.empty();
  is_over_ = is_at_end && (chunk.ended || !follow);
  print(session, chunk, follow);
  offset_ += chunk.bytes.size();
  if (is_over_ && !wish_.prefix.empty()) {
    print_lines(session, true);
  }
}

void RankOutput::print(Session& session, const agent::OutputChunk& chunk, bool follow) {
  const std::vector<OutputRun> runs = wanted_runs(chunk);
  note_blend(session, runs);
  if (session.common().is_json) {
    print_json(session, runs, chunk.ended && is_over_);
    return;
  }
  for (const OutputRun& run : runs) {
    if (!wish_.prefix.empty()) {
      line_ += run.bytes;
    } else {
      session.out() << run.bytes;
    }
  }
  if (!wish_.prefix.empty()) {
    print_lines(session, false);
    if (follow && !is_over_) {
      print_progress(session);
    }
  }
}

/// One line a run. A character cut in two would be lost in JSON: what there is of it goes with the
/// rest of it, which is the next that comes of that stream.
void RankOutput::print_json(Session& session, const std::vector<OutputRun>& runs, bool has_ended) {
  std::vector<agent::OutputPiece> pieces;
  const auto add = [&](const OutputRun& run, std::size_t size) {
    pieces.push_back({source_.job, source_.attempt, source_.rank, run.offset,
                      run.bytes.substr(0, size), run.mark.stream, run.mark.unix_ms, false});
  };
  for (OutputRun run : runs) {
    const auto cut = cut_.find(run.mark.stream);
    if (cut != cut_.end()) {
      run.bytes.insert(0, cut->second.bytes);
      run.offset = cut->second.offset;
      cut_.erase(cut);
    }
    const std::size_t whole = whole_characters(run.bytes);
    if (whole > 0) {
      add(run, whole);
    }
    if (whole < run.bytes.size()) {
      cut_[run.mark.stream] = {run.offset + whole, run.bytes.substr(whole), run.mark};
    }
  }
  if (is_over_) {
    for (const auto& [stream, run] : cut_) {
      add(run, run.bytes.size());
    }
    cut_.clear();
    if (pieces.empty()) {
      add({offset_, "", {}}, 0);
    }
    pieces.back().ended = has_ended;
  }
  for (const agent::OutputPiece& piece : pieces) {
    session.out() << to_json(piece) << "\n";
  }
}

/// One stream was wished for, and of some bytes it is not known whose they are.
void RankOutput::note_blend(Session& session, const std::vector<OutputRun>& runs) {
  const auto blend = std::find_if(runs.begin(), runs.end(),
                                  [](const OutputRun& run) { return run.mark.stream.empty(); });
  if (!wish_.stream.empty() && blend != runs.end() && !is_blend_told_) {
    is_blend_told_ = true;
    session.note("rank " + std::to_string(source_.rank) + ": from byte " +
                 std::to_string(blend->offset) +
                 " on, the stream of each line is not known, so both streams are shown");
  }
}

void RankOutput::print_lines(Session& session, bool all) {
  std::size_t start = 0;
  while (start < line_.size()) {
    std::size_t end = line_.find('\n', start);
    if (end == std::string::npos) {
      if (!all && line_.size() - start < kLineBytesMax) {
        break;
      }
      end = line_.size();
    }
    print_line(session, std::string_view(line_).substr(start, end - start));
    start = end + 1;
  }
  line_.erase(0, std::min(start, line_.size()));
}

/// A line that a rank overwrites stands behind the prefix, too: a terminal shows the last of it.
void RankOutput::print_line(Session& session, std::string_view line) {
  const bool was_shown = std::exchange(progress_at_, kLongAgo) != kLongAgo;
  if (was_shown && line.find_first_not_of('\r') == std::string_view::npos) {
    return;
  }
  session.out() << wish_.prefix;
  for (std::size_t i = 0; i < line.size(); ++i) {
    session.out() << line[i];
    if (line[i] == '\r' && i + 1 < line.size()) {
      session.out() << wish_.prefix;
    }
  }
  session.out() << "\n";
}

/// Of a line that a rank writes over again and again, prints the state before the last '\r', which
/// is whole. Earlier states are dropped.
void RankOutput::print_progress(Session& session) {
  const std::size_t end = line_.find_last_not_of('\r', line_.rfind('\r'));
  if (line_.find('\r') == std::string::npos || end == std::string::npos) {
    return;
  }
  const std::size_t before = line_.rfind('\r', end);
  const std::size_t begin = before == std::string::npos ? 0 : before + 1;
  line_.erase(0, begin);
  const Instant now = session.world().clock.now();
  if (now < progress_at_ + kProgressInterval) {
    return;
  }
  session.out() << wish_.prefix << line_.substr(0, end + 1 - begin) << "\n";
  line_.erase(0, end + 2 - begin);
  progress_at_ = now;
}

void RankOutput::finish(Session& session) {
  if (!wish_.prefix.empty()) {
    print_lines(session, true);
  }
}

void RankOutput::fail_or_wait(Session& session, const Reply& reply, bool follow) {
  const Instant now = session.world().clock.now();
  if (silent_since_ == kNever) {
    silent_since_ = now;
  }
  if (follow && now - silent_since_ < session.common().timeout) {
    return;
  }
  if (!follow && offset_ == 0 && may_have_no_file(source_, reply)) {
    is_over_ = true;
    return;
  }
  is_over_ = !follow;
  is_out_of_reach_ = follow;
  ask_again_at_ = now + kAskAgain;
  if (is_missing_told_) {
    return;
  }
  // The log counts the bytes of a rank's output; for a rank without evidence it has no count.
  const std::string missing =
      source_.output_bytes > offset_
          ? "is missing: " + std::to_string(source_.output_bytes - offset_) + " of its " +
                std::to_string(source_.output_bytes) + " bytes, from byte " +
                std::to_string(offset_) + " on"
          : "is missing from byte " + std::to_string(offset_) + " on";
  const bool is_broken = reply.status == ResponseStatus::kUnknown || !reply.is_from_node;
  const ResponseStatus status = is_broken ? ResponseStatus::kFailed : reply.status;
  const std::string text = "output of rank " + std::to_string(source_.rank) + " on host " +
                           source_.host_name + " " + missing + ": " + reply.text +
                           " (the rank: " + source_.state + ")";
  is_missing_told_ = true;
  exit_code_ = static_cast<int>(status);
  if (follow) {
    session.note(text);
  } else {
    finish(session);
    session.fail(status, text);
  }
}

}  // namespace muster::cli
