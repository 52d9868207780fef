#include "agent/front/event_ring.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "gossip/wire/wire.h"

namespace muster::agent {
namespace {

constexpr std::array<std::string_view, 4> kSeverities = {"debug", "info", "warn", "alarm"};
constexpr std::uint64_t kNoSuchSeverity = kSeverities.size();
/// Longer names and values are cut before they are kept.
constexpr std::size_t kTextBytesMax = 1024;
constexpr std::size_t kFieldsMax = 16;
/// The field of events that are about an entry of the log.
constexpr std::string_view kIndexKey = "index";

std::uint64_t severity_of(std::string_view name) {
  return static_cast<std::uint64_t>(std::find(kSeverities.begin(), kSeverities.end(), name) -
                                    kSeverities.begin());
}

std::string_view cut(std::string_view text) {
  return text.substr(0, kTextBytesMax);
}

struct Read {
  std::int64_t unix_ms = 0;
  std::uint64_t severity = 0;
  std::string name;
  std::vector<std::pair<std::string, std::string>> fields;
};

std::string bytes_of(std::int64_t unix_ms, const Event& event) {
  const std::size_t fields = std::min(kFieldsMax, event.fields.size());
  gossip::Encoder out;
  out.array(3 + 2 * fields)
      .i64(unix_ms)
      .u64(static_cast<std::uint64_t>(event.severity))
      .bytes(cut(event.name));
  for (std::size_t i = 0; i < fields; ++i) {
    out.bytes(cut(event.fields[i].first)).bytes(cut(event.fields[i].second));
  }
  return out.take();
}

std::optional<Read> read(std::string bytes) {
  const Result<gossip::Document> document = gossip::Document::parse(std::move(bytes));
  if (!document) {
    return std::nullopt;
  }
  gossip::Reader in = document->root();
  Read read;
  read.unix_ms = in.i64();
  read.severity = in.u64_at_most(kSeverities.size() - 1);
  read.name = std::string(in.bytes());
  while (in.ok() && in.left() > 1) {
    std::string key(in.bytes());
    read.fields.emplace_back(std::move(key), std::string(in.bytes()));
  }
  return in.ok() ? std::optional(std::move(read)) : std::nullopt;
}

std::string text_of(const Read& event, const EventRing::Names& names) {
  std::string text = event.name;
  for (const auto& [key, value] : event.fields) {
    const auto host = names.find(value);
    text += " " + key + "=" + (host == names.end() ? value : host->second);
  }
  return text;
}

/// If the clock was set back, an event is as young as now.
std::uint64_t age_ms(std::int64_t unix_ms, const Read& event) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, unix_ms - event.unix_ms));
}

/// The entry of the log that an event is about; 0 = none.
std::uint64_t index_of(std::string_view text) {
  std::uint64_t index = 0;
  std::from_chars(text.data(), text.data() + text.size(), index);
  return index;
}

/// True for the events of applied entries. Raft's events name indexes, too: of snapshots, and of
/// entries that may not have been applied yet.
bool is_of_state(std::string_view name) {
  return name.starts_with("job_") || name.starts_with("host_");
}

bool fits(std::int64_t unix_ms, const EventsQuery& query, const Read& event) {
  const std::uint64_t least = query.severity.empty() ? 0 : severity_of(query.severity);
  const bool is_named = query.names.empty() || std::find(query.names.begin(), query.names.end(),
                                                         event.name) != query.names.end();
  const bool is_about = query.about.empty() ||
                        std::any_of(event.fields.begin(), event.fields.end(),
                                    [&](const auto& field) { return field.second == query.about; });
  return is_named && is_about && event.severity >= least && least != kNoSuchSeverity &&
         (query.since_ms == 0 || age_ms(unix_ms, event) <= query.since_ms);
}

}  // namespace

EventRing::EventRing(const crdt::Records& recovered) {
  for (auto record = recovered.lower_bound(std::string(kTable));
       record != recovered.end() && record->first.starts_with(kTable); ++record) {
    const auto number = crdt::number_of(kTable, record->first);
    const std::optional<Read> event = read(record->second);
    if (!number.has_value() || !event.has_value()) {
      writes_.push_back({record->first, std::nullopt});
      continue;
    }
    for (const auto& [key, value] : event->fields) {
      const bool is_applied = key == kIndexKey && is_of_state(event->name);
      index_kept_ = std::max(index_kept_, is_applied ? index_of(value) : 0);
    }
    last_ = *number;
    bytes_ += record->second.size();
    kept_.push_back({last_, record->second});
  }
}

void EventRing::expect_replay(LogIndex end) {
  replayed_up_to_ = std::min(index_kept_, end.value());
}

/// Only events of severity info count as replayed: it is better to keep a warning twice.
bool EventRing::is_replayed(const Event& event) const {
  const std::uint64_t index = index_of(event.field(kIndexKey));
  return event.severity == Severity::kInfo && is_of_state(event.name) && index > 0 &&
         index <= replayed_up_to_;
}

void EventRing::add(std::int64_t unix_ms, const Event& event) {
  if (event.severity == Severity::kDebug || is_replayed(event)) {
    return;
  }
  if (event.severity == Severity::kAlarm) {
    ++alarms_[std::string(event.name)];
  }
  std::string bytes = bytes_of(unix_ms, event);
  writes_.push_back({crdt::key_of(kTable, ++last_), bytes});
  bytes_ += bytes.size();
  kept_.push_back({last_, std::move(bytes)});
  while (kept_.size() > kEventsMax || bytes_ > kBytesMax) {
    drop_first();
  }
}

void EventRing::drop_first() {
  writes_.push_back({crdt::key_of(kTable, kept_.front().sequence), std::nullopt});
  bytes_ -= kept_.front().bytes.size();
  kept_.pop_front();
}

EventsPage EventRing::page(std::int64_t unix_ms, const EventsQuery& query,
                           const Names& names) const {
  EventsPage page;
  page.last = last_;
  if (!kept_.empty() && query.after > 0 && kept_.front().sequence > query.after + 1) {
    page.lost = kept_.front().sequence - query.after - 1;
  }
  auto first = std::partition_point(kept_.begin(), kept_.end(),
                                    [&](const Kept& each) { return each.sequence <= query.after; });
  if (query.newest > 0) {
    std::uint64_t wanted = query.newest;
    auto from = kept_.end();
    while (from != first && wanted > 0) {
      --from;
      wanted -= fits(unix_ms, query, *read(from->bytes)) ? 1U : 0U;
    }
    first = from;
  }
  std::size_t size = 0;
  for (; first != kept_.end() && page.events.size() < kPageMax && size < kPageBytes; ++first) {
    Read event = *read(first->bytes);
    if (fits(unix_ms, query, event)) {
      std::string text = text_of(event, names);
      size += text.size();
      page.events.push_back({first->sequence, age_ms(unix_ms, event),
                             std::string(kSeverities.at(event.severity)), std::move(text),
                             std::move(event.name),
                             static_cast<std::uint64_t>(std::max<std::int64_t>(0, event.unix_ms))});
    }
  }
  return page;
}

}  // namespace muster::agent
