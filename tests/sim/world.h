#pragma once
// A whole cluster in virtual time: real Nodes, simulated network, disks, supervisors and clocks,
// and every fault as a verb. The run is a function of the options (the seed among them): the same
// ones give the same hash(). Checkers see events, physical facts and disks.

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "agent/api/enrolment.h"
#include "agent/node/node.h"
#include "gossip/base/rng.h"
#include "tests/gossip/base/stand_in_keys.h"
#include "tests/sim/disk.h"
#include "tests/sim/event_queue.h"
#include "tests/sim/network.h"
#include "tests/sim/processors.h"
#include "tests/sim/rank_farm.h"
#include "tests/sim/tcp_stream.h"

namespace muster::sim {

/// The login of all clients, on each host: the first administrator.
inline constexpr char kOperator[] = "op";

class World;

/// Watches one property: it reads the events and messages of hosts, their disks, the process table
/// and the applied state of Nodes.
class Checker {
 public:
  virtual ~Checker() = default;
  virtual std::string name() const = 0;
  virtual void on_event(World&, std::uint32_t /*host*/, const Event&) {}
  virtual void on_fact(World&, std::uint32_t /*host*/, const FarmFact&) {}
  /// Only with WorldOptions::check_messages: a message leaves, whatever becomes of it; it reaches a
  /// running agent.
  virtual void on_said(World&, std::uint32_t /*host*/, const std::string& /*bytes*/) {}
  virtual void on_heard(World&, std::uint32_t /*host*/, const gossip::Received& /*message*/) {}
  /// Faults are over and the cluster had its time to settle.
  virtual void at_end(World&) {}
};

inline constexpr std::uint32_t kVoters = 3;  ///< Of a first quorum: the first hosts.

struct WorldOptions {
  std::uint32_t hosts = 5;
  std::uint64_t seed = 1;
  int bootstrap_expect = 3;
  std::uint32_t gpus_per_host = 8;
  bool are_gpus_watched = false;  ///< Ranks leave something on them, and hosts look at them.
  std::uint32_t racks = 0;        ///< 0 = no rack is known.
  std::size_t relays_from_hosts = agent::NodeTuning().relays_from_hosts;
  std::int64_t drift_ppm_max = 0;  ///< Each host's clock runs this much too fast or too slow.
  Duration fsync_min = std::chrono::microseconds(100);
  Duration fsync_max = std::chrono::milliseconds(2);
  Duration start_spread = std::chrono::seconds(1);  ///< Agents start within this.
  std::uint64_t compact_entries = 150;  ///< Low, so that snapshots are made and installed.
  bool trace = false;                   ///< Print every event as it happens.
  std::uint32_t invariant_stride = 1;   ///< check_invariants() after every n-th step of a host.
  bool check_messages = false;          ///< Checkers are shown messages, too.
  bool stop_at_violation = false;       ///< The run stops once a checker has spoken.
  std::vector<HostId> ids;              ///< Empty = made of the seed.
  bool last_may_vote = true;            ///< The last host; the others always may.
  bool last_may_vouch = true;           ///< Likewise.
  /// Links behave as TCP connections do (tcp_stream.h), instead of losing a message for good. Then
  /// no message is doubled or overtaken: TCP does not have those faults.
  bool tcp_links = false;
  /// A message without an acknowledgement for so long ends a connection; 0 = never. With tcp_links.
  Duration user_timeout = std::chrono::seconds(5);
  /// The last so many hosts are no members: nobody knows them, and they start by enter().
  std::uint32_t newcomers = 0;
  /// CPU of each end of a new connection, one after the other at a host; 0 = it costs nothing.
  Duration handshake{0};
  /// The price of all work, and the cores that do it.
  PriceList prices{};
  bool measure_cpu =
      false;  ///< Of Nodes, in real time: cost() tells, and the run does not read it.
};

/// The costs of a host so far.
struct HostCost {
  std::uint64_t handshakes =
      0;            ///< Either end, refused ones among them; with WorldOptions::handshake.
  Duration cpu{0};  ///< Of its Node, in real time; with WorldOptions::measure_cpu.
  std::uint64_t fields_checked = 0;  ///< Fields whose signatures its checker was given.
};

struct ClientReply {
  std::uint64_t client = 0;
  agent::Response response;
  Instant when;
};

struct Violation {
  std::string checker;
  std::string text;
};

class World {
 public:
  explicit World(WorldOptions options);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  void add_checker(std::unique_ptr<Checker> checker);
  void run_until(Instant when);
  void run_for(Duration duration) { run_until(now_ + duration); }
  /// Runs until the condition holds, looking every 10 ms; false when `limit` passed first.
  bool run_until_true(const std::function<bool()>& condition, Duration limit);
  /// Asks every checker for its last word.
  void finish();
  void at(Instant when, std::function<void()> action);

