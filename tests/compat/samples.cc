#include "tests/compat/samples.h"

#include "agent/api/jobs.h"
#include "agent/api/payload.h"
#include "agent/api/request.h"
#include "agent/gang/fence.h"
#include "agent/gang/grant_record.h"
#include "agent/step/start_record.h"
#include "crdt/rows/codec.h"
#include "crdt/rows/link_cert.h"
#include "membership/codec.h"
#include "scheduler/protocol/agent_messages.h"
#include "scheduler/protocol/entry.h"
#include "scheduler/raft/codec.h"
#include "scheduler/raft/first_quorum_messages.h"
#include "scheduler/state/state.h"

namespace muster::compat {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.
using gossip::Document;
using scheduler::Member;
using scheduler::RankResult;
namespace entry = scheduler::entry;

const HostId kHost = HostId::from_bytes("host-one________");
const scheduler::AccessTokenId kAccess = scheduler::AccessTokenId::from_bytes("access-token____");
const HostId kOther = HostId::from_bytes("host-two________");
const ClusterId kSampleCluster = ClusterId::from_bytes("cluster_________");
constexpr AgentStart kStart{Generation(3), StartId(0x1122334455667788)};
constexpr Token kToken{1, 300};
const gossip::Endpoint kEndpoint = gossip::Endpoint::ipv4(10, 0, 0, 1, 7450);

scheduler::JobSpec spec() {
  scheduler::JobSpec spec;
  spec.name = "train";
  spec.user = "alice";
  spec.team = "vision";
  spec.request.gpus = 3;
  spec.request.gpu_types = {"H100", "A100"};
  spec.request.cpus = 12'000;
  spec.request.labels = {"zone=a"};
  spec.request.not_labels = {"old"};
  spec.request.hosts = {"one", "two"};
  spec.request.not_hosts = {"three"};
  spec.request.pack = scheduler::Pack::kRack;
  spec.request.pack_wait = 600s;
  spec.command.argv = {"python", "train.py"};
  spec.command.environment = {"A=1"};
  spec.command.directory = "/data";
  spec.priority = -5;
  spec.retry.retries = 2;
  spec.limits.hold = 180s;
  spec.limits.keep_when_isolated = true;
  spec.limits.time_limit = 3600s;
  spec.retry.on_lost_host = scheduler::OnLostHost::kWait;
  return spec;
}

std::vector<Member> members() {
  return {Member{kHost, kStart, {{"GPU-a", 0}, {"GPU-b", 2}}, 0, 0, 24'000, 200'000},
          Member{kOther, {Generation(1), StartId(7)}, {{"GPU-c", 0}}, 2, 1, 500, 0}};
}

std::vector<RankResult> results() {
  return {RankResult{0, RankResult::Kind::kExited, 0, false, 1000, ""},
          RankResult{1, RankResult::Kind::kSignalled, 15, true, 70'000, "why"}};
}

template <class Body, class Decode>
Sample message_sample(const std::string& name, const Body& body, Decode decode) {
  const gossip::MessageType type = type_of(body);
  return {"message/" + name, encode(body),
          [type, decode](const std::string& bytes) -> std::optional<std::string> {
            const Result<Document> document = Document::parse(bytes);
            const auto read = document ? decode(type, document->root()) : std::nullopt;
            return read ? std::optional(encode(*read)) : std::nullopt;
          }};
}

Sample membership_sample(const std::string& name, const membership::Body& body) {
  return message_sample(name, body, membership::decode_body);
}
Sample raft_sample(const std::string& name, const scheduler::RaftMessage& body) {
  return message_sample(name, body, scheduler::decode_raft_message);
}
Sample quorum_sample(const std::string& name, const scheduler::QuorumMessage& body) {
  return message_sample(name, body, scheduler::decode_quorum_message);
}
Sample agent_sample(const std::string& name, const scheduler::AgentMessage& body) {
  return message_sample(name, body, scheduler::decode_agent_message);
}

Sample entry_sample(const std::string& name, const scheduler::Entry& value) {
  return {"entry/" + name, scheduler::encode(value, 1'700'000'000'123),
          [](const std::string& bytes) -> std::optional<std::string> {
            const Result<scheduler::LoggedEntry> read = scheduler::decode_entry(bytes);
            return read ? std::optional(scheduler::encode(read->entry, read->unix_ms))
                        : std::nullopt;
          }};
}

scheduler::DirectoryChange change() {
  return {{{"vision", false, 7}},
          {{"bob", false, scheduler::UserRole::kLead, {"vision"}, {}}},
          false,
          true};
}

Sample envelope_sample() {
  gossip::Envelope envelope;
  envelope.version = 1;
  envelope.type = gossip::MessageType::kProbe;
  envelope.cluster = kSampleCluster;
  envelope.from = kHost;
  envelope.generation = Generation(3);
  envelope.nonce = Nonce(99);
  envelope.trailing = gossip::Encoder().text("newer").take();
  envelope.trailing_count = 1;
  const std::string body = gossip::Encoder().array(1).u64(5).take();
  return {"envelope", gossip::encode(envelope, body),
          [body](const std::string& bytes) -> std::optional<std::string> {
            const Result<gossip::Message> read = gossip::decode(bytes);
            return read ? std::optional(gossip::encode(read->envelope(), body)) : std::nullopt;
          }};
}

crdt::Row row() {
  crdt::Row row;
  row.full_from = Generation(3);
  row.fields[1] = {{Generation(3), Sequence(1)}, "identity"};
  row.fields[99] = {{Generation(3), Sequence(2)}, "of a newer version", std::string(64, 's')};
  return row;
}

template <class Value>
Sample field_sample(const std::string& name, const Value& value,
                    std::optional<Value> (*decode)(std::string_view)) {
  return {"row/" + name, crdt::encode(value),
          [decode](const std::string& bytes) -> std::optional<std::string> {
            const auto read = decode(bytes);
            return read ? std::optional(crdt::encode(*read)) : std::nullopt;
          }};
}

/// A record that is read with its whole environment: its writes, and what they are read as.
Sample record_sample(const std::string& name, const crdt::Write& write,
                     std::function<std::optional<std::string>(const std::string&)> reread) {
  return {"disk/" + name + " " + write.key.substr(0, write.key.find('/')), write.value.value_or(""),
          std::move(reread)};
}

agent::GrantRecord grant() {
  agent::GrantRecord record;
  record.token = kToken;
  record.state = scheduler::GrantState::kEnded;
  record.job = JobId(4);
  record.attempt = 2;
  record.spec = spec();
  record.members = members();
  record.hold = 180s;
  record.results = results();
  return record;
}

scheduler::RecoveredLog recovered(const crdt::WriteBatch& batch) {
  crdt::Records records;
  for (const crdt::Write& write : batch) {
    records[write.key] = *write.value;
  }
  Result<scheduler::RecoveredLog> log = scheduler::recover_log(records);
  return log ? *std::move(log) : scheduler::RecoveredLog();
}

/// The attempt that a grant is a share of.
scheduler::GrantDetail detail() {
  return {JobId(4), 2, spec(), members(), 180s};
}

scheduler::Hello earlier_hello() {
  scheduler::Hello hello;
  hello.start = kStart;
  hello.boot_id = "boot";
  hello.name = "name";
  hello.grants = {{kToken, scheduler::GrantState::kRunning, {}, detail()}};
  return hello;
}

scheduler::Hello stuck_hello() {
  scheduler::Hello hello;
  hello.start = kStart;
  hello.gpus = {"GPU-a", "GPU-b"};
  hello.stuck = {"GPU-b"};
  hello.has_namespaces = false;
  hello.traits = {{0}, {"arch=x86_64", "zone=a"}, "r1", "s1"};
  return hello;
}

entry::Register stuck_register() {
  entry::Register fact;
  fact.host = kHost;
  fact.start = kStart;
  fact.gpus = {"GPU-a", "GPU-b"};
  fact.stuck = {"GPU-b"};
  fact.has_namespaces = false;
  fact.traits = {{0}, {"arch=x86_64", "zone=a"}, "r1", "s1"};
  return fact;
}

agent::Request request() {
  agent::Request request;
  request.verb = agent::Verb::kCancel;
  request.arguments = agent::encode_payload(agent::JobRef{JobId(4)});
  request.user = "alice";
  request.via = "host-one";
  request.node = "host-two";
  request.access = "a line";
  request.token = scheduler::AccessTokenId::from_bytes("access token id_");
  request.signature = scheduler::PersonSignature{7, "a signature", "an order"};
  return request;
}

Sample given_up_sample() {
  return record_sample(
      "given_up", scheduler::write_of_given_up("its disk went back"), [](const std::string& bytes) {
        const auto why =
            scheduler::recover_given_up({{std::string(scheduler::kGivenUpKey), bytes}});
        return scheduler::write_of_given_up(why.value()).value;
      });
}

std::vector<Sample> agent_message_samples() {
  return {
      agent_sample("hello",
                   scheduler::Hello{kStart,
                                    "boot",
                                    "name",
                                    "H100",
                                    {"GPU-a", "GPU-b"},
                                    64,
                                    512'000,
                                    {{kToken, scheduler::GrantState::kEnded, results(), {}}},
                                    {}}),
      agent_sample("hello_stuck", stuck_hello()),
      agent_sample("hello_of_an_earlier_epoch", earlier_hello()),
      agent_sample("hello_reply",
                   scheduler::HelloReply{kStart.start_id, true, Generation(), kToken, {{1, 200}}}),
      agent_sample("hello_reply_refused",
                   scheduler::HelloReply{
                       kStart.start_id, false, Generation(8), kToken, {}, "stale generation"}),
      agent_sample("assign",
                   scheduler::Assign{kToken, kStart, JobId(4), 2, spec(), members(), 180s}),
      agent_sample("ready", scheduler::Ready{kToken, kStart, kEndpoint}),
      agent_sample("refuse", scheduler::Refuse{kToken, kStart, "stale token"}),
      agent_sample("start", scheduler::Start{kToken, kStart, kEndpoint}),
      agent_sample("stop", scheduler::Stop{kToken, kStart, 10s, "cancelled"}),
      agent_sample("finish", scheduler::Finish{kToken, kStart, results(), true}),
      agent_sample("finish_withheld",
                   scheduler::Finish{kToken, kStart, results(), true, {"GPU-1"}}),
      agent_sample("finish_ack", scheduler::FinishAck{kToken}),
      agent_sample("renew", scheduler::Renew{kStart, {kToken}}),
      agent_sample("renew_unstarted",
                   scheduler::Renew{kStart, {kToken}, std::vector<Token>{kToken}}),
      agent_sample("renew_ack", scheduler::RenewAck{{kToken}}),
      agent_sample(
          "relayed_renews",
          scheduler::RelayedRenews{{{kHost, Nonce(77), scheduler::Renew{kStart, {kToken}}}}}),
      agent_sample("relayed_acks",
                   scheduler::RelayedAcks{{{kHost, Nonce(77), scheduler::RenewAck{{kToken}}}}}),
      agent_sample("gpu_orders",
                   scheduler::GpuOrders{
                       kStart, {{"GPU-a", true, "fan 3", "ann@a", 1'700'000'000'000, kToken}}}),
      agent_sample("gpu_orders_ack", scheduler::GpuOrdersAck{kStart, kToken}),
  };
}

}  // namespace

scheduler::Configuration some_configuration() {
  return scheduler::founding({kHost}).with_learner({kOther, SeatId(77)});
}

std::vector<Sample> message_samples() {
  const scheduler::LogPosition position{LogIndex(300), Term(4)};
  const scheduler::QuorumProposal proposal{kSampleCluster, {kHost, kOther}};
  std::vector<Sample> samples = {
      envelope_sample(),
      {"message/request", agent::encode(request()),
       [](const std::string& bytes) -> std::optional<std::string> {
         const Result<Document> document = Document::parse(bytes);
         const auto read = document ? agent::decode_request(document->root()) : std::nullopt;
         return read ? std::optional(agent::encode(*read)) : std::nullopt;
       }},
      membership_sample("probe", membership::Probe()),
      membership_sample("ack", membership::Ack{250ms, Sequence(9)}),
      membership_sample("call", membership::Call{kHost, Generation(3)}),
      membership_sample("veto", membership::Veto{kHost, Generation(3)}),
      membership_sample("accuse", membership::Accuse{Generation(3), crdt::ClaimKind::kRefused}),
      raft_sample("vote_request", scheduler::VoteRequest{Term(4), true, position, 9, true}),
      raft_sample("vote_reply", scheduler::VoteReply{Term(4), true, true, 9, SeatId(77)}),
      raft_sample("append_request",
                  scheduler::AppendRequest{
                      Term(5),
                      9,
                      2,
                      position,
                      LogIndex(299),
                      {{Term(5), scheduler::LogEntryKind::kCommand, "command"}, {Term(5), {}, ""}},
                      LogIndex(298),
                      {}}),
      raft_sample(
          "append_reply",
          scheduler::AppendReply{
              Term(4),
              9,
              2,
              false,
              LogIndex(0),
              position,
              SeatId(77),
              2,
              scheduler::Answer{position, true, {Term(4), position, true}, {kHost}, {kOther}},
              {}}),
      raft_sample("append_request_agreed", scheduler::AppendRequest{Term(5),
                                                                    9,
                                                                    2,
                                                                    position,
                                                                    LogIndex(299),
                                                                    {},
                                                                    LogIndex(298),
                                                                    {1, LogIndex(200), 77},
                                                                    LogIndex(301)}),
      raft_sample(
          "append_reply_state",
          scheduler::AppendReply{
              Term(4), 9, 2, true, LogIndex(300), {}, SeatId(77), 2, {}, {1, LogIndex(200), 77}}),
      raft_sample("snapshot_chunk", scheduler::SnapshotChunk{Term(4), 9, position,
                                                             some_configuration(), 10, 5, "state"}),
      raft_sample("snapshot_ack",
                  scheduler::SnapshotAck{Term(4), 9, LogIndex(300), 5, LogIndex(300), SeatId(77)}),
      raft_sample("timeout_now", scheduler::TimeoutNow{Term(4)}),
      quorum_sample("propose", scheduler::QuorumPropose{proposal}),
      quorum_sample("promise",
                    scheduler::QuorumPromise{kSampleCluster, scheduler::PromiseAnswer::kPromised}),
      quorum_sample("form", scheduler::QuorumForm{proposal}),
  };
  for (Sample& sample : agent_message_samples()) {
    samples.push_back(std::move(sample));
  }
  return samples;
}

entry::Submit array() {
  entry::Submit fact{"array", spec(), "host-one"};
  fact.spec.array = scheduler::ArrayRange{5, 99, 2};
  return fact;
}

entry::Submit in_queue() {
  entry::Submit fact{"queued", spec(), {"bob@host-one", "bob", kHost}};
  fact.spec.queue = "research/nlp";
  fact.spec.tier = scheduler::Tier::kBatch;
  return fact;
}

entry::SetQueues queues() {
  using scheduler::Tier;
  const scheduler::QueueNode research{
      "research",          3, {{"h100", 8}}, {{"gpus", 16}}, {Tier::kStandard, Tier::kBatch},
      {"@vision", "alice"}};
  const scheduler::QueueNode nlp{"research/nlp", 1, {}, {}, {}, {}, true, 12h};
  return {0, {168h, {research, nlp}}, {{"old", "research/nlp"}}, {"bob@host-one", "bob", kHost}};
}

entry::MakeAccessToken access_token() {
  return {kAccess, std::string(32, 'h'),          "ci", {true, true}, "vision",
          24h,     {"ann@host-one", "ann", kHost}};
}

std::vector<Sample> entry_samples() {
  return {
      entry_sample("register", entry::Register{kHost,
                                               kStart,
                                               "boot",
                                               "name",
                                               "H100",
                                               {"GPU-a", "GPU-b"},
                                               64,
                                               512'000,
                                               {{kToken, true}},
                                               {},
                                               true,
                                               {}}),
      entry_sample("register_stuck", stuck_register()),
      entry_sample("submit", entry::Submit{"key", spec(), {"bob@host-one", "bob", kHost}}),
      entry_sample("submit_array", array()),
      entry_sample("cancel", entry::Cancel{JobId(4), "bob"}),
      entry_sample("cancel_tasks", entry::Cancel{task_id(JobId(4), 3), {"bob"}, 9}),
      entry_sample("observe", entry::Observe{kHost,
                                             kStart,
                                             scheduler::Verdict::kRefused,
                                             scheduler::Health::kCordoned,
                                             {"GPU-a"},
                                             {"GPU-b"}}),
      entry_sample("tick", entry::Tick{1s}),
      entry_sample("decide", entry::Decide{JobId(4), 2, members(), 180s, 10s, 10s}),
      entry_sample("ready", entry::Ready{kToken, kHost, kStart, kEndpoint}),
      entry_sample("start", entry::Start{kToken}),
      entry_sample("stop", entry::Stop{kToken, scheduler::Cause::kTimeLimit}),
      entry_sample("finish", entry::Finish{kToken, kHost, kStart, results(), true}),
      entry_sample("finish_withheld",
                   entry::Finish{kToken, kHost, kStart, results(), true, {"GPU-1"}}),
      entry_sample("abort", entry::Abort{kToken, scheduler::Cause::kRefused, kHost}),
      entry_sample("condemn", entry::Condemn{kHost, {kToken}}),
      entry_sample("pardon", entry::Pardon{kHost, {kToken}}),
      entry_sample("expire", entry::Expire{kHost, kToken, LogIndex(310)}),
      entry_sample("suspend", entry::Suspend{JobId(4), "bob"}),
      entry_sample("resume", entry::Resume{JobId(4), "bob"}),
      entry_sample("requeue", entry::Requeue{JobId(4), 2, "bob"}),
      entry_sample("fence", entry::Fence{kHost, {"bob"}, true, {kToken}}),
      entry_sample("edit", entry::Edit{JobId(4), -3, "bob"}),
      entry_sample("drain", entry::Drain{kHost, {"bob"}, "disk", true, 60s}),
      entry_sample("undrain", entry::Undrain{kHost, "bob"}),
      entry_sample("remove_host", entry::RemoveHost{kHost, "bob"}),
      entry_sample("adopt", entry::Adopt{kHost, kStart, kToken, detail()}),
      entry_sample("stop_requeued", entry::Stop{kToken, scheduler::Cause::kRequeued}),
      entry_sample("found_directory", entry::FoundDirectory{"ann"}),
      entry_sample("change_directory",
                   entry::ChangeDirectory{change(), {"ann@host-one", "ann", kHost}}),
      entry_sample("make_access_token", access_token()),
      entry_sample("end_access_token",
                   entry::EndAccessToken{kAccess, {"ann@host-one", "ann", kHost, kAccess}}),
      entry_sample("gpu_order", entry::GpuOrder{kHost, "GPU-a", true, "fan 3", {"bob"}}),
      entry_sample("submit_in_queue", in_queue()),
      entry_sample("set_queues", queues()),
      entry_sample("abort_fenced", entry::Abort{kToken, scheduler::Cause::kFenced, kHost}),
  };
}

std::vector<Sample> state_samples() {
  entry::Register host{kHost, kStart,  "boot", "name", "H100", {"GPU-a"},
                       64,    512'000, {},     {},     true,   {}};
  entry::Submit submitted{"key", spec(), "host-one"};
  submitted.spec.request.gpus = 1;
  entry::Decide decided{JobId(1), 1, {{kHost, kStart, {{"GPU-a", 0}}, 0}}, 180s, 10s, 10s};
  scheduler::State state;
  state.apply(LogIndex(1), host);
  state.apply(LogIndex(2), submitted);
  state.apply(LogIndex(3), decided);
  const std::string plain = state.encode();
  state.apply(LogIndex(4), entry::Suspend{JobId(1), "bob"});
  const std::string ordered = state.encode();
  state.apply(LogIndex(5), array());
  state.apply(LogIndex(6), entry::Cancel{task_id(JobId(2), 7), {"bob"}, 8});
  const std::string with_array = state.encode();
  scheduler::State with_users;
  with_users.apply(LogIndex(1), entry::FoundDirectory{"ann"});
  with_users.apply(LogIndex(2), entry::ChangeDirectory{change(), {"ann@host-one", "ann", kHost}});
  const std::string users = with_users.encode();
  with_users.apply(LogIndex(3), access_token());
  scheduler::State with_queues;
  entry::SetQueues set = queues();
  set.moves.clear();
  with_queues.apply(LogIndex(1), std::move(set));
  with_queues.apply(LogIndex(2), in_queue());
  const auto reread = [](const std::string& bytes) -> std::optional<std::string> {
    const Result<scheduler::State> read = scheduler::State::decode(bytes);
    return read ? std::optional(read->encode()) : std::nullopt;
  };
  return {{"state/plain", plain, reread},
          {"state/ordered", ordered, reread},
          {"state/array", with_array, reread},
          {"state/users", users, reread},
          {"state/tokens", with_users.encode(), reread},
          {"state/queues", with_queues.encode(), reread}};
}

std::vector<Sample> row_samples() {
  crdt::RowsBody rows;
  rows.want_all = true;
  rows.want = {kOther};
  rows.rows = {{kHost, row()}};
  rows.digests = {{kHost, 0x1234}};
  rows.complete = true;
  rows.audit = 0x5678;
  const crdt::Identity identity{"name", kEndpoint, kEndpoint, kStart.start_id,
                                "boot", "rack",    "0.1.0",   true};
  crdt::Identity with_https = identity;
  with_https.https = kEndpoint;
  const crdt::LinkCert link{
      "base", 3, "key", "next", 2, {"signing key", "signature"}, {"signing key 2", "signature 2"}};
  const crdt::Capacity capacity{"H100", {{"GPU-a", true}, {"GPU-b", false}}, 64, 512'000, true};
  return {
      {"message/rows", crdt::encode(rows),
       [](const std::string& bytes) -> std::optional<std::string> {
         const Result<Document> document = Document::parse(bytes);
         const auto read = document ? crdt::decode_rows(document->root()) : std::nullopt;
         return read ? std::optional(crdt::encode(*read)) : std::nullopt;
       }},
      {"row/whole", crdt::encode_row(row()),
       [](const std::string& bytes) -> std::optional<std::string> {
         const auto read = crdt::decode_row(bytes);
         return read ? std::optional(crdt::encode_row(*read)) : std::nullopt;
       }},
      field_sample<crdt::Identity>("identity", identity, crdt::decode_identity),
      field_sample<crdt::Identity>("identity_with_https", with_https, crdt::decode_identity),
      field_sample<crdt::Capacity>("capacity", capacity, crdt::decode_capacity),
      field_sample<crdt::QuorumView>("quorum",
                                     {Term(4), kHost, {kHost, kOther}, LogIndex(300), {}, 7},
                                     crdt::decode_quorum_view),
      field_sample<crdt::LinkCert>("link", link, crdt::decode_link_cert),
      field_sample<crdt::AuthorityView>("authority", {{{2, "key", "signature"}}, 2},
                                        crdt::decode_authority_view),
      {"row/observers", crdt::encode_observers({kHost, kOther}),
       [](const std::string& bytes) -> std::optional<std::string> {
         const auto read = crdt::decode_observers(bytes);
         return read ? std::optional(crdt::encode_observers(*read)) : std::nullopt;
       }},
      {"row/evidence",
       crdt::encode_evidence({{kOther, Generation(2), crdt::ClaimKind::kRefused, true}}),
       [](const std::string& bytes) -> std::optional<std::string> {
         const auto read = crdt::decode_evidence(bytes);
         return read ? std::optional(crdt::encode_evidence(*read)) : std::nullopt;
       }},
  };
}

std::vector<Sample> disk_samples() {
  const auto same = [](const std::string& bytes) { return std::optional(bytes); };
  const crdt::Write hard = scheduler::write_of(scheduler::HardState{Term(4), kHost});
  const crdt::Write voters = scheduler::write_of_voters({kHost, kOther});
  const scheduler::Configuration configuration = some_configuration();
  const crdt::Write logged =
      scheduler::write_of(LogIndex(1), {Term(4), scheduler::LogEntryKind::kCommand, "command"});
  crdt::WriteBatch fence;
  agent::Fence().raise({"GPU-a", 2}, kToken, fence);
  const agent::StartRecord start = agent::next_start({}, StartId(7));
  crdt::Root root;
  root.add("key", crdt::seal("key", "payload"));
  const scheduler::QuorumProposal proposal{kSampleCluster, {kHost, kOther}};
  return {
      record_sample("hard_state", hard,
                    [voters](const std::string& bytes) {
                      return scheduler::write_of(
                                 recovered({{std::string(scheduler::kHardStateKey), bytes}, voters})
                                     .hard_state)
                          .value;
                    }),
      record_sample("voters", voters,
                    [hard](const std::string& bytes) {
                      return scheduler::write_of_voters(
                                 recovered({hard, {std::string(scheduler::kVotersKey), bytes}})
                                     .snapshot.configuration.voter_hosts())
                          .value;
                    }),
      record_sample(
          "configuration",
          {std::string(scheduler::kConfigurationKey), scheduler::encode(configuration)},
          [hard](const std::string& bytes) -> std::optional<std::string> {
            const auto log = recovered({hard, {std::string(scheduler::kConfigurationKey), bytes}});
            return scheduler::encode(log.snapshot.configuration);
          }),
      given_up_sample(),
      record_sample("seat", scheduler::write_of(SeatId(77)),
                    [hard](const std::string& bytes) {
                      return scheduler::write_of(
                                 recovered({hard, {std::string(scheduler::kSeatKey), bytes}}).seat)
                          .value;
                    }),
      record_sample("log_entry", logged,
                    [hard, voters, logged](const std::string& bytes) -> std::optional<std::string> {
                      const auto log = recovered({hard, voters, {logged.key, bytes}});
                      return log.entries.empty()
                                 ? std::nullopt
                                 : scheduler::write_of(LogIndex(1), log.entries.front()).value;
                    }),
      record_sample("promise", scheduler::write_of_promise(proposal), same),
      record_sample("refused", scheduler::write_of_refused({kSampleCluster}), same),
      {"disk/grant", agent::encode(grant()),
       [](const std::string& bytes) -> std::optional<std::string> {
         const auto read = agent::decode_grant(bytes);
         return read ? std::optional(agent::encode(*read)) : std::nullopt;
       }},
      record_sample("fence", fence.front(), same),
      record_sample("generation", start.writes.front(), same),
      {"disk/seal", crdt::seal("key", "payload"),
       [](const std::string& bytes) -> std::optional<std::string> {
         const auto read = crdt::unseal("key", bytes);
         return read ? std::optional(crdt::seal("key", *read)) : std::nullopt;
       }},
      {"disk/root", root.encode(),
       [](const std::string& bytes) -> std::optional<std::string> {
         const auto read = crdt::Root::decode(bytes);
         return read ? std::optional(read->encode()) : std::nullopt;
       }},
  };
}

}  // namespace muster::compat
