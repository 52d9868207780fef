#include "crdt/store/host_store.h"

#include <algorithm>

#include <xxhash.h>

#include "gossip/base/check.h"
#include "gossip/base/generation.h"
#include "gossip/base/state_machine.h"

namespace muster::crdt {
namespace {

static_assert(StateMachine<HostStore>);

constexpr std::string_view kRowTable = "row/";
/// Peers whose version we lack; more wait for their next ack.
constexpr std::size_t kBehindMax = 1024;

std::string row_key(HostId host) {
  return std::string(kRowTable) + std::string(host.bytes());
}

std::size_t size_bytes(const Row& row) {
  std::size_t size = 0;
  for (const auto& [id, field] : row.fields) {
    size += field.bytes.size() + 32;  // Key, version and headers.
  }
  return size;
}

std::uint64_t digest_of(HostId host, std::string_view encoded) {
  const std::uint64_t seed = host.prefix();
  return XXH3_64bits_withSeed(encoded.data(), encoded.size(), seed);
}

}  // namespace

HostStore::HostStore(HostId self, Generation generation, const Records& recovered, Rng rng)
    : self_(self), generation_(generation), rng_(rng), audit_at_(Instant{} + kAuditPeriod) {
  CHECK(!self.is_zero());
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
    if (!row.has_value() || host.is_zero() || rows_.size() >= kHostsMax) {
      emit(Severity::kWarn, "row_dropped", host, "recovered row does not decode");
      output_.writes.push_back({key, std::nullopt});
      continue;
    }
    Slot slot{*std::move(row), {}, digest_of(host, value)};
    slot.version = slot.row.version();
    digest_ ^= slot.digest;
    rows_.emplace(host, std::move(slot));
  }
  const auto own = rows_.find(self_);
  if (own == rows_.end()) {
    return;
  }
  if (own->second.version.generation > generation_) {
    raise_above(own->second.version.generation, "a row of a later generation is on disk");
  } else if (own->second.version.generation == generation_) {
    // No two lives share one: id/ went back. What the other said, a claim among it, nobody would
    // take back.
    sequence_ = own->second.version.sequence;
    raise_above(generation_, "another life of this generation is on disk");
  }
}

void HostStore::step(Instant now, Input input) {
  std::visit([&](const auto& what) { on(now, what); }, input);
  write_dirty();
}

void HostStore::tick(Instant now) {
  if (now >= publish_at_) {
    flush_own();
  }
  if (now >= spread_at_) {
    spread();
  }
  if (now >= audit_at_) {
    audit(now);
  }
  ask_behind(now);
  write_dirty();
}

Instant HostStore::next_deadline() const {
  Instant deadline = std::min({publish_at_, spread_at_, audit_at_});
  for (const auto& [host, behind] : behind_) {
    deadline = std::min(deadline, behind.ask_at);
  }
  return deadline;
}

HostStore::Output HostStore::take_output() {
  output_.changes.assign(changes_.begin(), changes_.end());
  changes_.clear();
  return std::exchange(output_, {});
}

void HostStore::check_invariants() const {
  CHECK(rows_.size() <= kHostsMax);
  CHECK(unsent_.empty() == (publish_at_ == kNever));
  CHECK(spread_.empty() == (spread_at_ == kNever));
  CHECK(sent_version_.sequence <= sequence_);
  CHECK(behind_.size() <= kBehindMax);
}

void HostStore::check_rows() const {
  std::uint64_t digest = 0;
  for (const auto& [host, slot] : rows_) {
    CHECK(slot.row.fields.size() <= kRowFieldsMax);
    CHECK(slot.version == slot.row.version());
    CHECK(slot.digest == digest_of(host, encode_row(slot.row)) || slot.row == Row());
    digest ^= slot.digest;
  }
  CHECK(digest == digest_);
}

