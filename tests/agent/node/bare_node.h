#pragma once
// One Node without a cluster: tests hand it bytes and read what it would send. Its writes are
// durable at once; its clock moves when told.

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/api/jobs.h"
#include "agent/api/payload.h"
#include "agent/api/request.h"
#include "agent/node/node.h"
#include "gossip/base/version.h"
#include "tests/crdt/rows/roll_of.h"
#include "tests/crdt/rows/signed_row.h"
#include "tests/gossip/base/stand_in_keys.h"

namespace muster::agent::testing {

inline const HostId kSelf = HostId::from_bytes("self____________");
inline const HostId kPeer = HostId::from_bytes("peer____________");
inline const ClusterId kCluster = ClusterId::from_bytes("cluster_________");
inline const gossip::Endpoint kSelfControl = gossip::Endpoint::ipv4(10, 0, 0, 1, 7450);
inline const gossip::Endpoint kPeerControl = gossip::Endpoint::ipv4(10, 0, 0, 2, 7450);
inline constexpr gossip::Route kRoute{77};
/// The first administrator of the cluster that a node founds.
inline constexpr char kAdmin[] = "admin";

inline Request request(Verb verb, std::string arguments = "") {
  Request asked;
  asked.verb = verb;
  asked.user = kAdmin;
  asked.arguments = std::move(arguments);
  return asked;
}

inline std::string submit_arguments() {
  scheduler::JobSpec spec;
  spec.command.argv = {"true"};
  return encode_payload(SubmitArgs{"key", spec});
}

/// Each signed by its owner.
inline crdt::RowsBody signed_rows(crdt::RowsBody rows) {
  for (crdt::RowOf& row : rows.rows) {
    row = crdt::testing::signed_row(std::move(row));
  }
  return rows;
}

/// Its certificates are sentences.
class StandInHttpSigner final : public HttpSigner {
 public:
  Result<std::string> root(const Authority& authority) const override {
    return "root of " + authority.cluster + " by " + authority.secret;
  }
  Result<std::string> certify(const Authority& authority, const CertifyArgs& wish,
                              std::int64_t) const override {
    std::string text = wish.public_key + " by " + authority.secret;
    for (const auto* list : {&wish.dns, &wish.addresses}) {
      for (const std::string& name : *list) {
        text += " " + name;
      }
    }
    return text;
  }
  std::string domain() const override { return "example.com"; }
  std::string fingerprint(const std::string& pem) const override { return "print of " + pem; }
};

class BareNode {
 public:
  /// `expect` 1: it founds a cluster of its own. 0: it waits for others.
  /// `raft`: what its disk says of a quorum it belongs to.
  /// Its only seed is at kPeerControl, when it has any.
  explicit BareNode(int expect = 0, ClusterId cluster = ClusterId(), crdt::Records raft = {},
                    bool has_seed = false, crdt::Capacity capacity = {}) {
    NodeOptions options = options_of(expect);
    options.hardware.capacity = std::move(capacity);
    if (has_seed) {
      options.addresses.seeds = {kPeerControl};
    }
    start(std::move(options), cluster, std::move(raft));
  }
  /// It founds a cluster of its own, has one GPU, and runs as that login.
  explicit BareNode(Login login) {
    NodeOptions options = options_of(1);
    options.clients.login = std::move(login);
    options.hardware.capacity.gpu_type = "H100";
    options.hardware.capacity.gpus.resize(1);
    options.hardware.capacity.gpus[0].uuid = "GPU-1";
    options.hardware.capacity.gpus[0].healthy = true;
    start(std::move(options), ClusterId(), {});
  }
  /// It founds a cluster of its own, whose administrator has that key.
  explicit BareNode(const gossip::SshKeyLine& admin_key) {
    NodeOptions options = options_of(1);
    options.credentials.first_admin_key = to_line(admin_key);
    start(std::move(options), ClusterId(), {});
  }
  /// It just joined kCluster, and its join brought these rows.
  explicit BareNode(std::vector<crdt::RowOf> rows) {
    NodeOptions options = options_of(0);
    options.credentials.rows = std::move(rows);
    start(std::move(options), kCluster, {});
  }

