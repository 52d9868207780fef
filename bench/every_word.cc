#include "bench/every_word.h"

#include <set>
#include <utility>

#include "agent/api/enrolment.h"
#include "agent/api/gpus.h"
#include "agent/api/hosts.h"
#include "agent/api/jobs.h"
#include "agent/api/output.h"
#include "agent/api/payload.h"
#include "agent/api/quorum.h"
#include "agent/api/request.h"
#include "agent/api/verbs.h"
#include "agent/edge/disk/host_key.h"
#include "crdt/rows/codec.h"
#include "gossip/edge/link_keys.h"
#include "membership/codec.h"
#include "scheduler/protocol/agent_messages.h"
#include "scheduler/raft/codec.h"
#include "scheduler/raft/first_quorum_messages.h"

namespace muster::bench {
namespace {

using agent::Verb;
using gossip::MessageType;

constexpr int kTypesMax = 256;
/// Numbers of no request: one between those of requests, and some above.
constexpr int kNoVerbs[] = {11, 99, 255};
/// No token or term in this bench comes near this number.
constexpr std::uint64_t kHigh = 1000;

const auto kStrangersToken = scheduler::AccessTokenId::from_bytes("strangers token_");

std::string joining(const Stage& stage) {
  const auto key = agent::HostKey::load_or_make({});
  agent::JoinArgs join;
  join.identity_key = std::string(key->public_key());
  join.link_key = gossip::LinkKeys::make().public_key;
  join.name = "stranger";
  join.ticket = stage.ticket;
  join.signature = key->sign(join_words(join));
  return agent::encode_payload(join);
}

std::string submitting() {
  scheduler::JobSpec spec;
  spec.name = "stranger";
  spec.command.argv = {"/bin/true"};
  return agent::encode_payload(agent::SubmitArgs{std::string(32, 'a'), spec});
}

std::string making_a_token() {
  agent::TokenArgs token;
  token.id = kStrangersToken;
  token.hash = std::string(32, 'h');
  token.label = "stranger";
  token.may_read = true;
  token.may_submit = true;
  token.ttl_ms = 3'600'000;
  return agent::encode_payload(token);
}

std::string making_an_administrator() {
  agent::DirectoryArgs change;
  change.change.users.push_back({"stranger", false, scheduler::UserRole::kAdmin});
  return agent::encode_payload(change);
}

std::string resetting_administrators() {
  const gossip::SshKey key{gossip::SshKeyType::kEd25519, std::string(gossip::kSshPointBytes, 'k'),
                           ""};
  return agent::encode_payload(agent::ResetAdminArgs{"stranger", {key, "stranger"}});
}

std::string making_a_ticket() {
  return agent::encode_payload(agent::TicketArgs{std::string(32, 't'), 9, 600'000, true, true, ""});
}

std::string entering(Verb verb) {
  return verb == Verb::kFound ? agent::encode_payload(agent::FoundArgs{})
                              : agent::encode_payload(agent::EnterArgs{"muster1.nothing"});
}

/// Of the verbs about users and their tokens.
std::string user_arguments_of(Verb verb) {
  return verb == Verb::kChangeUsers  ? making_an_administrator()
         : verb == Verb::kMakeToken  ? making_a_token()
         : verb == Verb::kResetAdmin ? resetting_administrators()
         : verb == Verb::kEndToken   ? agent::encode_payload(agent::TokenRef{kStrangersToken})
                                     : agent::encode_payload(agent::TokensQuery{true, {}});
}

std::string ticket_arguments_of(Verb verb, const Stage& stage) {
  return verb == Verb::kMakeTicket ? making_a_ticket()
                                   : agent::encode_payload(agent::TicketRef{stage.ticket});
}

/// Of the verbs by which an operator orders something about a host, its GPUs or the queues.
std::string host_order_of(Verb verb, HostId host) {
  return verb == Verb::kLeave        ? agent::encode_payload(agent::LeaveArgs{true})
         : verb == Verb::kSetQueues  ? agent::encode_payload(agent::SetQueuesArgs())
         : verb == Verb::kFence      ? agent::encode_payload(agent::FenceArgs{host})
         : verb == Verb::kDrain      ? agent::encode_payload(agent::DrainArgs{host, "stranger"})
         : verb == Verb::kRotateKeys ? agent::encode_payload(agent::RotateArgs{{}, true})
         : verb == Verb::kSetHost
             ? agent::encode_payload(agent::SetHostArgs{host, agent::Wish::kYes, agent::Wish::kYes})
             : agent::encode_payload(agent::GpuOrderArgs{host, "GPU-0", "stranger"});
}

std::string job_arguments_of(Verb verb, JobId job) {
  return verb == Verb::kRequeue ? agent::encode_payload(agent::RequeueArgs{job})
         : verb == Verb::kEdit  ? agent::encode_payload(agent::EditArgs{job, 9})
                                : agent::encode_payload(agent::JobRef{job});
}

std::string other_arguments_of(Verb verb, HostId host) {
  return verb == Verb::kOutput ? agent::encode_payload(agent::OutputQuery{Token(1)})
         : verb == Verb::kChangeQuorum
             ? agent::encode_payload(agent::QuorumWish{agent::QuorumAction::kRemove, host})
         : verb == Verb::kRecover ? agent::encode_payload(agent::RecoverArgs{})
                                  : agent::encode_payload(agent::CertifyArgs());
}

/// The most harmful request of that verb.
std::string arguments_of(Verb verb, const Stage& stage) {
  const HostId host = stage.hosts.front();
  switch (verb) {
    case Verb::kSubmit:
    case Verb::kDryRun:
      return submitting();
    case Verb::kOutput:
    case Verb::kChangeQuorum:
    case Verb::kRecover:
    case Verb::kCertify:
      return other_arguments_of(verb, host);
    case Verb::kLeave:
    case Verb::kFence:
    case Verb::kDrain:
    case Verb::kRotateKeys:
    case Verb::kSetHost:
    case Verb::kMaskGpu:
    case Verb::kUnmaskGpu:
    case Verb::kSetQueues:
      return host_order_of(verb, host);
    case Verb::kFound:
    case Verb::kEnter:
    case Verb::kJoin:
      return verb == Verb::kJoin ? joining(stage) : entering(verb);
    case Verb::kMakeTicket:
    case Verb::kEndTicket:
      return ticket_arguments_of(verb, stage);
    case Verb::kChangeUsers:
    case Verb::kMakeToken:
    case Verb::kEndToken:
    case Verb::kResetAdmin:
    case Verb::kTokens:
      return user_arguments_of(verb);
    case Verb::kWhyHost:
    case Verb::kHostDetail:
    case Verb::kUndrain:
    case Verb::kRemoveHost:
    case Verb::kRevokeHost:
      return agent::encode_payload(agent::HostRef{host});
    case Verb::kCancel:
    case Verb::kShow:
    case Verb::kWhy:
    case Verb::kSuspend:
    case Verb::kResume:
    case Verb::kRequeue:
    case Verb::kEdit:
      return job_arguments_of(verb, JobId(1));
    case Verb::kVersion:
    case Verb::kHosts:
    case Verb::kQuorum:
    case Verb::kEvents:
    case Verb::kJobs:
    case Verb::kHostUses:
    case Verb::kTickets:
    case Verb::kKeys:
    case Verb::kStats:
    case Verb::kWhoami:
    case Verb::kUsers:
    case Verb::kUsage:
    case Verb::kAudit:
    case Verb::kGpus:
    case Verb::kGpuBoard:
    case Verb::kQueues:
    case Verb::kShares:
    case Verb::kHttpRoot:
      break;
  }
  return "";
}

Word request_of(int verb, const Stage& stage) {
  agent::Request request;
  request.verb = static_cast<Verb>(verb);
  request.target = stage.hosts.front();
  request.user = "root";
  request.arguments = arguments_of(request.verb, stage);
  return {"Request " + std::to_string(verb), MessageType::kRequest, encode(request),
          request.verb == Verb::kJoin};
}

void add_requests(const Stage& stage, std::vector<Word>& words) {
  for (const agent::VerbRow& row : agent::verbs::kTable) {
    const int verb = static_cast<int>(row.verb);
    words.push_back(request_of(verb, stage));
    if (row.verb == Verb::kJoin) {
      continue;
    }
    agent::Request passed_on;
    passed_on.verb = row.verb;
    passed_on.consistent = true;
    passed_on.arguments = arguments_of(passed_on.verb, stage);
    passed_on.via = stage.host_name;
    passed_on.node = stage.host_name;
    words.push_back({"Request " + std::to_string(verb) + " for " + stage.host_name,
                     MessageType::kRequest, encode(passed_on)});
  }
  for (const int verb : kNoVerbs) {
    words.push_back(request_of(verb, stage));
  }
}

void add_membership(const Stage& stage, std::vector<Word>& words) {
  using membership::Body;
  const HostId host = stage.hosts.back();
  for (const Body& body :
       {Body(membership::Probe{}), Body(membership::Ack{{}, Sequence(kHigh)}),
        Body(membership::Call{host, Generation(1)}), Body(membership::Veto{host, Generation(1)}),
        Body(membership::Accuse{Generation(1), crdt::ClaimKind::kSilent})}) {
    words.push_back({"membership", type_of(body), encode(body)});
  }
}

void add_rows(const Stage& stage, std::vector<Word>& words) {
  crdt::RowsBody question;
  question.want_all = true;
  question.want = stage.hosts;
  question.complete = true;
  question.audit = 1;
  words.push_back({"Rows, a question", MessageType::kRows, encode(question)});
  crdt::RowsBody forged;
  crdt::Row row;
  row.full_from = Generation(kHigh);
  row.fields[static_cast<std::uint32_t>(crdt::FieldId::kEvidence)] = {
      {Generation(kHigh), Sequence(1)}, "\x91\x90", std::string(64, 's')};
  forged.rows = {{stage.hosts.back(), row}};
  words.push_back({"Rows, a forged one", MessageType::kRows, encode(forged)});
}

void add_raft(const Stage& stage, std::vector<Word>& words) {
  using scheduler::RaftMessage;
  const Term term(kHigh);
  scheduler::VoteRequest vote;
  vote.term = term;
  vote.last = {LogIndex(kHigh), term};
  vote.transfer = true;
  scheduler::AppendRequest append;
  append.term = term;
  scheduler::SnapshotChunk chunk;
  chunk.term = term;
  scheduler::AppendReply matched;
  matched.term = term;
  scheduler::SnapshotAck taken;
  taken.term = term;
  for (const RaftMessage& message :
       {RaftMessage(vote), RaftMessage(scheduler::VoteReply{term, false, true}),
        RaftMessage(append), RaftMessage(matched), RaftMessage(chunk), RaftMessage(taken),
        RaftMessage(scheduler::TimeoutNow{term})}) {
    words.push_back({"raft", type_of(message), encode(message)});
  }
  const scheduler::QuorumProposal proposal{stage.cluster, {stage.hosts.front()}};
  using scheduler::QuorumMessage;
  for (const QuorumMessage& message :
       {QuorumMessage(scheduler::QuorumPropose{proposal}),
        QuorumMessage(scheduler::QuorumPromise{stage.cluster, scheduler::PromiseAnswer::kPromised}),
        QuorumMessage(scheduler::QuorumForm{proposal})}) {
    words.push_back({"first quorum", type_of(message), encode(message)});
  }
}

void add_agent(const Stage& stage, std::vector<Word>& words) {
  using scheduler::AgentMessage;
  const Token token(kHigh);
  scheduler::Hello hello;
  hello.name = stage.host_name;
  scheduler::HelloReply reply;
  reply.kill = {Token(1)};
  scheduler::Assign assign;
  assign.token = token;
  scheduler::Renew renew;
  renew.tokens = {Token(1)};
  const scheduler::RelayedRenew relayed{stage.hosts.front(), Nonce(1), renew};
  for (const AgentMessage& message :
       {AgentMessage(hello), AgentMessage(reply), AgentMessage(assign),
        AgentMessage(scheduler::Ready{token, {}, {}}),
        AgentMessage(scheduler::Refuse{Token(1), {}, "no"}),
        AgentMessage(scheduler::Start{Token(1), {}, {}}),
        AgentMessage(scheduler::Stop{Token(1), {}, {}, "no"}),
        AgentMessage(scheduler::Finish{Token(1), {}, {}}),
        AgentMessage(scheduler::FinishAck{Token(1)}), AgentMessage(renew),
        AgentMessage(scheduler::RenewAck{{Token(1)}}),
        AgentMessage(scheduler::RelayedRenews{{relayed}}),
        AgentMessage(scheduler::RelayedAcks{{{stage.hosts.front(), Nonce(1), {{Token(1)}}}}}),
        AgentMessage(scheduler::GpuOrders{{}, {{"GPU-0", true, "no", "stranger", 0, Token(1)}}}),
        AgentMessage(scheduler::GpuOrdersAck{{}, Token(1)})}) {
    words.push_back({"agent", type_of(message), encode(message)});
  }
}

/// Whether each login gets an answer to this verb.
bool is_for_everybody(Verb verb) {
  static const std::set<Verb> kOpen = {
      Verb::kVersion, Verb::kHosts, Verb::kQuorum, Verb::kWhyHost, Verb::kHostUses, Verb::kKeys,
      Verb::kFound,   Verb::kEnter, Verb::kJoin,   Verb::kWhoami,  Verb::kHttpRoot};
  return kOpen.contains(verb);
}

Word asked(Verb verb) {
  agent::Request request;
  request.verb = verb;
  return {"Request " + std::to_string(static_cast<int>(verb)), MessageType::kRequest,
          encode(request)};
}

}  // namespace

std::vector<Word> every_word(const Stage& stage) {
  std::vector<Word> words;
  add_membership(stage, words);
  add_rows(stage, words);
  add_raft(stage, words);
  add_agent(stage, words);
  add_requests(stage, words);
  words.push_back({"Response", MessageType::kResponse, encode(agent::Response{})});
  std::set<int> said;
  for (const Word& word : words) {
    said.insert(static_cast<int>(word.type));
  }
  for (int type = 0; type < kTypesMax; ++type) {
    if (!said.contains(type)) {
      words.push_back({"type " + std::to_string(type), static_cast<MessageType>(type),
                       gossip::Encoder().array(0).take()});
    }
  }
  return words;
}

std::vector<Word> orders_of_a_login(const Stage& stage, HostId speaker, HostId asked) {
  std::vector<Word> words;
  for (const agent::VerbRow& row : agent::verbs::kTable) {
    agent::Request request;
    request.verb = row.verb;
    if (is_for_everybody(request.verb)) {
      continue;
    }
    request.user = "root";
    request.via = stage.host_name;
    request.arguments = request.verb == Verb::kRecover
                            ? agent::encode_payload(agent::RecoverArgs{true, {}, {}})
                            : arguments_of(request.verb, stage);
    const std::string name = "Request " + std::to_string(static_cast<int>(row.verb));
    for (const HostId target : {HostId(), speaker, asked}) {
      request.target = target;
      words.push_back({name, MessageType::kRequest, encode(request)});
    }
    request.target = HostId();
    request.node = stage.host_name;
    words.push_back({name + " for " + stage.host_name, MessageType::kRequest, encode(request)});
  }
  return words;
}

std::vector<Word> harmless_words() {
  std::vector<Word> words = {
      {"Probe", MessageType::kProbe, encode(membership::Body(membership::Probe{}))}};
  for (const Verb verb : {Verb::kVersion, Verb::kHosts, Verb::kJobs, Verb::kTickets}) {
    words.push_back(asked(verb));
  }
  return words;
}

}  // namespace muster::bench
