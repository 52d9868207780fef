#include "crdt/store/host_store.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "crdt/rows/proof.h"
#include "crdt/rows/roll.h"
#include "gossip/base/check.h"
#include "gossip/base/generation.h"
#include "gossip/base/state_machine.h"

namespace muster::crdt {
namespace {

static_assert(StateMachine<HostStore>);

constexpr auto kRollField = static_cast<std::uint32_t>(FieldId::kRoll);

template <class... Handlers>
struct Handle : Handlers... {
  using Handlers::operator()...;
};
template <class... Handlers>
Handle(Handlers...) -> Handle<Handlers...>;

}  // namespace

HostStore::HostStore(HostId self, Generation generation, const Records& recovered, Rng rng,
                     std::shared_ptr<const gossip::Signer> signer)
    : self_(self), generation_(generation), signer_(std::move(signer)), audit_(self, rng) {
  CHECK(!self.is_zero() && signer_ != nullptr);
  CHECK(generation.value() > 0);
  recover(recovered);
}

void HostStore::recover(const Records& recovered) {
  for (const auto& [key, value] : recovered) {
    if (!key.starts_with(kRowTable)) {
      continue;
    }
    const std::string_view id = std::string_view(key).substr(kRowTable.size());
    std::optional<Row> row = decode_row(value);
    const HostId host = HostId::from_bytes(id);
    if (!row.has_value() || host.is_zero() || rows_.count() >= kHostsMax) {
      emit(Severity::kWarn, "row_dropped", host, "recovered row does not decode");
      output_.writes.push_back({key, std::nullopt});
      continue;
    }
    rows_.restore(host, *std::move(row), value);
  }
  const HeldRow* own = rows_.find(self_);
  if (own == nullptr) {
    return;
  }
  if (const Field* said = own->row.field(FieldId::kIdentity)) {
    output_.own_identity = said->bytes;  // A host with a copy of this disk may still run.
  }
  if (own->version.generation > generation_) {
    raise_above(own->version.generation, "a row of a later generation is on disk");
  } else if (own->version.generation == generation_) {
    // No two lives share a generation: id/ went back. No publish of this life would withdraw a
    // field, such as a claim, that only the other life published.
    sequence_ = own->version.sequence;
    raise_above(generation_, "another life of this generation is on disk");
  }
}

void HostStore::step(Instant now, Input input) {
  std::visit(Handle{[&](const Publish& publish) { on_publish(now, publish); },
                    [&](const RowsReceived& received) { on_rows(now, received); },
                    [&](const Vouch& vouch) {
                      RowsReceived said{HostId(), {}};
                      said.body.rows.push_back({vouch.host, {}});
                      said.body.rows[0].row.fields[kRollField] = vouch.record;
                      on_rows(now, said);
                    },
                    [&](const AskFor& ask) {
                      RowsBody question;
                      question.want = ask.hosts;
                      output_.messages.push_back({ask.peer, encode(question)});
                    },
                    [&](const PeerUp& up) {
                      if (up.peer != self_) {
                        audit_.link_up(now, up.peer, rows_, output_.messages);
                      }
                    },
                    [&](const NeighboursChanged& changed) { on_neighbours(now, changed); },
                    [&](const PeerVersion& said) {
                      audit_.note_version(now, said.host, said.version, rows_);
                    }},
             input);
  rows_.write_changed(output_.writes);
}

void HostStore::tick(Instant now) {
  if (now >= publish_at_) {
    flush_own(now);
  }
  spread_.tick(now, rows_, output_.messages);
  audit_.tick(now, rows_, spread_.neighbours(), output_.messages);
  rows_.write_changed(output_.writes);
}

Instant HostStore::next_deadline() const {
  return std::min({publish_at_, spread_.next_deadline(), audit_.next_deadline()});
}

HostStore::Output HostStore::take_output() {
  output_.changes.assign(changes_.begin(), changes_.end());
  changes_.clear();
  return std::exchange(output_, {});
}

void HostStore::check_invariants() const {
  CHECK(rows_.count() <= kHostsMax);
  CHECK(unsent_.empty() == (publish_at_ == kNever));
  CHECK(sent_version_.sequence <= sequence_);
  spread_.check_invariants();
  audit_.check_invariants();
}

const Row* HostStore::row(HostId host) const {
  const HeldRow* known = rows_.find(host);
  return known == nullptr ? nullptr : &known->row;
}

const Field* HostStore::field(HostId host, FieldId id) const {
  const Row* found = row(host);
  return found == nullptr ? nullptr : found->field(id);
}

// The own row.

void HostStore::begin_generation(Row& own) {
  std::vector<std::uint32_t> dropped = join(own, Row{generation_, {}});
  for (const std::uint32_t id : dropped) {
    changes_.insert({self_, static_cast<FieldId>(id)});
  }
}

/// Gives the fields the next sequences, and signs them.
void HostStore::write_own(const std::vector<std::uint32_t>& fields, Row& own) {
  for (const std::uint32_t id : fields) {
    sequence_ = sequence_.next();
    own.fields[id].version = {generation_, sequence_};
  }
  stats_.signed_times += sign_together(self_, fields, own, *signer_);
}

void HostStore::on_publish(Instant now, const Publish& input) {
  CHECK(input.bytes.size() <= kFieldBytesMax);
  const auto id = static_cast<std::uint32_t>(input.field);
  const Row* own = row(self_);
  const Field* said =
      own == nullptr || own->full_from < generation_ ? nullptr : own->field(input.field);
  if (said == nullptr || said->bytes != input.bytes) {
    unsent_[id] = input.bytes;
    publish_at_ = std::min(publish_at_, now + kPublishDelay);
  } else if (unsent_.erase(id) > 0 && unsent_.empty()) {
    publish_at_ = kNever;  // The field has its old bytes again.
  }
  if (input.urgent && !unsent_.empty()) {
    flush_own(now);
  }
}

/// The own row changes only here: a host that compares rows with this one before hears no value
/// that is about to be replaced.
void HostStore::flush_own(Instant now) {
  CHECK(!unsent_.empty());
  HeldRow& own = rows_.edit(self_);
  if (own.row.full_from < generation_) {
    begin_generation(own.row);
  }
  std::vector<std::uint32_t> fields;
  for (const auto& [id, bytes] : unsent_) {
    own.row.fields[id].bytes = bytes;
    fields.push_back(id);
  }
  write_own(fields, own.row);
  CHECK(own.row.fields.size() <= kRowFieldsMax);
  CHECK(size_bytes(own.row) <= kRowBytesMax);
  changed(self_, own, fields);
  unsent_.clear();
  publish_at_ = kNever;
  send_own(now, fields);
}

void HostStore::send_own(Instant now, const std::vector<std::uint32_t>& fields) {
  ++stats_.publishes;
  spread_.send_own(now, self_, {fields.begin(), fields.end()}, rows_, output_.messages);
  sent_version_ = {generation_, sequence_};
}

/// A generation out of reach is forged or damaged: a host that followed it would end at the limit,
/// where there is no later generation.
void HostStore::raise_above(Generation generation, std::string why) {
  if (!is_credible(generation_, generation.next())) {
    emit(Severity::kAlarm, "own_row_forged", self_, std::move(why));
    return;
  }
  emit(Severity::kAlarm, "own_row_ahead", self_, std::move(why));
  output_.raise_above = std::max(output_.raise_above.value_or(Generation()), generation);
}

void HostStore::see_own_row(Instant now, const Row& seen) {
  const RowVersion version = seen.version();
  const Field* said = seen.field(FieldId::kIdentity);
  const Field* own = field(self_, FieldId::kIdentity);
  if (said != nullptr && said->version.generation >= generation_ &&
      (own == nullptr || own->bytes != said->bytes)) {
    output_.own_identity = said->bytes;
  }
  if (version.generation > generation_) {
    raise_above(version.generation,
                "a peer holds generation " + std::to_string(version.generation.value()));
    return;
  }
  HeldRow& own_row = rows_.edit(self_);
  bool is_ahead = false;
  bool is_strange = false;
  for (const auto& [id, field] : seen.fields) {
    if (is_of_authority(id)) {
      continue;
    }
    const Field* mine = own_row.row.field(static_cast<FieldId>(id));
    const bool of_this_generation = field.version.generation == generation_;
    is_strange = is_strange || (of_this_generation && mine == nullptr);
    is_ahead = is_ahead || (of_this_generation && mine != nullptr && *mine < field);
  }
  if (is_strange) {
    // A restored disk: another life of this generation published a field that this life lacks. Only
    // a later generation drops it.
    raise_above(generation_, "a peer holds a field of another life");
  } else if (is_ahead) {
    emit(Severity::kAlarm, "own_row_ahead", self_,
         "a peer holds sequence " + std::to_string(version.sequence.value()));
    say_again(now, own_row, version.sequence);
  }
}

/// A restored disk: peers remember a later state of this generation. Publishes all own fields again
/// under higher sequences.
void HostStore::say_again(Instant now, HeldRow& own, Sequence beyond) {
  sequence_ = std::max(sequence_, beyond);
  begin_generation(own.row);
  std::vector<std::uint32_t> said_again;
  for (const auto& [id, field] : own.row.fields) {
    if (!is_of_authority(id)) {
      said_again.push_back(id);
    }
  }
  if (!said_again.empty()) {
    write_own(said_again, own.row);
  }
  changed(self_, own, said_again);
  if (!said_again.empty()) {
    send_own(now, said_again);
  }
}

void HostStore::take_own_record(Instant now, HostId from, const Field& record) {
  HeldRow& own = rows_.edit(self_);
  const auto [held, is_new] = own.row.fields.try_emplace(kRollField, record);
  if (!is_new && !(held->second < record)) {
    return;
  }
  held->second = record;
  changed(self_, own, {kRollField});
  spread_.add(now, self_, kRollField, from);
}

// Rows of others.

void HostStore::on_rows(Instant now, const RowsReceived& input) {
  if (input.from == self_) {
    return;
  }
  for (const RowOf& news : input.body.rows) {
    if (news.host == self_) {
      if (const Field* record = news.row.field(FieldId::kRoll)) {
        take_own_record(now, input.from, *record);
      }
      if (const Field* link = news.row.field(FieldId::kLink)) {
        output_.own_link_seen.emplace_back(input.from, link->version);
      }
      see_own_row(now, news.row);
    } else if (!is_news(news)) {
      spread_.note_heard(input.from, news, *row(news.host));
    } else if (fits(news.host, news.row)) {
      merge(now, input.from, news);
    } else {
      emit(Severity::kWarn, "row_refused", news.host, "beyond the limits");
    }
  }
  if (input.body.complete && 2 * input.body.digests.size() < rows_.count()) {
    spread_.welcome(now, input.from);
  }
  rows_.write_changed(output_.writes);
  audit_.tell_better(input.from, input.body, rows_, output_.messages);
  audit_.answer(now, input.from, input.body, rows_, output_.messages);
}

/// Most rows that arrive are copies, so this allocates no memory.
bool HostStore::is_news(const RowOf& news) const {
  const Row* mine = row(news.host);
  if (mine == nullptr || news.row.full_from > mine->full_from) {
    return true;
  }
  return std::any_of(news.row.fields.begin(), news.row.fields.end(), [&](const auto& entry) {
    const auto held = mine->fields.find(entry.first);
    return (entry.second.version.generation >= mine->full_from || is_of_authority(entry.first)) &&
           (held == mine->fields.end() || held->second < entry.second);
  });
}

bool HostStore::fits(HostId host, const Row& news) const {
  const HeldRow* held = rows_.find(host);
  if (host.is_zero() || (held == nullptr && rows_.count() >= kHostsMax)) {
    return false;
  }
  const Generation known = held == nullptr ? Generation() : held->version.generation;
  if (!is_credible(known, std::max(news.full_from, news.version().generation))) {
    return false;
  }
  std::size_t count = news.fields.size();
  std::size_t size = size_bytes(news);
  if (held != nullptr) {
    for (const auto& [id, field] : held->row.fields) {
      if (!news.fields.contains(id) &&
          (field.version.generation >= news.full_from || is_of_authority(id))) {
        ++count;
        size += size_bytes(field);
      }
    }
  }
  return count <= kRowFieldsMax && size <= kRowBytesMax;
}

void HostStore::merge(Instant now, HostId from, const RowOf& news) {
  HeldRow& held = rows_.edit(news.host);
  const std::vector<std::uint32_t> fields = join(held.row, news.row);
  stats_.fields_merged += fields.size();
  spread_.note_heard(from, news, held.row);
  changed(news.host, held, fields);
  for (const std::uint32_t id : fields) {
    if (held.row.fields.contains(id)) {
      spread_.add(now, news.host, id, from);
    }
  }
}

void HostStore::changed(HostId host, HeldRow& held, const std::vector<std::uint32_t>& fields) {
  rows_.changed(host, held);
  for (const std::uint32_t id : fields) {
    changes_.insert({host, static_cast<FieldId>(id)});
  }
}

void HostStore::on_neighbours(Instant now, const NeighboursChanged& input) {
  std::vector<HostId> neighbours = input.neighbours;
  std::erase(neighbours, self_);
  const std::vector<HostId>& before = spread_.neighbours();
  std::vector<HostId> newcomers;
  std::copy_if(
      neighbours.begin(), neighbours.end(), std::back_inserter(newcomers), [&](HostId host) {
        // A neighbour that got no relayed changes knows as little as a newcomer.
        return !spread_.relays() || std::find(before.begin(), before.end(), host) == before.end();
      });
  audit_.meet(now, newcomers);
  spread_.set_neighbours(std::move(neighbours), input.relays);
}

void HostStore::emit(Severity severity, std::string_view name, HostId about, std::string detail) {
  output_.events.push_back(
      {severity, name, {{"host", about.short_hex()}, {"detail", std::move(detail)}}});
}

}  // namespace muster::crdt