  /// The same as with `rows`, with these options: see options_of().
  BareNode(NodeOptions options, ClusterId cluster) { start(std::move(options), cluster, {}); }

  Node& node() { return *node_; }
  void feed(Node::Input input) {
    node_->step(now_, std::move(input));
    collect();
  }
  void receive(std::string bytes) {
    const gossip::Sender sender = sender_of(bytes);
    feed(gossip::Received{kRoute, gossip::Channel::kControl, std::move(bytes), {}, sender});
  }
  /// On the connection of that host, whatever the bytes say.
  void receive_from(HostId host, std::string bytes) {
    feed(gossip::Received{kRoute,
                          gossip::Channel::kControl,
                          std::move(bytes),
                          {},
                          {gossip::Sender::Kind::kHost, host}});
  }
  /// These hosts are members from now on.
  void vouch(const std::vector<HostId>& hosts) {
    crdt::RowsBody rows;
    for (const HostId host : hosts) {
      const auto [id, field] = record(host);
      rows.rows.push_back({id, {}});
      rows.rows[0].row.fields[static_cast<std::uint32_t>(crdt::FieldId::kRoll)] = field;
      receive(gossip::encode(envelope(gossip::MessageType::kRows, node_->cluster()),
                             crdt::encode(rows)));
      rows.rows.clear();
    }
  }
  /// On a link that the node dialled itself.
  void receive_on(const gossip::Endpoint& link, std::string bytes) {
    const gossip::Sender sender = sender_of(bytes);
    feed(gossip::Received{gossip::Route(), gossip::Channel::kControl, std::move(bytes), link,
                          sender});
  }
  /// It asked to end, or to be started again with a higher generation.
  bool has_exited() const { return exited_; }
  void pass(Duration time) {
    const Instant end = now_ + time;
    while (node_->next_deadline() <= end) {
      now_ = std::max(now_, node_->next_deadline());
      node_->tick(now_);
      collect();
    }
    now_ = end;
  }

  /// An envelope as the peer of the same cluster would write it.
  static gossip::Envelope envelope(gossip::MessageType type, ClusterId cluster = kCluster) {
    gossip::Envelope envelope;
    envelope.version = kProtocolVersion;
    envelope.type = type;
    envelope.cluster = cluster;
    envelope.from = kPeer;
    envelope.generation = Generation(1);
    envelope.nonce = Nonce(9);
    return envelope;
  }
  /// The answer to a client that asks `request`; nullopt if there was no answer.
  std::optional<Response> ask(const Request& request) { return ask_bytes(encode(request)); }
  std::optional<Response> ask_bytes(const std::string& body) {
    return ask_as({gossip::Sender::Kind::kLogin}, body);
  }
  /// The same, of that sender.
  std::optional<Response> ask_as(const gossip::Sender& sender, const std::string& body) {
    gossip::Envelope asked;
    asked.version = kProtocolVersion;
    asked.type = gossip::MessageType::kRequest;
    asked.nonce = Nonce(4);
    asked.from = sender.host;
    transport.clear();
    feed(gossip::Received{
        kRoute, gossip::Channel::kControl, gossip::encode(asked, body), {}, sender});
    for (const gossip::TransportOutput& each : transport) {
      const auto* reply = std::get_if<gossip::Reply>(&each);
      if (reply != nullptr && reply->route == kRoute) {
        const Result<gossip::Message> message = gossip::decode(reply->bytes);
        return message.has_value() ? decode_response(message->body()) : std::nullopt;
      }
    }
    return std::nullopt;
  }
  const crdt::Records& records(crdt::Environment environment) { return disk_[environment]; }
  std::size_t count(std::string_view event) const {
    return static_cast<std::size_t>(std::count_if(
        events.begin(), events.end(), [&](const Event& each) { return each.name == event; }));
  }

