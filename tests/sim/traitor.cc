#include "tests/sim/traitor.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "crdt/rows/proof.h"
#include "crdt/rows/roll.h"
#include "gossip/base/version.h"
#include "gossip/wire/message.h"
#include "tests/crdt/rows/roll_of.h"
#include "tests/crdt/rows/signed_row.h"

namespace muster::sim {
namespace {

constexpr std::size_t kHeardMax = 64;
constexpr Duration kBetweenLooks = std::chrono::seconds(1);
/// At one moment.
constexpr int kProofsForged = 3;

}  // namespace

Traitor::Traitor(World& world, const SwarmProfile& profile, Rng& rng,
                 std::map<std::string, std::uint64_t>& counts)
    : world_(world), rng_(rng), counts_(counts) {
  if (profile.weights.has(Fault::kProofForged)) {
    persons_.emplace(world, rng, counts);
    forger_.emplace(world, rng, counts, *persons_);
    world.add_checker(std::make_unique<NoProofIsForged>(persons_->ledger()));
  }
  if (profile.weights.has(Fault::kForged)) {
    world.add_checker(std::make_unique<RowsAreTheirOwners>());
    world.add_checker(std::make_unique<OnlyMembersAreIn>());
    impostor_.emplace(world, rng, counts, persons_.has_value() ? &*persons_ : nullptr);
  }
}

std::optional<crdt::RowOf> Traitor::some_row() {
  std::vector<crdt::RowOf> rows;
  for (std::uint32_t host = 0; host < world_.size(); ++host) {
    if (world_.is_running(host)) {
      for (const auto& [id, held] : world_.node(host).store().rows()) {
        rows.push_back({id, held.row});
      }
    }
  }
  return rows.empty() ? std::nullopt : std::optional(rows[rng_.below(rows.size())]);
}

/// With the only key that the traitor has.
void Traitor::sign(crdt::RowOf& row, HostId as) const {
  const gossip::testing::StandInSigner signer(as);
  for (auto& [id, field] : row.row.fields) {
    if (crdt::is_of_authority(id)) {
      field.proof = signer.sign(crdt::roll_words(row.host, field.version, field.bytes));
    }
  }
  crdt::testing::sign_own_fields(row.host, row.row, signer);
}

crdt::RowOf Traitor::lie_about(crdt::RowOf row) {
  const HostId traitor = traitor_of(world_);
  switch (rng_.below(6)) {
    case 0:  // Newer, under the old signatures.
      for (auto& [id, field] : row.row.fields) {
        field.version.sequence = field.version.sequence.next();
      }
      break;
    case 1:  // Other words under the same version.
      for (auto& [id, field] : row.row.fields) {
        field.bytes += '\xff';
      }
      break;
    case 2: {  // Newer, signed by the traitor, with the record of another host's key beside it.
      auto& roll = row.row.fields[static_cast<std::uint32_t>(crdt::FieldId::kRoll)];
      crdt::RollRecord said = crdt::decode_roll(roll.bytes).value_or(crdt::RollRecord());
      said.revoked = rng_.chance(500'000);
      roll.bytes = crdt::encode(said);
      for (auto& [id, field] : row.row.fields) {
        field.version.sequence = field.version.sequence.next();
      }
      sign(row, traitor);
      break;
    }
    case 3:  // Everything older is over, says nobody.
      row.row.full_from = row.row.full_from.next();
      row.row.fields.clear();
      break;
    case 4:  // A later life.
      row.row.full_from = row.row.full_from.next();
      for (auto& [id, field] : row.row.fields) {
        field.version.generation = field.version.generation.next();
      }
      break;
    default:  // A host that nobody ever met.
      row.host = HostId::from_bytes("nobody__________");
      sign(row, traitor);
      break;
  }
  return row;
}

crdt::RowOf Traitor::crown(std::uint32_t victim) {
  const HostId traitor = traitor_of(world_);
  crdt::QuorumView view;
  view.term = Term(1'000'000);
  view.leader = traitor;
  view.voters = {traitor};
  crdt::RowOf row{traitor, {}};
  const crdt::Row* held = world_.node(victim).store().row(traitor);
  const crdt::RowVersion newest = held == nullptr ? crdt::RowVersion() : held->version();
  row.row.full_from = newest.generation;
  row.row.fields[static_cast<std::uint32_t>(crdt::FieldId::kQuorum)] = {
      {newest.generation, newest.sequence.next()}, crdt::encode(view)};
  sign(row, traitor);
  return row;
}

void Traitor::forge() {
  std::optional<crdt::RowOf> row = some_row();
  if (!row.has_value()) {
    return;
  }
  ++counts_["forged"];
  if (heard_.size() < kHeardMax) {
    heard_.push_back(*row);
  } else {
    heard_[rng_.below(heard_.size())] = *row;
  }
  const std::uint32_t victim = static_cast<std::uint32_t>(rng_.below(world_.size() - 1));
  if (!world_.is_running(victim)) {
    return;
  }
  if (rng_.chance(500'000)) {
    return impostor_->speak(victim);
  }
  const bool is_replay = rng_.chance(200'000);
  crdt::RowsBody body;
  const bool is_crown = !is_replay && rng_.chance(100'000);
  body.rows.push_back(is_replay  ? heard_[rng_.below(heard_.size())]
                      : is_crown ? crown(victim)
                                 : lie_about(*std::move(row)));
  gossip::Envelope envelope;
  envelope.version = kProtocolVersion;
  envelope.type = gossip::MessageType::kRows;
  envelope.cluster = world_.node(victim).cluster();
  envelope.from = traitor_of(world_);
  envelope.generation = Generation(1);
  if (rng_.chance(200'000)) {  // Another quorum, on its own word or on that of a founder.
    gossip::set_epoch(envelope, {2, 4711});
    envelope.from = rng_.chance(500'000) ? world_.id(0) : envelope.from;
  }
  world_.say_as_stranger(victim, traitor_of(world_), gossip::encode(envelope, crdt::encode(body)));
}

void Traitor::forge_proofs() {
  if (rng_.chance(500'000)) {
    return persons_->act();
  }
  for (int i = 0; i < kProofsForged; ++i) {
    forger_->lie();
  }
}

namespace {

/// True for a record that the World gave each host at the start, or that a Node signed since. A
/// host may hold records of an authority that it has yet to hear of again: the last one that it
/// knew may not be on its disk. The traitor's knowledge proves nothing to others.
bool is_authoritys_word(World& world, std::uint32_t holder, HostId owner,
                        const crdt::Field& field) {
  if (field.version == crdt::RowVersion{Generation(1), Sequence(1)}) {
    return true;
  }
  const auto hash =
      gossip::testing::hash_of(crdt::roll_words(owner, field.version, field.bytes), 0);
  if (world.signed_words().contains({crdt::testing::kAuthority, hash})) {
    return true;
  }
  for (std::uint32_t host = 0; host < world.size(); ++host) {
    const bool is_heard = host == holder || world.id(host) != traitor_of(world);
    if (!is_heard || !world.is_running(host)) {
      continue;
    }
    for (const gossip::AuthorityLink& link : world.node(host).authority().links()) {
      if (world.signed_words().contains({HostId::from_bytes(link.key), hash})) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace

void RowsAreTheirOwners::on_event(World& world, std::uint32_t host, const Event& event) {
  if (event.name == "epoch_met") {
    world.violation(name(), "host " + std::to_string(host) + " obeys an epoch that nobody began");
  }
  const bool is_of_itself = event.name == "own_row_ahead" || event.name == "own_row_forged";
  if (is_of_itself && world.id(host) != traitor_of(world)) {
    world.violation(name(),
                    "host " + std::to_string(host) + " believes of itself what it never said");
  }
  if (world.now() >= look_at_) {
    look_at_ = world.now() + kBetweenLooks;
    at_end(world);
  }
}

void RowsAreTheirOwners::at_end(World& world) {
  for (std::uint32_t host = 0; host < world.size(); ++host) {
    if (world.is_running(host)) {
      look(world, host);
    }
  }
}

void RowsAreTheirOwners::look(World& world, std::uint32_t host) {
  if (world.node(host).seat().known_leader() == traitor_of(world)) {
    return world.violation(name(), "host " + std::to_string(host) + " follows the traitor");
  }
  for (const auto& [owner, held] : world.node(host).store().rows()) {
    if (owner == traitor_of(world)) {
      continue;  // Of itself it may say what it likes.
    }
    for (const auto& [id, field] : held.row.fields) {
      if (crdt::is_of_authority(id)) {
        if (!is_authoritys_word(world, host, owner, field)) {
          return world.violation(name(), "host " + std::to_string(host) + " holds a record of " +
                                             owner.short_hex() + " that nobody made");
        }
        continue;
      }
      const auto said = crdt::signed_digests(owner, id, field, gossip::testing::StandInVerifier());
      if (!said.has_value() ||
          !world.signed_words().contains({owner, gossip::testing::hash_of(said->words, 0)})) {
        return world.violation(name(), "host " + std::to_string(host) + " holds field " +
                                           std::to_string(id) + " of " + owner.short_hex() +
                                           ", which never said it");
      }
    }
  }
}

}  // namespace muster::sim