  // Faults.
  void ask_to_stop(std::uint32_t host);  ///< SIGTERM: a leader hands over first.
  void kill_agent(std::uint32_t host);
  void start_agent(std::uint32_t host);
  void power_off(std::uint32_t host);
  void power_on(std::uint32_t host);
  /// Every process of the host stands still; what arrives meanwhile is delivered afterwards.
  void freeze(std::uint32_t host, Duration duration);
  void thaw(std::uint32_t host);  ///< Before its time.
  void kill_supervisor(std::uint32_t host);
  /// No grant can be started there from now on, or again; its agent hears of it.
  void set_full(std::uint32_t host, bool is_full);
  void set_fsync(std::uint32_t host, Duration min, Duration max);
  /// How much too fast its clock runs. Before anything ran.
  void set_drift_ppm(std::uint32_t host, std::int64_t ppm);
  /// The clock that people read shows so much more from now on.
  void jump_wall_clock(std::uint32_t host, Duration by);
  /// Others take this share of the cores, in thousandths, from now on; with WorldOptions::prices.
  void burden(std::uint32_t thousandths) { processors_.burden(thousandths); }
  /// Work costs nothing meanwhile.
  void let_work_be_free(bool is_free) { processors_.be_free(is_free); }
  /// The sum of all work so far, by the price list.
  Duration work_spent() const { return processors_.spent(); }
  /// From now on the disk says of that environment what is not true; see Disk.
  void begin_lying(std::uint32_t host, crdt::Environment environment);
  /// Remembers what is on the disk now ...
  void keep_image(std::uint32_t host);
  /// ... and gives the host, which loses its power for it, that old disk back, if there is one.
  void put_image_back(std::uint32_t host);
  /// Kills the agents: each host has the address from now on that the one `by` behind it had, and
  /// all are started with the founders' new ones as their seeds.
  void move_addresses(std::uint32_t by);
  /// Kills the agent: the host's data directory is a copy when it starts; false: an operator says
  /// that it was moved.
  void mark_as_copy(std::uint32_t host, bool is_copy);
  bool is_copy(std::uint32_t host) const;
  /// Kills the agent and leaves the host a raft/ with nothing but `first`.
  void lose_raft(std::uint32_t host, const crdt::WriteBatch& first);
  /// Kills the agent, and the host has forgotten the rows of all.
  void lose_state(std::uint32_t host);
  Network& network() { return network_; }

  /// A member of the cluster, `as`, says what it likes on a connection of its own.
  /// Where its key is not let in it is refused. `delay` 0 = as the network has it.
  void say_as_stranger(std::uint32_t to, HostId as, std::string bytes, Duration delay = {});
  /// The same for any sender, whatever it has proven.
  void say_as(std::uint32_t to, const gossip::Sender& sender, std::string bytes, Duration delay);

  // Newcomers.
  /// Its introduction of itself to a member that knows the ticket of that key.
  agent::JoinArgs introduction(std::uint32_t newcomer, const std::string& ticket);
  /// A newcomer asks a member, on a connection that the ticket's secret made and that lasts until
  /// it enters. Where the ticket is not known it is refused without a word. As ask().
  std::uint64_t ask_with_ticket(std::uint32_t newcomer, std::uint32_t member,
                                const std::string& ticket, Nonce nonce, agent::Request request);
  /// It is a member by what it was given, and starts.
  void enter(std::uint32_t newcomer, const agent::JoinInfo& info);

