#pragma once
// Shared pieces of the scheduler's codecs, used by entries, messages and snapshots alike.

#include "gossip/wire/wire.h"
#include "scheduler/protocol/agent_messages.h"
#include "scheduler/protocol/host_traits.h"
#include "scheduler/protocol/job.h"
#include "scheduler/protocol/users.h"

namespace muster::scheduler {

/// Size of RankResult::detail; the writer cuts a longer one.
inline constexpr std::size_t kDetailBytesMax = 128;
/// Times in a specification lie between 0 and this: sums of them never overflow.
inline constexpr Duration kSpanMax = std::chrono::hours(24 * 366);

void write(gossip::Encoder& out, const Request& request);
void write(gossip::Encoder& out, const HostTraits& traits);
void write(gossip::Encoder& out, const SubmitShell& shell);
/// One array. It contains the shell only if that differs from the default.
void write(gossip::Encoder& out, const JobSpec& spec);
void write(gossip::Encoder& out, const Subject& subject);
void write(gossip::Encoder& out, const RankResult& result);
void write(gossip::Encoder& out, const Member& member);
/// One array: [job, attempt, spec, members, hold, ...trailing].
void write(gossip::Encoder& out, const GrantDetail& detail);
void write(gossip::Encoder& out, const gossip::Endpoint& endpoint);
void write(gossip::Encoder& out, const AgentStart& start);
void write(gossip::Encoder& out, const std::vector<std::string>& texts);
void write(gossip::Encoder& out, const std::vector<Token>& tokens);
void write(gossip::Encoder& out, const std::vector<RankResult>& results);

Request read_request(gossip::Reader& in);
HostTraits read_host_traits(gossip::Reader& in);
SubmitShell read_submit_shell(gossip::Reader& in);
JobSpec read_job_spec(gossip::Reader& in);
Subject read_subject(gossip::Reader& in);
RankResult read_rank_result(gossip::Reader& in);
Member read_member(gossip::Reader& in);
GrantDetail read_grant_detail(gossip::Reader& in);
gossip::Endpoint read_endpoint(gossip::Reader& in);
AgentStart read_agent_start(gossip::Reader& in);
/// A text longer than `bytes_max` fails the reader.
std::vector<std::string> read_texts(gossip::Reader& in, std::size_t bytes_max);
std::vector<Token> read_tokens(gossip::Reader& in);
std::vector<RankResult> read_rank_results(gossip::Reader& in);

}  // namespace muster::scheduler
