#pragma once
// News of a look as Server-Sent Events: text, with one `data:` line of JSON an event. Pure.
//
// Data events have no name. The others: `gap` {"from", "to"}: what lies between was lost for this
// follower; `stale` {"text"}: no news can be had; `fresh` {}: they can again; `denied` {"text"};
// `end` {"text"}, of output a piece with "is_ended".

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agent/api/events.h"
#include "agent/api/json/orders.h"
#include "agent/api/output.h"

namespace muster::agent {

/// The size at which pieces are pushed; at most one event more fits in.
inline constexpr std::size_t kFollowBatchBytes = 32 * 1024;
/// Bytes of a rank in one event. JSON has up to six bytes for one, or base64 beside the text.
inline constexpr std::size_t kFollowPieceBytes = 16 * 1024;
/// A longer state is told without its document, by its size: the client reads it by pages.
inline constexpr std::size_t kFollowStateBytes = 192 * 1024;

/// Whole events, and the offset or sequence number behind them.
struct FollowBatch {
  std::uint64_t to = 0;
  std::string bytes{};
};

/// The attempt of a rank whose output it is; of an OutputPiece the rest is not looked at.
struct FollowRank {
  JobId job;
  std::uint64_t attempt = 0;
  std::uint64_t rank = 0;
};

/// An event. `name` and `id` may be "". `data` has no line breaks.
std::string event_text(std::string_view name, std::string_view id, std::string_view data);

/// Takes the begun character at the end off, if there are other bytes and more may come: it goes
/// with its rest, or alone.
void hold_cut_character(OutputChunk& chunk);

/// The bytes of the chunk from `from` on, of one stream or of both (""): one piece a stream and
/// mark. Precondition: chunk.begin <= from. The batches follow each other without a gap; the last
/// one leads to the end of the chunk, even if it has no bytes.
std::vector<FollowBatch> output_batches(const FollowRank& rank, const OutputChunk& chunk,
                                        std::uint64_t from, const std::string& stream);
/// The end of an output at this offset.
std::string output_end_text(const FollowRank& rank, std::uint64_t at);

/// The events of the page behind number `from`. The last batch leads to `end`.
std::vector<FollowBatch> events_batches(const EventsPage& page, std::uint64_t from,
                                        std::uint64_t end);

/// Two hashes of the document of a job, or of the list of jobs.
struct StateIds {
  std::string id;    ///< Of what the log has: the same on each node.
  std::string look;  ///< Also of what the node sees of the hosts. Neither has ages in it.
};
StateIds state_ids(const std::string& document);
std::string state_text(const std::string& id, const std::string& document);

std::string gap_text(std::uint64_t from, std::uint64_t to, std::string_view id);
/// `stale`, `denied` or `end` with a text for people.
std::string notice_text(std::string_view name, const std::string& text);

}  // namespace muster::agent