const Row* HostStore::row(HostId host) const {
  const Slot* known = recent_.find(rows_, host);
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

void HostStore::on(Instant now, const Publish& input) {
  CHECK(input.bytes.size() <= kFieldBytesMax);
  Slot& slot = rows_[self_];
  if (slot.row.full_from < generation_) {
    begin_generation(slot.row);
  }
  const auto id = static_cast<std::uint32_t>(input.field);
  const Field* old = slot.row.field(input.field);
  if (old == nullptr || old->bytes != input.bytes) {
    sequence_ = sequence_.next();
    slot.row.fields[id] = Field{{generation_, sequence_}, input.bytes};
    CHECK(slot.row.fields.size() <= kRowFieldsMax);
    CHECK(size_bytes(slot.row) <= kRowBytesMax);
    changed(self_, slot, {id});
    unsent_.insert(id);
    publish_at_ = std::min(publish_at_, now + kPublishDelay);
  }
  if (input.urgent && !unsent_.empty()) {
    flush_own();
  }
}

void HostStore::flush_own() {
  for (const std::uint32_t id : unsent_) {
    spread_[{self_, id}].clear();
  }
  unsent_.clear();
  publish_at_ = kNever;
  sent_version_ = {generation_, sequence_};
  spread();
}

/// A generation out of reach is forged or damaged: to follow it would end at the limit, where no
/// later one is left.
void HostStore::raise_above(Generation generation, std::string why) {
  if (!is_credible(generation_, generation.next())) {
    emit(Severity::kAlarm, "own_row_forged", self_, std::move(why));
    return;
  }
  emit(Severity::kAlarm, "own_row_ahead", self_, std::move(why));
  output_.raise_above = std::max(output_.raise_above.value_or(Generation()), generation);
}

void HostStore::see_own_row(const Row& seen) {
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
  Slot& slot = rows_[self_];
  bool is_ahead = false;
  bool is_strange = false;
  for (const auto& [id, field] : seen.fields) {
    const Field* mine = slot.row.field(static_cast<FieldId>(id));
    const bool of_this_generation = field.version.generation == generation_;
    is_strange = is_strange || (of_this_generation && mine == nullptr);
    is_ahead = is_ahead || (of_this_generation && mine != nullptr && *mine < field);
  }
  if (is_strange) {
    // A restored disk: another life of this generation said what this one never will. Only a later
    // generation takes it back.
    raise_above(generation_, "a peer holds a field of another life");
    return;
  }
  if (!is_ahead) {
    return;
  }
  // A restored disk: peers remember a later life of this generation. Everything is said again
  // under sequences beyond it.
  emit(Severity::kAlarm, "own_row_ahead", self_,
       "a peer holds sequence " + std::to_string(version.sequence.value()));
  sequence_ = std::max(sequence_, version.sequence);
  begin_generation(slot.row);
  std::vector<std::uint32_t> said_again;
  for (auto& [id, field] : slot.row.fields) {
    sequence_ = sequence_.next();
    field.version = {generation_, sequence_};
    said_again.push_back(id);
  }
  changed(self_, slot, said_again);
  unsent_.insert(said_again.begin(), said_again.end());
  if (!unsent_.empty()) {
    flush_own();
  }
}

// Rows of others.

void HostStore::on(Instant now, const RowsReceived& input) {
  if (input.from == self_) {
    return;
  }
  for (const RowOf& news : input.body.rows) {
    if (news.host == self_) {
      see_own_row(news.row);
    } else if (!is_news(news)) {
      note_heard(input.from, news);
    } else if (fits(news.host, news.row)) {
      merge(now, input.from, news);
    } else {
      emit(Severity::kWarn, "row_refused", news.host, "beyond the limits");
    }
  }
  write_dirty();
  answer(input.from, input.body);
}

/// Most rows that arrive are copies: this costs no allocation.
bool HostStore::is_news(const RowOf& news) const {
  const Row* mine = row(news.host);
  if (mine == nullptr || news.row.full_from > mine->full_from) {
    return true;
  }
  return std::any_of(news.row.fields.begin(), news.row.fields.end(), [&](const auto& entry) {
    const auto held = mine->fields.find(entry.first);
    return entry.second.version.generation >= mine->full_from &&
           (held == mine->fields.end() || held->second < entry.second);
  });
}

bool HostStore::fits(HostId host, const Row& news) const {
  const auto found = rows_.find(host);
  if (host.is_zero() || (found == rows_.end() && rows_.size() >= kHostsMax)) {
    return false;
  }
  const Generation known = found == rows_.end() ? Generation() : found->second.version.generation;
  if (!is_credible(known, std::max(news.full_from, news.version().generation))) {
    return false;
  }
  std::size_t count = news.fields.size();
  std::size_t size = size_bytes(news);
  if (found != rows_.end()) {
    for (const auto& [id, field] : found->second.row.fields) {
      if (!news.fields.contains(id) && field.version.generation >= news.full_from) {
        ++count;
        size += field.bytes.size() + 32;
      }
    }
  }
  return count <= kRowFieldsMax && size <= kRowBytesMax;
}

void HostStore::merge(Instant now, HostId from, const RowOf& news) {
  Slot& slot = rows_[news.host];
  const std::vector<std::uint32_t> fields = join(slot.row, news.row);
  note_heard(from, news);
  changed(news.host, slot, fields);
  for (const std::uint32_t id : fields) {
    if (slot.row.fields.contains(id)) {
      spread_[{news.host, id}] = {from};
      spread_at_ = std::min(spread_at_, now + kSpreadDelay);
    }
  }
}

/// A neighbour that sent what waits here to be spread needs no copy of it.
void HostStore::note_heard(HostId from, const RowOf& news) {
  if (spread_.empty()) {
    return;
  }
  const Row& mine = rows_[news.host].row;
  for (const auto& [id, field] : news.row.fields) {
    const auto waiting = spread_.find({news.host, id});
    const auto held = mine.fields.find(id);
    if (waiting != spread_.end() && held != mine.fields.end() && held->second == field) {
      waiting->second.push_back(from);
    }
  }
}

void HostStore::changed(HostId host, Slot& slot, const std::vector<std::uint32_t>& fields) {
  slot.version = slot.row.version();
  dirty_rows_.insert(host);
  for (const std::uint32_t id : fields) {
    changes_.insert({host, static_cast<FieldId>(id)});
  }
}

/// Sends all waiting news, to each neighbour what it is not known to have. Most neighbours lack the
/// same: what was encoded for the one before is sent again.
void HostStore::spread() {
  std::vector<News> waiting;
  for (const auto& [what, have_it] : spread_) {
    const Row& row = rows_[what.first].row;
    const auto field = row.fields.find(what.second);
    if (field != row.fields.end()) {
      waiting.push_back({what.first, &row, field, &have_it});
    }
  }
  std::vector<const News*> lacking;
  std::vector<const News*> before;
  std::size_t bodies_begin = 0;
  std::size_t bodies_end = 0;
  for (const HostId& neighbour : neighbours_) {
    lacking.clear();
    for (const News& news : waiting) {
      const auto& have_it = *news.have_it;
      if (news.host != neighbour && std::count(have_it.begin(), have_it.end(), neighbour) == 0) {
        lacking.push_back(&news);
      }
    }
    if (lacking.empty() || lacking != before) {
      bodies_begin = output_.messages.size();
      send_rows(neighbour, rows_of(lacking));
      bodies_end = output_.messages.size();
      before.swap(lacking);
      continue;
    }
    for (std::size_t i = bodies_begin; i < bodies_end; ++i) {
      output_.messages.push_back({neighbour, std::string(output_.messages[i].body)});
    }
  }
  spread_.clear();
  spread_at_ = kNever;
}

std::vector<RowOf> HostStore::rows_of(const std::vector<const News*>& news) {
  std::vector<RowOf> rows;
  for (const News* each : news) {
    if (rows.empty() || rows.back().host != each->host) {
      rows.push_back({each->host, Row{each->row->full_from, {}}});
    }
    rows.back().row.fields.insert(*each->field);
  }
  return rows;
}

// Links, questions and audits.

void HostStore::on(Instant, const PeerUp& input) {
  if (input.peer != self_) {
    send_summary(input.peer);
  }
}

void HostStore::on(Instant, const NeighboursChanged& input) {
  neighbours_ = input.neighbours;
  std::erase(neighbours_, self_);
}

void HostStore::on(Instant now, const PeerVersion& input) {
  const Slot* known = recent_.find(rows_, input.host);
  const bool is_behind = known == nullptr || known->version < input.version;
  if (input.host != self_ && is_behind && behind_.size() < kBehindMax) {
    behind_.try_emplace(input.host, Behind{input.version, now + kAskDelay});
  }
}

void HostStore::ask_behind(Instant now) {
  for (auto it = behind_.begin(); it != behind_.end();) {
    const auto& [host, behind] = *it;
    if (now < behind.ask_at) {
      ++it;
      continue;
    }
    const auto found = rows_.find(host);
    if (found == rows_.end() || found->second.version < behind.version) {
      RowsBody question;
      question.want.push_back(host);
      output_.messages.push_back({host, encode(question)});
    }
    it = behind_.erase(it);
  }
}

void HostStore::audit(Instant now) {
  audit_at_ = now + kAuditPeriod;
  if (neighbours_.empty()) {
    return;
  }
  RowsBody question;
  question.audit = digest_;
  output_.messages.push_back({neighbours_[rng_.below(neighbours_.size())], encode(question)});
}

std::vector<RowsBody> HostStore::summary() const {
  std::vector<RowsBody> bodies(1);
  bodies.back().complete = rows_.size() <= kDigestsPerMessageMax;
  for (const auto& [host, slot] : rows_) {
    if (bodies.back().digests.size() == kDigestsPerMessageMax) {
      bodies.emplace_back();
    }
    bodies.back().digests.push_back({host, slot.digest});
  }
  const auto own = rows_.find(self_);
  if (own != rows_.end()) {
    bodies.back().rows.push_back({self_, own->second.row});
  }
  return bodies;
}

std::string HostStore::introduction() const {
  return encode(summary().back());
}

void HostStore::send_summary(HostId to) {
  for (const RowsBody& body : summary()) {
    output_.messages.push_back({to, encode(body)});
  }
}

void HostStore::answer(HostId to, const RowsBody& question) {
  RowsBody reply;
  std::vector<HostId> send;
  if (question.want_all) {
    for (const auto& [host, slot] : rows_) {
      send.push_back(host);
    }
  } else {
    send = question.want;
    answer_digests(to, question, reply, send);
  }
  send_whole(to, send);
  if (!reply.want.empty()) {
    output_.messages.push_back({to, encode(reply)});
  }
  if (question.audit != 0 && question.audit != digest_) {
    send_summary(to);
  }
}

void HostStore::answer_digests(HostId to, const RowsBody& question, RowsBody& reply,
                               std::vector<HostId>& send) const {
  std::vector<HostId> named;
  named.reserve(question.digests.size());
  for (const RowDigest& theirs : question.digests) {
    named.push_back(theirs.host);
    const auto mine = rows_.find(theirs.host);
    if (mine != rows_.end() && mine->second.digest == theirs.digest) {
      continue;
    }
    if (theirs.host != self_ && theirs.host != to) {
      reply.want.push_back(theirs.host);
    }
    if (mine != rows_.end()) {
      send.push_back(theirs.host);
    }
  }
  if (!question.complete) {
    return;
  }
  std::sort(named.begin(), named.end());
  for (const auto& [host, slot] : rows_) {
    if (!std::binary_search(named.begin(), named.end(), host)) {
      send.push_back(host);
    }
  }
}

void HostStore::send_whole(HostId to, const std::vector<HostId>& hosts) {
  std::vector<RowOf> rows;
  for (const HostId& host : hosts) {
    const Row* found = row(host);
    if (found != nullptr) {
      rows.push_back({host, *found});
    }
  }
  send_rows(to, std::move(rows));
}

void HostStore::send_rows(HostId to, std::vector<RowOf> rows) {
  RowsBody body;
  std::size_t size = 0;
  for (RowOf& row : rows) {
    size += size_bytes(row.row);
    body.rows.push_back(std::move(row));
    if (body.rows.size() == kRowsPerMessageMax || size >= kRowsBytesMax) {
      output_.messages.push_back({to, encode(body)});
      body.rows.clear();
      size = 0;
    }
  }
  if (!body.rows.empty()) {
    output_.messages.push_back({to, encode(body)});
  }
}

/// Rows that changed get their digest and are written.
void HostStore::write_dirty() {
  for (const HostId& host : dirty_rows_) {
    Slot& slot = rows_[host];
    std::string encoded = encode_row(slot.row);
    digest_ ^= slot.digest;
    slot.digest = digest_of(host, encoded);
    digest_ ^= slot.digest;
    output_.writes.push_back({row_key(host), std::move(encoded)});
  }
  dirty_rows_.clear();
}

void HostStore::emit(Severity severity, std::string_view name, HostId about, std::string detail) {
  output_.events.push_back(
      {severity, name, {{"host", about.short_hex()}, {"detail", std::move(detail)}}});
}

}  // namespace muster::crdt
