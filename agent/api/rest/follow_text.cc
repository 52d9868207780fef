#include "agent/api/rest/follow_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "agent/api/json/dump.h"
#include "agent/api/json/view.h"
#include "agent/api/rest/follow_wish.h"
#include "gossip/base/check.h"

namespace muster::agent {
namespace {

/// The number of bytes that end on a whole character, if they are UTF-8.
std::size_t uncut_bytes(std::string_view bytes) {
  constexpr std::size_t kCharacterBytesMax = 4;
  for (std::size_t back = 1; back < kCharacterBytesMax && back <= bytes.size(); ++back) {
    const auto byte = static_cast<unsigned char>(bytes[bytes.size() - back]);
    const std::size_t whole = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    if (whole > back) {
      return bytes.size() - back;
    }
    if ((byte & 0xc0) != 0x80) {
      break;
    }
  }
  return bytes.size();
}

/// Grows by whole events; a full batch is put aside.
class Batches {
 public:
  explicit Batches(std::uint64_t from) { open_.to = from; }

  void add(std::string_view text, std::uint64_t to) {
    open_.bytes += text;
    open_.to = to;
    if (open_.bytes.size() >= kFollowBatchBytes) {
      closed_.push_back(std::exchange(open_, {to, {}}));
    }
  }
  std::vector<FollowBatch> end(std::uint64_t to) {
    const bool is_behind = closed_.empty() || closed_.back().to < to;
    if (!open_.bytes.empty() || is_behind) {
      open_.to = to;
      closed_.push_back(std::move(open_));
    }
    return std::move(closed_);
  }

 private:
  FollowBatch open_;
  std::vector<FollowBatch> closed_;
};

/// Keys whose values are of one moment, or of the node that answers.
bool is_passing(std::string_view key) {
  static constexpr std::string_view kPassing[] = {
      "answered_by", "age_ms",  "run_ms",     "gpu_ms",     "host_since_ms",
      "host_detail", "kept_ms", "kept_bytes", "kept_files", "starts_in_ms"};
  return std::find(std::begin(kPassing), std::end(kPassing), key) != std::end(kPassing);
}
/// Keys whose values are what a node sees of hosts, and the log has not.
bool is_outlook(std::string_view key) {
  return key == "host_state" || key == "is_doubtful" || key == "reason";
}

// NOLINTNEXTLINE(misc-no-recursion): the reader of JSON has made the tree, from our own document.
void drop_keys(Json& json, bool (*is_dropped)(std::string_view)) {
  if (json.is_object()) {
    for (auto at = json.begin(); at != json.end();) {
      at = is_dropped(at.key()) ? json.erase(at) : std::next(at);
    }
  }
  for (Json& part : json) {
    if (part.is_structured()) {
      drop_keys(part, is_dropped);
    }
  }
}

/// FNV-1a (Fowler, Noll, Vo) with 64 bits, in 16 hex digits: the same on each machine.
std::string hash_text(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : bytes) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  }
  std::string text(16, '0');
  for (auto digit = text.rbegin(); digit != text.rend(); ++digit, hash >>= 4) {
    *digit = "0123456789abcdef"[hash & 15];
  }
  return text;
}

}  // namespace

std::string event_text(std::string_view name, std::string_view id, std::string_view data) {
  std::string text;
  text.reserve(name.size() + id.size() + data.size() + 32);
  if (!name.empty()) {
    text.append("event: ").append(name).append("\n");
  }
  if (!id.empty()) {
    text.append("id: ").append(id).append("\n");
  }
  return text.append("data: ").append(data).append("\n\n");
}

void hold_cut_character(OutputChunk& chunk) {
  const bool is_at_end = chunk.begin + chunk.bytes.size() >= chunk.size;
  const std::size_t whole = uncut_bytes(chunk.bytes);
  if (whole == 0 || whole == chunk.bytes.size() || (is_at_end && chunk.ended)) {
    return;
  }
  chunk.bytes.resize(whole);
  if (is_at_end) {
    chunk.size = chunk.begin + whole;  // As if the character had not begun.
  }
}

std::vector<FollowBatch> output_batches(const FollowRank& rank, const OutputChunk& chunk,
                                        std::uint64_t from, const std::string& stream) {
  CHECK(chunk.begin <= from);
  const std::uint64_t end = std::max(from, chunk.begin + chunk.bytes.size());
  Batches batches(from);
  std::uint64_t at = from;
  for (std::size_t i = 0; i <= chunk.marks.size() && at < end; ++i) {
    // Before the first mark nothing is known.
    const OutputMark mark = i == 0 ? OutputMark() : chunk.marks[i - 1];
    const std::uint64_t until =
        i < chunk.marks.size() ? std::clamp(chunk.marks[i].offset, at, end) : end;
    const bool is_wanted =
        stream.empty() || mark.stream.empty() || mark.stream == stream || mark.stream == kOurs;
    while (is_wanted && at < until) {
      std::string_view run = std::string_view(chunk.bytes).substr(at - chunk.begin, until - at);
      if (run.size() > kFollowPieceBytes) {
        run = run.substr(0, kFollowPieceBytes);
        run = run.substr(0, uncut_bytes(run));
      }
      const OutputPiece piece{rank.job,         rank.attempt, rank.rank,    at,
                              std::string(run), mark.stream,  mark.unix_ms, false};
      at += run.size();
      batches.add(event_text("", output_event_id(at, rank.attempt), to_json(piece)), at);
    }
    at = until;
  }
  return batches.end(end);
}

std::string output_end_text(const FollowRank& rank, std::uint64_t at) {
  const OutputPiece piece{rank.job, rank.attempt, rank.rank, at, "", "", 0, true};
  return event_text("end", output_event_id(at, rank.attempt), to_json(piece));
}

std::vector<FollowBatch> events_batches(const EventsPage& page, std::uint64_t from,
                                        std::uint64_t end) {
  Batches batches(from);
  for (const EventInfo& event : page.events) {
    if (event.sequence > from) {
      batches.add(event_text("", std::to_string(event.sequence), to_json(event)), event.sequence);
    }
  }
  return batches.end(end);
}

StateIds state_ids(const std::string& document) {
  Json json = Json::parse(document, nullptr, false);
  drop_keys(json, is_passing);
  StateIds ids;
  ids.look = hash_text(dump(json));
  drop_keys(json, is_outlook);
  ids.id = hash_text(dump(json));
  return ids;
}

std::string state_text(const std::string& id, const std::string& document) {
  return event_text("", id,
                    document.size() <= kFollowStateBytes
                        ? document
                        : dump({{"is_too_large", true}, {"document_bytes", document.size()}}));
}

std::string gap_text(std::uint64_t from, std::uint64_t to, std::string_view id) {
  return event_text("gap", id, dump({{"from", from}, {"to", to}}));
}

std::string notice_text(std::string_view name, const std::string& text) {
  return event_text(name, "", dump(text.empty() ? Json::object() : Json{{"text", text}}));
}

}  // namespace muster::agent