  // Clients. The number names the request in replies().
  /// On a connection that proves `sender`; by default the login of the first administrator.
  std::uint64_t ask(std::uint32_t host, agent::Request request,
                    const gossip::Sender& sender = {gossip::Sender::Kind::kLogin});
  const ClientReply* reply_to(std::uint64_t client) const;

  // Reading.
  Instant now() const { return now_; }
  const WorldOptions& options() const { return options_; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(hosts_.size()); }
  bool is_running(std::uint32_t host) const;
  /// The first running host that leads; size() when none does.
  std::uint32_t leader() const;
  std::uint32_t starts(std::uint32_t host) const;  ///< Of its agent, so far.
  std::uint64_t all_starts() const;                ///< Of all agents.
  bool are_all_awake() const;                      ///< All run, and none stands still.
  bool is_powered(std::uint32_t host) const;
  bool is_frozen(std::uint32_t host) const;
  Instant thawed_at(std::uint32_t host) const;  ///< Instant() = it never stood still.
  bool was_put_back(std::uint32_t host) const;
  const agent::Node& node(std::uint32_t host) const;
  const Disk& disk(std::uint32_t host) const;
  const RankFarm& farm(std::uint32_t host) const;
  /// Its transport lets the other in.
  bool admits(std::uint32_t host, std::uint32_t other) const;
  /// One of the two holds a connection to the other; either may have dialled.
  bool are_linked(std::uint32_t one, std::uint32_t other) const;
  HostId id(std::uint32_t host) const;
  /// The key that proves its links now.
  const std::string& link_key(std::uint32_t host) const;
  /// The hosts that its transport lets in, by link key.
  const std::map<std::string, HostId>& admitted(std::uint32_t host) const;
  /// The host whose link key that is, or was; nullopt if no host had it.
  std::optional<HostId> owner_of_key(const std::string& key) const;
  const HostCost& cost(std::uint32_t host) const;
  std::optional<std::uint32_t> find(HostId id) const;
  Rng& rng() { return rng_; }
  std::uint64_t hash() const { return hash_; }
  std::uint64_t steps() const { return steps_; }
  /// The words that agents signed, each as its own host.
  const gossip::testing::SignedWords& signed_words() const { return signed_; }
  void violation(const std::string& checker, const std::string& text);
  const std::vector<Violation>& violations() const { return violations_; }

 private:
  struct Host;
  struct Link {
    enum class State : std::uint8_t { kNone, kDialing, kUp };
    State state = State::kNone;
    std::uint32_t epoch = 0;
    std::uint32_t target_life = 0;  ///< Host::listening_life there.
    Instant ready;
    Instant last_arrival;
    std::uint32_t closed_epoch = 0;  ///< The dialled end gave this connection up.
  };
  struct Deliver {
    std::uint32_t host;
    std::uint32_t life;
    agent::Node::Input input;
  };
  struct LinkLost {
    std::uint32_t from;
    std::uint32_t to;
    gossip::Channel channel;
    std::uint32_t epoch;
    std::uint32_t life;
    bool timed_out;
    bool unproven = false;  ///< Somebody else listens there.
  };
  struct Wake {
    std::uint32_t host;
    std::uint32_t life;
  };
  struct FarmWake {
    std::uint32_t host;
  };
  struct DiskDone {
    std::uint32_t host;
    std::uint32_t life;
    std::uint64_t id;
  };
  struct Thaw {
    std::uint32_t host;
  };
  struct Action {
    std::function<void()> run;
  };
  struct Resend {
    StreamKey key;
    std::uint32_t epoch;
  };
  /// Of a core.
  struct Turn {
    std::uint32_t core;
  };
  using Payload =
      std::variant<Deliver, LinkLost, Wake, FarmWake, DiskDone, Thaw, Action, Resend, Turn>;

  void on(Deliver&& event);
  void on(const LinkLost& event);
  void on(const Wake& event);
  void on(const FarmWake& event);
  void on(const DiskDone& event);
  void on(const Thaw& event);
  void on(const Action& event);
  void on(const Resend& event);
  void on(const Turn& event);