  std::vector<gossip::TransportOutput> transport;
  std::vector<Event> events;
  /// The output that it asked its loop for.
  std::vector<ReadOutput> reads;
  /// The answers that it gave its edge about certificates of HTTPS.
  std::vector<CertificateAnswer> certificates;
  /// The counters that the loop of the node would tell.
  StatsInfo stats;
  /// By which output of the node each part of the disk was written. The writes of one output may be
  /// synced in any order.
  std::vector<std::pair<int, crdt::Environment>> written;

  /// `expect`: as for a constructor.
  static NodeOptions options_of(int expect) {
    NodeOptions options;
    options.self = kSelf;
    options.credentials.signer = gossip::testing::signer_of(kSelf);
    options.credentials.link_seed = std::string(kSelf.bytes());
    options.credentials.key_maker = std::make_shared<gossip::testing::StandInKeyMaker>(kSelf);
    options.credentials.verifier = std::make_shared<gossip::testing::StandInVerifier>();
    options.credentials.authority_signer = gossip::testing::signer_of(crdt::testing::kAuthority);
    options.credentials.authority_secret = std::string(crdt::testing::kAuthority.bytes());
    options.credentials.authority = std::string(crdt::testing::kAuthority.bytes());
    options.credentials.http_signer = std::make_shared<StandInHttpSigner>();
    options.credentials.records = {record(kSelf, expect), record(kPeer)};
    options.credentials.first_admin = kAdmin;
    options.start = {Generation(1), StartId(11)};
    options.name = "self";
    options.boot_id = "boot";
    options.addresses.control = kSelfControl;
    options.addresses.bulk = gossip::Endpoint::ipv4(10, 0, 0, 1, 7451);
    return options;
  }

 private:
  void start(NodeOptions options, ClusterId cluster, crdt::Records raft) {
    Recovered recovered;
    recovered.raft = std::move(raft);
    if (!cluster.is_zero()) {
      recovered.id["cluster"] = std::string(cluster.bytes());
    }
    node_.emplace(std::move(options), recovered, Rng(5), now_);
    collect();
    feed(SupervisorReport{SupervisorsScanned{}});
  }

  void collect() {
    Node::Output output = node_->take_output();
    ++outputs_;
    std::move(output.transport.begin(), output.transport.end(), std::back_inserter(transport));
    std::move(output.events.begin(), output.events.end(), std::back_inserter(events));
    for (const Persist& persist : output.persists) {
      written.emplace_back(outputs_, persist.environment);
      for (const crdt::Write& write : persist.writes) {
        crdt::Records& image = disk_[persist.environment];
        image.erase(write.key);
        if (write.value.has_value()) {
          image[write.key] = *write.value;
        }
      }
      if (persist.id != 0) {
        feed(Persisted{persist.id});
      }
    }
    for (crdt::RowsToCheck& check : output.checks) {
      feed(checker_.check(std::move(check)));
    }
    reads.insert(reads.end(), output.reads.begin(), output.reads.end());
    if (output.certificate.has_value()) {
      certificates.push_back(*std::move(output.certificate));
    }
    for (const ReadStats& read : output.stats_reads) {
      feed(StatsRead{read.request, stats});
    }
    exited_ = exited_ || output.exit || output.raise_to.has_value();
    node_->check_invariants();
  }

  static std::pair<HostId, crdt::Field> record(HostId host, int founders = 0) {
    return {host, crdt::testing::roll_field(
                      host, crdt::testing::record_of(host, static_cast<std::uint64_t>(founders)))};
  }
  /// As if each said whose it is on a link of its own; clients on the socket of theirs.
  static gossip::Sender sender_of(const std::string& bytes) {
    const Result<gossip::Message> message = gossip::decode(bytes);
    if (!message || message->envelope().from.is_zero()) {
      return {gossip::Sender::Kind::kLogin};
    }
    return {gossip::Sender::Kind::kHost, message->envelope().from};
  }

  Instant now_{std::chrono::seconds(1000)};
  bool exited_ = false;
  int outputs_ = 0;
  gossip::testing::StandInVerifier keys_;
  crdt::RowChecker checker_{{1, std::string(crdt::testing::kAuthority.bytes())}, keys_};
  std::optional<Node> node_;
  std::map<crdt::Environment, crdt::Records> disk_;
};

}  // namespace muster::agent::testing
