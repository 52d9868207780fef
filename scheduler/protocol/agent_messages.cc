#include "scheduler/protocol/agent_messages.h"

#include <algorithm>
#include <utility>

#include "gossip/base/generation.h"
#include "gossip/base/signing.h"
#include "gossip/wire/message_table.h"
#include "scheduler/protocol/codec.h"

namespace muster::scheduler {
namespace {

using gossip::Encoder;
using gossip::MessageType;
using gossip::Reader;

/// [token, job, attempt, spec, members, hold] of each report that has them.
void write_details(Encoder& out, const std::vector<GrantReport>& grants) {
  out.array(static_cast<std::size_t>(std::count_if(
      grants.begin(), grants.end(), [](const auto& grant) { return grant.detail.has_value(); })));
  for (const GrantReport& grant : grants) {
    if (grant.detail.has_value()) {
      out.array(3).token(grant.token);
      write(out, *grant.detail);
    }
  }
}

void read_details(Reader in, std::vector<GrantReport>& grants) {
  while (in.ok() && in.left() > 0) {
    Reader item = in.array();
    const Token token = item.token();
    GrantDetail detail = read_grant_detail(item);
    const auto report = std::find_if(grants.begin(), grants.end(),
                                     [&](const auto& grant) { return grant.token == token; });
    if (item.ok() && report != grants.end()) {
      report->detail = std::move(detail);
    }
  }
}

void write_body(Encoder& out, const Hello& hello) {
  out.array(12);
  write(out, hello.start);
  out.text(hello.boot_id).text(hello.name).text(hello.gpu_type);
  write(out, hello.gpus);
  out.u64(hello.cpus).u64(hello.memory_mb).array(hello.grants.size());
  for (const GrantReport& grant : hello.grants) {
    out.array(4).token(grant.token).u64(static_cast<std::uint64_t>(grant.state));
    write(out, grant.results);
  }
  write(out, hello.stuck);
  out.boolean(hello.has_namespaces);
  write_details(out, hello.grants);
  write(out, hello.traits);
}

Hello read_hello(Reader& in) {
  Hello hello;
  hello.start = read_agent_start(in);
  hello.boot_id = in.text();
  hello.name = in.text();
  hello.gpu_type = in.text();
  hello.gpus = read_texts(in, kUuidBytesMax);
  hello.cpus = static_cast<std::uint32_t>(in.u64_at_most(UINT32_MAX));
  hello.memory_mb = in.u64();
  Reader grants = in.array();
  while (grants.ok() && grants.left() > 0) {
    Reader item = grants.array();
    GrantReport grant;
    grant.token = item.token();
    grant.state =
        static_cast<GrantState>(item.u64_at_most(static_cast<std::uint64_t>(GrantState::kAborted)));
    grant.results = read_rank_results(item);
    hello.grants.push_back(std::move(grant));
  }
  hello.stuck = read_texts(in, kUuidBytesMax);
  hello.has_namespaces = in.boolean();
  read_details(in.array(), hello.grants);
  hello.traits = read_host_traits(in);
  return hello;
}

void write_body(Encoder& out, const HelloReply& reply) {
  out.array(reply.why.empty()     ? 6
            : reply.is_name_taken ? 8
                                  : 7)
      .num(reply.start_id)
      .boolean(reply.registered);
  out.num(reply.raise_to).token(reply.floor);
  write(out, reply.kill);
  if (!reply.why.empty()) {
    out.text(reply.why);
    if (reply.is_name_taken) {
      out.boolean(true);
    }
  }
}

HelloReply read_hello_reply(Reader& in) {
  HelloReply reply;
  reply.start_id = in.num<StartId>();
  reply.registered = in.boolean();
  reply.raise_to = Generation(in.u64_at_most(kGenerationMax));
  reply.floor = in.token();
  reply.kill = read_tokens(in);
  if (in.left() > 0) {
    reply.why = in.text();
  }
  if (in.left() > 0) {
    reply.is_name_taken = in.boolean();
  }
  return reply;
}

void write_body(Encoder& out, const Assign& assign) {
  out.array(8).token(assign.token);
  write(out, assign.start);
  out.num(assign.job).u64(assign.attempt);
  write(out, assign.spec);
  out.array(assign.members.size());
  for (const Member& member : assign.members) {
    write(out, member);
  }
  out.duration(assign.hold);
}

Assign read_assign(Reader& in) {
  Assign assign;
  assign.token = in.token();
  assign.start = read_agent_start(in);
  assign.job = in.num<JobId>();
  assign.attempt = static_cast<std::uint32_t>(in.u64_at_most(UINT32_MAX));
  assign.spec = read_job_spec(in);
  Reader members = in.array();
  std::vector<Member> list;
  while (members.ok() && members.left() > 0) {
    list.push_back(read_member(members));
  }
  assign.members = std::move(list);
  assign.hold = in.duration();
  return assign;
}

void write_body(Encoder& out, const Ready& ready) {
  out.array(4).token(ready.token);
  write(out, ready.start);
  write(out, ready.master);
}

Ready read_ready(Reader& in) {
  Ready ready;
  ready.token = in.token();
  ready.start = read_agent_start(in);
  ready.master = read_endpoint(in);
  return ready;
}

void write_body(Encoder& out, const Refuse& refuse) {
  out.array(4).token(refuse.token);
  write(out, refuse.start);
  out.text(refuse.reason);
}

Refuse read_refuse(Reader& in) {
  Refuse refuse;
  refuse.token = in.token();
  refuse.start = read_agent_start(in);
  refuse.reason = in.text();
  return refuse;
}

void write_body(Encoder& out, const Start& start) {
  out.array(4).token(start.token);
  write(out, start.start);
  write(out, start.master);
}

Start read_start(Reader& in) {
  Start start;
  start.token = in.token();
  start.start = read_agent_start(in);
  start.master = read_endpoint(in);
  return start;
}

void write_body(Encoder& out, const Stop& stop) {
  out.array(5).token(stop.token);
  write(out, stop.start);
  out.duration(stop.grace).text(stop.reason);
}

Stop read_stop(Reader& in) {
  Stop stop;
  stop.token = in.token();
  stop.start = read_agent_start(in);
  stop.grace = in.duration();
  stop.reason = in.text();
  return stop;
}

void write_body(Encoder& out, const Finish& finish) {
  out.array(finish.withheld.empty() ? 5 : 6).token(finish.token);
  write(out, finish.start);
  write(out, finish.results);
  out.boolean(finish.last);
  if (!finish.withheld.empty()) {
    write(out, finish.withheld);
  }
}

Finish read_finish(Reader& in) {
  Finish finish;
  finish.token = in.token();
  finish.start = read_agent_start(in);
  finish.results = read_rank_results(in);
  finish.last = in.boolean();
  finish.withheld = in.left() > 0 ? read_texts(in, kUuidBytesMax) : std::vector<std::string>();
  return finish;
}

void write_body(Encoder& out, const FinishAck& ack) {
  out.array(2).token(ack.token);
}

FinishAck read_finish_ack(Reader& in) {
  return FinishAck{in.token()};
}

/// Writes the elements of a Renew, and their number.
std::size_t size_of(const Renew& renew) {
  return renew.unstarted.has_value() ? 3 : 2;
}

void write_elements(Encoder& out, const Renew& renew) {
  write(out, renew.start);
  write(out, renew.tokens);
  if (renew.unstarted.has_value()) {
    write(out, *renew.unstarted);
  }
}

void write_body(Encoder& out, const Renew& renew) {
  out.array(size_of(renew));
  write_elements(out, renew);
}

Renew read_renew(Reader& in) {
  Renew renew;
  renew.start = read_agent_start(in);
  renew.tokens = read_tokens(in);
  if (in.left() > 0) {
    renew.unstarted = read_tokens(in);
  }
  return renew;
}

void write_proof(Encoder& out, const AckProof& proof) {
  out.array(3).id(proof.leader).bytes(proof.digests).bytes(proof.signature);
}

AckProof read_proof(Reader& in) {
  Reader elements = in.array();
  AckProof proof;
  proof.leader = elements.id<HostId>();
  proof.digests = elements.text(kRelayedMax * gossip::kDigestBytes);
  proof.signature = elements.text(gossip::kSignatureBytes);
  return proof;
}

/// Writes a proof only if there is one: an ack that comes from the leader directly needs none.
void write_body(Encoder& out, const RenewAck& ack) {
  out.array(ack.proof.leader.is_zero() ? 1 : 2);
  write(out, ack.tokens);
  if (!ack.proof.leader.is_zero()) {
    write_proof(out, ack.proof);
  }
}

RenewAck read_renew_ack(Reader& in) {
  RenewAck ack{read_tokens(in)};
  if (in.left() > 0) {
    ack.proof = read_proof(in);
  }
  return ack;
}

void write_body(Encoder& out, const RelayedRenews& relayed) {
  out.array(1).array(relayed.renews.size());
  for (const RelayedRenew& each : relayed.renews) {
    out.array(2 + size_of(each.renew)).id(each.host).num(each.nonce);
    write_elements(out, each.renew);
  }
}

RelayedRenews read_relayed_renews(Reader& in) {
  RelayedRenews relayed;
  Reader renews = in.array_at_most(kRelayedMax);
  while (renews.ok() && renews.left() > 0) {
    Reader item = renews.array();
    RelayedRenew each;
    each.host = item.id<HostId>();
    each.nonce = item.num<Nonce>();
    each.renew = read_renew(item);
    relayed.renews.push_back(std::move(each));
  }
  return relayed;
}

void write_body(Encoder& out, const RelayedAcks& relayed) {
  out.array(2).array(relayed.acks.size());
  for (const RelayedAck& each : relayed.acks) {
    out.array(3).id(each.host).num(each.nonce);
    write(out, each.ack.tokens);
  }
  write_proof(out, relayed.proof);
}

RelayedAcks read_relayed_acks(Reader& in) {
  RelayedAcks relayed;
  Reader acks = in.array_at_most(kRelayedMax);
  while (acks.ok() && acks.left() > 0) {
    Reader item = acks.array();
    RelayedAck each;
    each.host = item.id<HostId>();
    each.nonce = item.num<Nonce>();
    each.ack.tokens = read_tokens(item);
    relayed.acks.push_back(std::move(each));
  }
  relayed.proof = read_proof(in);
  return relayed;
}

void write_body(Encoder& out, const GpuOrders& message) {
  out.array(2);
  write(out, message.start);
  write(out, message.orders);
}

GpuOrders read_orders(Reader& in) {
  GpuOrders message;
  message.start = read_agent_start(in);
  message.orders = read_gpu_orders(in, kGpuOrdersMax);
  return message;
}

void write_body(Encoder& out, const GpuOrdersAck& ack) {
  out.array(3);
  write(out, ack.start);
  out.token(ack.heard);
}

GpuOrdersAck read_orders_ack(Reader& in) {
  GpuOrdersAck ack;
  ack.start = read_agent_start(in);
  ack.heard = in.token();
  return ack;
}

template <auto kRead>
constexpr auto kAsAgent = gossip::read_as<AgentMessage, kRead>;

constexpr gossip::BodyReader<AgentMessage> kAgentReaders[] = {
    {MessageType::kHello, kAsAgent<read_hello>},
    {MessageType::kHelloReply, kAsAgent<read_hello_reply>},
    {MessageType::kAssign, kAsAgent<read_assign>},
    {MessageType::kReady, kAsAgent<read_ready>},
    {MessageType::kRefuse, kAsAgent<read_refuse>},
    {MessageType::kStart, kAsAgent<read_start>},
    {MessageType::kStop, kAsAgent<read_stop>},
    {MessageType::kFinish, kAsAgent<read_finish>},
    {MessageType::kFinishAck, kAsAgent<read_finish_ack>},
    {MessageType::kRenew, kAsAgent<read_renew>},
    {MessageType::kRenewAck, kAsAgent<read_renew_ack>},
    {MessageType::kRelayedRenews, kAsAgent<read_relayed_renews>},
    {MessageType::kRelayedAcks, kAsAgent<read_relayed_acks>},
    {MessageType::kGpuOrders, kAsAgent<read_orders>},
    {MessageType::kGpuOrdersAck, kAsAgent<read_orders_ack>},
};
static_assert(gossip::reads_all_of<gossip::Owner::kLeader, gossip::Owner::kAgents>(kAgentReaders));

}  // namespace

MessageType type_of(const AgentMessage& message) {
  // The readers stand in the order of the variant.
  static_assert(std::size(kAgentReaders) == std::variant_size_v<AgentMessage>);
  return kAgentReaders[message.index()].type;
}

bool is_for_agent(MessageType type) {
  return gossip::is_of(gossip::Owner::kLeader, type);
}

std::string encode(const AgentMessage& message) {
  Encoder out;
  std::visit([&out](const auto& body) { write_body(out, body); }, message);
  return out.take();
}

std::optional<AgentMessage> decode_agent_message(MessageType type, Reader in) {
  return gossip::read_body(kAgentReaders, type, std::move(in));
}

}  // namespace muster::scheduler