  void take_in(std::uint32_t host, agent::Node::Input&& input);
  void answer_as_reflex(std::uint32_t host, agent::Node::Input& input);
  void carry_out(std::uint32_t host, gossip::TransportOutput&& output);
  void tick(std::uint32_t host);
  // Where work has its price.
  void wake(std::uint32_t host, Lane lane);
  void wait_with_timers(std::uint32_t host);
  void wait_in_loop(std::uint32_t host, agent::Node::Input&& input);
  void wait_at_reflex(std::uint32_t host,
                      std::variant<gossip::TransportOutput, agent::Node::Input>&& word);
  bool run_reflex(std::uint32_t host);
  void say_what_waits(std::uint32_t host);
  void wait_for_check(std::uint32_t host, crdt::RowsToCheck&& rows);
  bool run_loop(std::uint32_t host);
  bool run_check(std::uint32_t host);
  Duration price_of(const agent::Node::Input& input) const;
  Duration price_of(const agent::Node::Output& output) const;
  void feed(std::uint32_t host, agent::Node::Input&& input);
  void drain(std::uint32_t host);
  void carry(std::uint32_t from, gossip::Send send);
  void carry(std::uint32_t from, gossip::Reply reply);
  void carry(std::uint32_t from, const gossip::Admit& word);
  void carry(std::uint32_t from, const gossip::Expect& word);
  void carry(std::uint32_t, const gossip::DialWith&) {}
  void carry(std::uint32_t from, const gossip::Rekey& word);
  bool are_proven(std::uint32_t from, std::uint32_t to, const gossip::Endpoint& at);
  void end_links_between(std::uint32_t host, std::uint32_t other);
  Duration time_of_last_word(std::uint32_t from, std::uint32_t to);
  void carry(std::uint32_t from, const gossip::DropLink& drop);
  bool is_newcomer(std::uint32_t host) const;
  Instant shake_hands(std::uint32_t from, std::uint32_t to, Instant met);
  bool dial(std::uint32_t from, std::uint32_t to, gossip::Channel channel, Link& link);
  void deliver(std::uint32_t from, std::uint32_t to, Link& link, gossip::Received message);
  bool is_same_process(const StreamKey& key, const Link& via) const;
  bool carries(const StreamKey& key);
  void hand_over(const StreamKey& key, Link& via, gossip::Received message);
  void send_over_tcp(const StreamKey& key, Link& via, gossip::Received message);
  void lose_link(const StreamKey& key, Link& via, bool timed_out);
  void lose_links_of(std::uint32_t host);
  void lose_links_to(std::uint32_t host);
  void farm_happened(std::uint32_t host);
  void schedule(std::uint32_t host);
  agent::Credentials keys_of(std::uint32_t index);
  agent::Credentials credentials(std::uint32_t index, std::uint32_t founders);
  void stop_agent(std::uint32_t host);
  void note(std::uint32_t host, const Event& event);
  Instant local(std::uint32_t host) const;
  std::int64_t unix_ms(std::uint32_t host) const;
  Instant global(std::uint32_t host, Instant local) const;
  Link& link(std::uint32_t from, std::uint32_t to, gossip::Channel channel);
  const Link& link(std::uint32_t from, std::uint32_t to, gossip::Channel channel) const;
  std::optional<std::pair<std::uint32_t, gossip::Channel>> resolve(const gossip::Endpoint&) const;
  gossip::Endpoint endpoint(std::uint32_t host, std::uint16_t port) const;

  WorldOptions options_;
  Rng rng_;
  Network network_;
  EventQueue<Payload> queue_;
  Processors processors_;
  Duration spent_{0};  ///< In the turn that is under way.
  Instant now_{};
  std::vector<std::unique_ptr<Host>> hosts_;
  std::vector<Link> links_;
  std::map<StreamKey, TcpStream> streams_;  ///< Streams in trouble.
  std::vector<std::unique_ptr<Checker>> checkers_;
  std::vector<Violation> violations_;
  gossip::testing::SignedWords signed_;
  gossip::testing::StandInVerifier keys_;
  std::map<std::uint64_t, ClientReply> replies_;
  std::uint64_t next_client_ = 1;
  bool are_moved_ = false;  ///< Hosts have other addresses than their numbers.
  std::uint64_t hash_ = 0;
  std::uint64_t steps_ = 0;
};

}  // namespace muster::sim
