// The starts of the hosts of a World, and every fault as a verb.

#include "agent/roll/authority_book.h"
#include "agent/roll/link_record.h"
#include "agent/step/start_record.h"
#include "gossip/base/check.h"
#include "scheduler/raft/codec.h"
#include "tests/crdt/rows/roll_of.h"
#include "tests/sim/raft_of_start.h"
#include "tests/sim/world.h"
#include "tests/sim/world_host.h"

namespace muster::sim {
namespace {

/// Of one agent in a run. An agent that starts so often would never do anything else.
constexpr std::uint32_t kStartsMax = 1000;
constexpr std::uint32_t kSeedsMax = 5;
/// Of every host; eight GPUs share them.
constexpr std::uint32_t kHostCpus = 16;
/// How soon after it thawed a host starts an agent that was to start meanwhile.
constexpr Duration kStartsWithin = std::chrono::milliseconds(10);

/// Gives a host GPUs in two islands, and each host with an odd index a label.
void equip(agent::NodeOptions& options, std::uint32_t index, const WorldOptions& world) {
  const std::uint32_t gpus = world.gpus_per_host;
  options.hardware.are_watched = world.are_gpus_watched;
  options.hardware.capacity.gpu_type = "H100";
  options.hardware.capacity.cpus = kHostCpus;
  options.hardware.capacity.memory_mb = kHostCpus << 12;
  if (index % 2 == 1) {
    options.hardware.traits.labels = {"odd"};
  }
  for (std::uint32_t i = 0; i < gpus; ++i) {
    options.hardware.capacity.gpus.push_back(
        {"GPU-" + std::to_string(index) + "-" + std::to_string(i)});
    options.hardware.traits.islands.push_back(2 * i / gpus);
  }
}

}  // namespace

void World::stop_agent(std::uint32_t index) {
  Host& host = *hosts_[index];
  if (host.node == nullptr) {
    return;
  }
  host.node.reset();
  host.reflex.reset();
  host.backlog.clear();
  host.vital.clear();
  host.inbox.clear();
  host.at_reflex.clear();
  host.tick_waits = false;
  host.to_check.clear();
  host.checked.clear();
  host.wake_at = kNever;
  host.disk.crash(rng_);
  lose_links_of(index);
  if (host.is_powered) {
    lose_links_to(index);
  }
}

void World::kill_agent(std::uint32_t index) {
  stop_agent(index);
}

void World::ask_to_stop(std::uint32_t index) {
  feed(index, agent::StopAsked{});
}

void World::start_agent(std::uint32_t index) {
  Host& host = *hosts_[index];
  if (host.node != nullptr || !host.is_powered) {
    return;
  }
  if (host.is_frozen) {
    return at(now_ + kStartsWithin, [this, index] { start_agent(index); });
  }
  ++host.listening_life;
  if (++host.life > kStartsMax) {
    return violation("restarts", "host " + std::to_string(index) + " starts its agent for ever");
  }
  agent::NodeOptions options;
  options.self = host.id;
  options.name = name_of(index);
  options.boot_id = "boot-" + std::to_string(host.boots);
  options.hardware.traits.rack =
      options_.racks == 0 ? "" : "r" + std::to_string(index % options_.racks);
  options.tuning.relays_from_hosts = options_.relays_from_hosts;
  options.clients.login.name = kOperator;
  options.addresses.control = endpoint(index, kControlPort);
  options.addresses.bulk = endpoint(index, kBulkPort);
  const auto seeds = static_cast<std::uint32_t>(std::max(options_.bootstrap_expect, 1));
  for (const gossip::Expect& contact : host.seeds) {
    options.addresses.seeds.push_back(contact.at);
  }
  for (std::uint32_t i = 0; !is_newcomer(index) && i < std::min({seeds, kSeedsMax, options_.hosts});
       ++i) {
    options.addresses.seeds.push_back(endpoint(i, kControlPort));
  }
  options.credentials = host.papers.has_value() ? *host.papers : credentials(index, seeds);
  host.admitted.clear();
  host.expected.clear();
  for (const gossip::Expect& contact : host.seeds) {
    host.expected[contact.at] = contact.key;
  }
  host.dials_with_previous.clear();
  const auto link = agent::link_record_in(host.disk.read(crdt::Environment::kId));
  if (link.has_value()) {
    host.link_key = host.key_maker->link_key_of(link->seed);
    host.previous_link_key = host.key_maker->link_key_of(link->previous_seed);
  } else {
    host.link_key = host.base_link_key;
    host.previous_link_key.clear();
  }
  host.shut_out.clear();
  host.tickets.clear();
  options.tuning.compact_entries = options_.compact_entries;
  options.unix_ms = unix_ms(index);
  equip(options, index, options_);
  agent::Recovered recovered;
  const agent::StartRecord start =
      agent::next_start(host.disk.read(crdt::Environment::kId), StartId(rng_.next()));
  host.disk.submit(0, crdt::Environment::kId, start.writes);
  host.disk.complete(0);  // Synced before the node is made.
  options.start = start.start;
  recovered.id = host.disk.read(crdt::Environment::kId);
  host.rows_checker = std::make_unique<crdt::RowChecker>(
      agent::authority_in(recovered.id, host.id, options.credentials).authority, keys_);
  recovered.raft = raft_of_start(host.disk, host.id, rng_);
  recovered.state = host.disk.read(crdt::Environment::kState);
  host.node =
      std::make_unique<agent::Node>(std::move(options), recovered, rng_.fork(), local(index));
  drain(index);
  for (agent::GangAgentInput& found : host.farm.scan(local(index))) {
    if (host.node != nullptr) {
      feed(index, agent::SupervisorReport{std::move(found)});
    }
  }
}

/// Its own, and nothing that others say.
agent::Credentials World::keys_of(std::uint32_t index) {
  agent::Credentials papers;
  papers.signer = std::make_shared<gossip::testing::StandInSigner>(hosts_[index]->id, &signed_);
  papers.link_seed = hosts_[index]->base_link_key;
  papers.key_maker = hosts_[index]->key_maker;
  papers.verifier = std::make_shared<gossip::testing::StandInVerifier>();
  return papers;
}

/// Founders know of everyone, as those that hold the log do; the others of themselves and of them.
agent::Credentials World::credentials(std::uint32_t index, std::uint32_t founders) {
  agent::Credentials papers = keys_of(index);
  papers.first_admin = kOperator;
  papers.authority_signer = gossip::testing::signer_of(crdt::testing::kAuthority);
  papers.authority_secret = std::string(crdt::testing::kAuthority.bytes());
  papers.authority = std::string(crdt::testing::kAuthority.bytes());
  for (std::uint32_t i = 0; i < hosts_.size() && !is_newcomer(i); ++i) {
    if (i == index || i < founders || index < founders) {
      const bool is_founder = options_.bootstrap_expect > 0 && i < founders;
      const bool is_last = i + 1 == hosts_.size();
      crdt::RollRecord record = crdt::testing::record_of(hosts_[i]->id, is_founder ? founders : 0,
                                                         options_.last_may_vote || !is_last);
      record.may_vouch = options_.last_may_vouch || !is_last;
      papers.records.emplace_back(hosts_[i]->id, crdt::testing::roll_field(hosts_[i]->id, record));
    }
  }
  return papers;
}

void World::jump_wall_clock(std::uint32_t index, Duration by) {
  Host& host = *hosts_[index];
  host.wall_offset += by;
  if (host.node != nullptr) {
    feed(index, agent::WallClockSet{unix_ms(index)});
  }
}

void World::power_off(std::uint32_t index) {
  Host& host = *hosts_[index];
  if (!host.is_powered) {
    return;
  }
  host.is_powered = false;
  host.is_frozen = false;
  stop_agent(index);
  host.disk.lose_power(rng_);
  host.farm.lose_power();
  host.gpus.lose_power();
  farm_happened(index);
}

void World::power_on(std::uint32_t index) {
  Host& host = *hosts_[index];
  if (host.is_powered) {
    return;
  }
  host.is_powered = true;
  ++host.boots;
  start_agent(index);
}

void World::freeze(std::uint32_t index, Duration duration) {
  Host& host = *hosts_[index];
  if (host.is_frozen || !host.is_powered) {
    return;
  }
  host.is_frozen = true;
  host.frozen_at = now_;
  host.wake_at = kNever;
  host.farm_wake_at = kNever;
  queue_.push(now_ + duration, Thaw{index});
}

void World::thaw(std::uint32_t index) {
  on(Thaw{index});
}

void World::kill_supervisor(std::uint32_t index) {
  if (hosts_[index]->farm.kill_some_supervisor(local(index))) {
    farm_happened(index);
  }
}

void World::set_full(std::uint32_t index, bool is_full) {
  hosts_[index]->farm.set_full(is_full);
  farm_happened(index);
}

void World::set_fsync(std::uint32_t index, Duration min, Duration max) {
  hosts_[index]->fsync_min = min;
  hosts_[index]->fsync_max = max;
}

void World::set_drift_ppm(std::uint32_t index, std::int64_t ppm) {
  CHECK(now_ == Instant());
  hosts_[index]->rate = kMillion + ppm;
}

void World::begin_lying(std::uint32_t index, crdt::Environment environment) {
  Host& host = *hosts_[index];
  host.disk.begin_lying(environment);
  // Of grants and fences, as an old image would.
  host.is_put_back = host.is_put_back || environment == crdt::Environment::kId;
}

void World::keep_image(std::uint32_t index) {
  hosts_[index]->image = hosts_[index]->disk;
  hosts_[index]->image->crash(rng_);
}

void World::put_image_back(std::uint32_t index) {
  Host& host = *hosts_[index];
  if (host.image.has_value()) {
    power_off(index);
    host.disk.go_back_to(*host.image);
    host.farm = RankFarm(rng_.fork());  // Evidence was on that disk, too.
    host.is_put_back = true;
  }
}

void World::move_addresses(std::uint32_t by) {
  are_moved_ = true;
  const auto count = static_cast<std::uint32_t>(hosts_.size());
  for (std::uint32_t index = 0; index < count; ++index) {
    kill_agent(index);
    lose_links_of(index);
    hosts_[index]->address = (index + by) % count;
  }
  for (std::uint32_t index = 0; index < count; ++index) {
    start_agent(index);
  }
}

void World::mark_as_copy(std::uint32_t index, bool is_copy) {
  kill_agent(index);
  hosts_[index]->disk.commit(crdt::Environment::kRaft, {scheduler::write_of_copied(is_copy)});
}

bool World::is_copy(std::uint32_t index) const {
  return hosts_[index]
      ->disk.sealed(crdt::Environment::kRaft)
      .contains(std::string(scheduler::kCopiedKey));
}

void World::lose_state(std::uint32_t index) {
  kill_agent(index);
  hosts_[index]->disk.clear(crdt::Environment::kState, {});
}

void World::lose_raft(std::uint32_t index, const crdt::WriteBatch& first) {
  kill_agent(index);
  hosts_[index]->disk.clear(crdt::Environment::kRaft, first);
}

}  // namespace muster::sim
