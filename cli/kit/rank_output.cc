#include "cli/kit/rank_output.h"

#include <algorithm>
#include <string_view>

#include "agent/api/output.h"
#include "agent/api/payload.h"
#include "agent/api/request.h"
#include "cli/kit/json_view.h"

namespace muster::cli {
namespace {

using agent::ResponseStatus;

/// Lines are looked for no further from the end.
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

}  // namespace

Reply RankOutput::ask(Session& session, std::uint64_t offset, bool follow) const {
  agent::Request request;
  request.verb = agent::Verb::kOutput;
  request.target = source_.host;
  request.arguments =
      agent::encode_payload(agent::OutputQuery{source_.token, source_.rank, offset});
  const Duration timeout = session.common().timeout;
  return session.exchange(request, follow ? std::min(timeout, kFollowTimeout) : timeout);
}

/// What lies in [begin, end), or as much of it as the host has. Not ok: why it could not be had.
Reply RankOutput::read_between(Session& session, std::uint64_t begin, std::uint64_t end,
                               bool follow, std::string& bytes) const {
  Reply reply;
  bytes.clear();
  while (bytes.size() < end - begin) {
    reply = ask(session, begin + bytes.size(), follow);
    const auto chunk = reply.is_ok()
                           ? agent::decode_payload<agent::OutputChunk>(reply.response.payload)
                           : std::nullopt;
    if (!chunk.has_value() || chunk->bytes.empty()) {
      break;
    }
    bytes += chunk->bytes;
  }
  bytes.resize(std::min<std::size_t>(bytes.size(), end - begin));
  return reply;
}

/// Piece by piece backwards, until enough lines lie behind it.
Reply RankOutput::skip_to_tail(Session& session, std::uint64_t size, bool follow) {
  Reply reply;
  std::uint64_t lines = 0;
  std::uint64_t found = size;
  std::string bytes;
  while (*tail_ > 0 && found > 0 && lines < *tail_ && size - found < kTailBytesMax) {
    const std::uint64_t begin = found - std::min<std::uint64_t>(found, agent::kOutputBytesMax);
    reply = read_between(session, begin, found, follow, bytes);
    if (!reply.is_ok()) {
      return reply;
    }
    found = begin;
    for (std::uint64_t at = bytes.size(); at > 0 && lines < *tail_; --at) {
      // The line break at the very end ends the last line.
      if (bytes[at - 1] == '\n' && begin + at != size && ++lines == *tail_) {
        found = begin + at;
      }
    }
  }
  offset_ = found;
  tail_.reset();
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
    exit_code_ = session.fail(ResponseStatus::kFailed, "the node's answer is not understood");
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
  if (tail_.has_value()) {
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
  if (session.common().is_json && !is_over_) {
    // A character cut in two would be lost in JSON: its bytes are asked for again.
    const std::size_t kept = whole_characters(chunk.bytes);
    chunk.bytes.resize(kept == 0 && !is_at_end ? chunk.bytes.size() : kept);
  }
  print(session, chunk);
  offset_ += chunk.bytes.size();
  if (is_over_ && has_prefix_) {
    print_lines(session, true);
  }
}

void RankOutput::print(Session& session, const agent::OutputChunk& chunk) {
  if (session.common().is_json) {
    if (!chunk.bytes.empty() || is_over_) {
      session.out() << to_json(OutputPiece{source_.job, source_.attempt, source_.rank, offset_,
                                           chunk.bytes, chunk.ended && is_over_})
                    << "\n";
    }
  } else if (has_prefix_) {
    line_ += chunk.bytes;
    print_lines(session, false);
  } else {
    session.out() << chunk.bytes;
  }
}

void RankOutput::print_lines(Session& session, bool all) {
  const std::string prefix = "[" + std::to_string(source_.rank) + "] ";
  std::size_t start = 0;
  while (start < line_.size()) {
    std::size_t end = line_.find('\n', start);
    if (end == std::string::npos) {
      if (!all && line_.size() - start < kLineBytesMax) {
        break;
      }
      end = line_.size();
    }
    session.out() << prefix << line_.substr(start, end - start) << "\n";
    start = end + 1;
  }
  line_.erase(0, std::min(start, line_.size()));
}

void RankOutput::finish(Session& session) {
  if (has_prefix_) {
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
  is_over_ = !follow;
  is_out_of_reach_ = follow;
  ask_again_at_ = now + kAskAgain;
  if (is_missing_told_) {
    return;
  }
  // Bytes of the log are a count of what was written; of a rank without evidence there is none.
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
