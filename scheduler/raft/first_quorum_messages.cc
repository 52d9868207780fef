#include "scheduler/raft/first_quorum_messages.h"

#include <utility>

#include "gossip/wire/message_table.h"
#include "scheduler/raft/codec.h"

namespace muster::scheduler {
namespace {

using gossip::Encoder;
using gossip::MessageType;
using gossip::Reader;

void write(Encoder& out, const QuorumProposal& proposal) {
  out.id(proposal.cluster);
  write_voters(out, proposal.voters);
}

QuorumProposal read_proposal(Reader& in) {
  QuorumProposal proposal;
  proposal.cluster = in.id<ClusterId>();
  Reader voters = in.array();
  proposal.voters = read_voters(voters);
  if (proposal.voters.empty() || proposal.cluster.is_zero()) {
    in.fail();
  }
  return proposal;
}

std::string body_of(const QuorumPropose& message) {
  Encoder out;
  write(out.array(2), message.proposal);
  return out.take();
}

std::string body_of(const QuorumForm& message) {
  Encoder out;
  write(out.array(2), message.proposal);
  return out.take();
}

std::string body_of(const QuorumPromise& message) {
  return Encoder()
      .array(2)
      .id(message.cluster)
      .u64(static_cast<std::uint64_t>(message.answer))
      .take();
}

/// Calls `read` with the record's elements. True if there is no record, false if it is unreadable.
template <class Read>
bool read_record(const crdt::Records& records, std::string_view key, Read read) {
  const auto found = records.find(std::string(key));
  if (found == records.end()) {
    return true;
  }
  const Result<gossip::Document> document = gossip::Document::parse(found->second);
  if (!document) {
    return false;
  }
  Reader in = document->root();
  read(in);
  return in.ok();
}

Error unreadable(std::string_view key) {
  return Error{ErrorCode::kCorrupt, "record '" + std::string(key) + "' is unreadable"};
}

QuorumMessage read_propose(Reader& in) {
  return QuorumPropose{read_proposal(in)};
}

QuorumMessage read_promise(Reader& in) {
  const auto cluster = in.id<ClusterId>();
  return QuorumPromise{cluster, static_cast<PromiseAnswer>(in.u64_at_most(2))};
}

QuorumMessage read_form(Reader& in) {
  return QuorumForm{read_proposal(in)};
}

constexpr gossip::BodyReader<QuorumMessage> kFirstReaders[] = {
    {MessageType::kPropose, read_propose},
    {MessageType::kPromise, read_promise},
    {MessageType::kForm, read_form},
};
static_assert(gossip::reads_all_of<gossip::Owner::kFirstQuorum>(kFirstReaders));

}  // namespace

MessageType type_of(const QuorumMessage& message) {
  static constexpr MessageType kTypes[] = {MessageType::kPropose, MessageType::kPromise,
                                           MessageType::kForm};
  static_assert(std::size(kTypes) == std::variant_size_v<QuorumMessage>);
  return kTypes[message.index()];
}

std::string encode(const QuorumMessage& message) {
  return std::visit([](const auto& body) { return body_of(body); }, message);
}

std::optional<QuorumMessage> decode_quorum_message(MessageType type, Reader body) {
  return gossip::read_body(kFirstReaders, type, std::move(body));
}

Result<RecoveredQuorum> recover_quorum(const crdt::Records& records) {
  RecoveredQuorum recovered;
  QuorumProposal formed;
  const auto read_cluster = [&](Reader& in) { formed.cluster = in.id<ClusterId>(); };
  if (!read_record(records, kClusterKey, read_cluster)) {
    return unreadable(kClusterKey);
  }
  if (!read_record(records, kVotersKey, [&](Reader& in) { formed.voters = read_voters(in); })) {
    return unreadable(kVotersKey);
  }
  if (formed.cluster.is_zero() != formed.voters.empty()) {
    return unreadable(kClusterKey);
  }
  if (!formed.voters.empty()) {
    recovered.formed = std::move(formed);
  }
  if (!read_record(records, kPromiseKey,
                   [&](Reader& in) { recovered.promise = read_proposal(in); })) {
    return unreadable(kPromiseKey);
  }
  const auto read_refused = [&](Reader& in) {
    while (in.ok() && in.left() > 0) {
      recovered.refused.push_back(in.id<ClusterId>());
    }
  };
  if (!read_record(records, kRefusedKey, read_refused)) {
    return unreadable(kRefusedKey);
  }
  return recovered;
}

crdt::Write write_of_promise(const std::optional<QuorumProposal>& promise) {
  if (!promise.has_value()) {
    return {std::string(kPromiseKey), std::nullopt};
  }
  Encoder out;
  write(out.array(2), *promise);
  return {std::string(kPromiseKey), out.take()};
}

crdt::Write write_of_refused(const std::vector<ClusterId>& refused) {
  Encoder out;
  out.array(refused.size());
  for (const ClusterId& cluster : refused) {
    out.id(cluster);
  }
  return {std::string(kRefusedKey), out.take()};
}

void write_formed_to(const QuorumProposal& formed, crdt::WriteBatch& batch) {
  batch.push_back({std::string(kClusterKey), Encoder().array(1).id(formed.cluster).take()});
  batch.push_back(write_of_voters(formed.voters));
  batch.push_back(write_of_promise(std::nullopt));
}

}  // namespace muster::scheduler
