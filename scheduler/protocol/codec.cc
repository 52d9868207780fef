#include "scheduler/protocol/codec.h"

#include <algorithm>

#include "gossip/base/generation.h"

namespace muster::scheduler {
namespace {

constexpr std::size_t kIpBytes = 16;
constexpr std::size_t kSpecElements = 16;
constexpr std::size_t kRequestElements = 13;
constexpr std::size_t kResultElements = 6;

std::uint32_t read_u32(gossip::Reader& in) {
  return static_cast<std::uint32_t>(in.u64_at_most(UINT32_MAX));
}

std::int32_t read_i32(gossip::Reader& in) {
  const std::int64_t value = in.i64();
  if (value < INT32_MIN || value > INT32_MAX) {
    in.fail();
    return 0;
  }
  return static_cast<std::int32_t>(value);
}

/// How many elements follow those that each specification has: shell, is_held, queue, tier,
/// whether it has no time limit though its tier has one, and what it waits for. Each needs those
/// before it.
std::size_t trailing_of(const JobSpec& spec) {
  return !spec.eligibility.is_none()                       ? 6
         : spec.limits.time_limit == kNoTimeLimit          ? 5
         : !spec.queue.empty() || spec.tier != Tier::kNone ? 4
         : spec.is_held                                    ? 2
         : spec.command.shell != SubmitShell()             ? 1
                                                           : 0;
}

/// A negative time in a specification has no meaning and would underflow later sums.
Duration read_span(gossip::Reader& in) {
  const Duration span = in.duration();
  if (span < Duration::zero() || span > kSpanMax) {
    in.fail();
    return Duration::zero();
  }
  return span;
}

}  // namespace

void write(gossip::Encoder& out, const std::vector<std::string>& texts) {
  out.array(texts.size());
  for (const std::string& text : texts) {
    out.text(text);
  }
}

std::vector<std::string> read_texts(gossip::Reader& in, std::size_t bytes_max) {
  gossip::Reader list = in.array();
  std::vector<std::string> texts;
  while (list.ok() && list.left() > 0) {
    texts.push_back(list.text(bytes_max));
  }
  return texts;
}

void write(gossip::Encoder& out, const std::vector<Token>& tokens) {
  out.array(tokens.size() * 2);
  for (const Token& token : tokens) {
    out.token(token);
  }
}

std::vector<Token> read_tokens(gossip::Reader& in) {
  gossip::Reader list = in.array();
  std::vector<Token> tokens;
  while (list.ok() && list.left() > 0) {
    tokens.push_back(list.token());
  }
  return tokens;
}

void write(gossip::Encoder& out, const std::vector<RankResult>& results) {
  out.array(results.size());
  for (const RankResult& result : results) {
    write(out, result);
  }
}

std::vector<RankResult> read_rank_results(gossip::Reader& in) {
  gossip::Reader list = in.array();
  std::vector<RankResult> results;
  while (list.ok() && list.left() > 0) {
    results.push_back(read_rank_result(list));
  }
  return results;
}

/// Writes an amount that may be left to the host as the amount plus 1; 0 = left to the host.
void write(gossip::Encoder& out, const Request& request) {
  out.array(kRequestElements)
      .u64(request.gpus)
      .u64(request.gpus_per_host)
      .u64(request.ranks)
      .u64(request.ranks_per_host)
      .u64(request.cpus.has_value() ? std::uint64_t{*request.cpus} + 1 : 0)
      .u64(request.memory_mb.has_value() ? *request.memory_mb + 1 : 0);
  for (const auto* names : {&request.gpu_types, &request.labels, &request.not_labels,
                            &request.hosts, &request.not_hosts}) {
    write(out, *names);
  }
  out.u64(static_cast<std::uint64_t>(request.pack)).duration(request.pack_wait);
}

Request read_request(gossip::Reader& outer) {
  gossip::Reader in = outer.array();
  Request request;
  request.gpus = read_u32(in);
  request.gpus_per_host = read_u32(in);
  request.ranks = read_u32(in);
  request.ranks_per_host = read_u32(in);
  if (const std::uint64_t cpus = in.u64_at_most(std::uint64_t{kCpusMax} + 1); cpus != 0) {
    request.cpus = static_cast<std::uint32_t>(cpus - 1);
  }
  if (const std::uint64_t memory_mb = in.u64_at_most(kMemoryMbMax + 1); memory_mb != 0) {
    request.memory_mb = memory_mb - 1;
  }
  for (auto* names : {&request.gpu_types, &request.labels, &request.not_labels, &request.hosts,
                      &request.not_hosts}) {
    *names = read_texts(in, kNameBytesMax);
  }
  request.pack = static_cast<Pack>(in.u64_at_most(static_cast<std::uint64_t>(kPackLast)));
  request.pack_wait = read_span(in);
  return request;
}

void write(gossip::Encoder& out, const HostTraits& traits) {
  out.array(4).array(traits.islands.size());
  for (const std::uint32_t island : traits.islands) {
    out.u64(island);
  }
  write(out, traits.labels);
  out.text(traits.rack).text(traits.spine);
}

HostTraits read_host_traits(gossip::Reader& outer) {
  gossip::Reader in = outer.array();
  HostTraits traits;
  gossip::Reader islands = in.array_at_most(kHostUnitsMax);
  while (islands.ok() && islands.left() > 0) {
    traits.islands.push_back(read_u32(islands));
  }
  traits.labels = read_texts(in, kNameBytesMax);
  traits.rack = in.text();
  traits.spine = in.text();
  return traits;
}

void write(gossip::Encoder& out, const SubmitShell& shell) {
  out.array(4).u64(shell.umask).u64(shell.open_files).u64(shell.stack_bytes).u64(shell.core_bytes);
}

SubmitShell read_submit_shell(gossip::Reader& outer) {
  gossip::Reader in = outer.array();
  SubmitShell shell;
  shell.umask = static_cast<std::uint32_t>(in.u64_at_most(SubmitShell::kUmaskMax));
  shell.open_files = in.u64();
  shell.stack_bytes = in.u64();
  shell.core_bytes = in.u64();
  return shell;
}

void write(gossip::Encoder& out, const JobSpec& spec) {
  // A job with none of them has the bytes that it had before these elements existed.
  const std::size_t trailing = trailing_of(spec);
  const bool has_no_limit = spec.limits.time_limit == kNoTimeLimit;
  out.array(kSpecElements + trailing);
  out.text(spec.name).text(spec.user).text(spec.team);
  write(out, spec.request);
  write(out, spec.command.argv);
  write(out, spec.command.environment);
  out.text(spec.command.directory)
      .i64(spec.priority)
      .u64(spec.retry.retries)
      .duration(spec.limits.hold)
      .boolean(spec.limits.keep_when_isolated)
      .duration(spec.limits.grace)
      .duration(spec.limits.patience)
      .u64(static_cast<std::uint64_t>(spec.retry.on_lost_host))
      // A reader of before there were tiers takes 0 for no limit, too.
      .duration(has_no_limit ? Duration::zero() : spec.limits.time_limit);
  // Empty without an array. Else three numbers and, if task numbers have gaps, three for each run.
  out.array(spec.array.has_value() ? 3 + 3 * spec.array->runs.size() : 0);
  if (spec.array.has_value()) {
    out.u64(spec.array->first).u64(spec.array->last).u64(spec.array->at_once);
    for (const TaskRun& run : spec.array->runs) {
      out.u64(run.first).u64(run.last).u64(run.step);
    }
  }
  if (trailing >= 1) {
    write(out, spec.command.shell);
  }
  if (trailing >= 2) {
    out.boolean(spec.is_held);
  }
  if (trailing >= 4) {
    out.text(spec.queue).u64(static_cast<std::uint64_t>(spec.tier));
  }
  if (trailing >= 5) {
    out.boolean(has_no_limit);
  }
  if (trailing >= 6) {
    write(out, spec.eligibility);
  }
}

JobSpec read_job_spec(gossip::Reader& outer) {
  gossip::Reader in = outer.array();
  JobSpec spec;
  spec.name = in.text();
  spec.user = in.text();
  spec.team = in.text();
  spec.request = read_request(in);
  spec.command.argv = read_texts(in, kCommandBytesMax);
  spec.command.environment = read_texts(in, kCommandBytesMax);
  spec.command.directory = in.text();
  spec.priority = read_i32(in);
  spec.retry.retries = read_u32(in);
  spec.limits.hold = read_span(in);
  spec.limits.keep_when_isolated = in.boolean();
  spec.limits.grace = read_span(in);
  spec.limits.patience = read_span(in);
  spec.retry.on_lost_host =
      static_cast<OnLostHost>(in.u64_at_most(static_cast<std::uint64_t>(OnLostHost::kWait)));
  spec.limits.time_limit = read_span(in);
  if (gossip::Reader array = in.array(); array.size() != 0) {
    spec.array = ArrayRange{read_u32(array), read_u32(array), read_u32(array)};
    while (array.ok() && array.left() > 0 && spec.array->runs.size() < kTaskRunsMax) {
      spec.array->runs.push_back(TaskRun{read_u32(array), read_u32(array), read_u32(array)});
    }
    if (!array.ok() || !validate(*spec.array)) {
      in.fail();
    }
  }
  if (in.left() > 0) {
    spec.command.shell = read_submit_shell(in);
  }
  spec.is_held = in.left() > 0 && in.boolean();
  if (in.left() > 0) {
    spec.queue = in.text(kQueuePathBytesMax);
    spec.tier = static_cast<Tier>(in.u64_at_most(static_cast<std::uint64_t>(kTierLast)));
  }
  if (in.left() > 0 && in.boolean()) {
    spec.limits.time_limit = kNoTimeLimit;
  }
  if (in.left() > 0) {
    spec.eligibility = read_eligibility(in);
  }
  return spec;
}

void write(gossip::Encoder& out, const Subject& subject) {
  const bool is_signed = subject.signature.has_value();
  const bool has_token = is_signed || !subject.token.is_zero();
  out.array(is_signed ? 5 : has_token ? 4 : 3);
  out.text(subject.name).text(subject.user).id(subject.host);
  if (has_token) {
    out.id(subject.token);
  }
  if (is_signed) {
    write(out, *subject.signature);
  }
}

Subject read_subject(gossip::Reader& outer) {
  gossip::Reader in = outer.array();
  Subject subject;
  subject.name = in.text();
  subject.user = in.text();
  subject.host = in.id<HostId>();
  subject.token = in.left() > 0 ? in.id<AccessTokenId>() : AccessTokenId();
  if (in.left() > 0) {
    subject.signature = read_person_signature(in);
  }
  return subject;
}

void write(gossip::Encoder& out, const RankResult& result) {
  const bool has_gaps = result.lost_bytes > 0 || result.surplus_bytes > 0;
  out.array(kResultElements + (has_gaps ? 2 : 0))
      .u64(result.rank)
      .u64(static_cast<std::uint64_t>(result.kind))
      .i64(result.code)
      .boolean(result.signalled_by_us)
      .u64(result.output_bytes)
      .text(std::string_view(result.detail).substr(0, kDetailBytesMax));
  if (has_gaps) {
    out.u64(result.lost_bytes).u64(result.surplus_bytes);
  }
}

RankResult read_rank_result(gossip::Reader& outer) {
  gossip::Reader in = outer.array();
  RankResult result;
  result.rank = read_u32(in);
  result.kind = static_cast<RankResult::Kind>(
      in.u64_at_most(static_cast<std::uint64_t>(RankResult::Kind::kNotStarted)));
  result.code = read_i32(in);
  result.signalled_by_us = in.boolean();
  result.output_bytes = in.u64();
  result.detail = in.text(kDetailBytesMax);
  if (in.left() > 0) {
    result.lost_bytes = in.u64();
    result.surplus_bytes = in.u64();
  }
  return result;
}

void write(gossip::Encoder& out, const Member& member) {
  out.array(7).id(member.host);
  write(out, member.start);
  out.array(member.gpus.size() * 2);
  for (const GpuSlot& gpu : member.gpus) {
    out.text(gpu.uuid).u64(gpu.slot);
  }
  out.u64(member.first_rank).u64(member.ranks).u64(member.cpus).u64(member.memory_mb);
}

namespace {

GpuUuid read_uuid(gossip::Reader& in) {
  const std::string_view text = in.bytes();
  if (text.size() > kUuidBytesMax) {
    in.fail();
    return {};
  }
  return text;
}

}  // namespace

Member read_member(gossip::Reader& outer) {
  gossip::Reader in = outer.array();
  Member member;
  member.host = in.id<HostId>();
  member.start = read_agent_start(in);
  gossip::Reader gpus = in.array();
  member.gpus.reserve(gpus.left() / 2);
  while (gpus.ok() && gpus.left() > 0) {
    GpuSlot gpu;
    gpu.uuid = read_uuid(gpus);
    gpu.slot = read_u32(gpus);
    member.gpus.push_back(gpu);
  }
  member.first_rank = read_u32(in);
  member.ranks = read_u32(in);
  member.cpus = read_u32(in);
  member.memory_mb = in.u64_at_most(kMemoryMbMax);
  return member;
}

void write(gossip::Encoder& out, const GrantDetail& detail) {
  out.array(5).num(detail.job).u64(detail.attempt);
  write(out, detail.spec);
  out.array(detail.members.size());
  for (const Member& member : detail.members) {
    write(out, member);
  }
  out.duration(detail.hold);
}

GrantDetail read_grant_detail(gossip::Reader& outer) {
  gossip::Reader in = outer.array();
  GrantDetail detail;
  detail.job = in.num<JobId>();
  detail.attempt = read_u32(in);
  detail.spec = read_job_spec(in);
  gossip::Reader members = in.array();
  while (members.ok() && members.left() > 0) {
    detail.members.push_back(read_member(members));
  }
  detail.hold = read_span(in);
  return detail;
}

void write(gossip::Encoder& out, const gossip::Endpoint& endpoint) {
  out.array(2)
      .bytes({reinterpret_cast<const char*>(endpoint.ip.data()), endpoint.ip.size()})
      .u64(endpoint.port);
}

gossip::Endpoint read_endpoint(gossip::Reader& outer) {
  gossip::Reader in = outer.array();
  gossip::Endpoint endpoint;
  const std::string_view ip = in.bytes();
  if (ip.size() != kIpBytes) {
    outer.fail();
    return endpoint;
  }
  std::copy(ip.begin(), ip.end(), endpoint.ip.begin());
  endpoint.port = static_cast<std::uint16_t>(in.u64_at_most(UINT16_MAX));
  return endpoint;
}

void write(gossip::Encoder& out, const AgentStart& start) {
  out.array(2).num(start.generation).num(start.start_id);
}

AgentStart read_agent_start(gossip::Reader& outer) {
  gossip::Reader in = outer.array();
  AgentStart start;
  start.generation = Generation(in.u64_at_most(kGenerationMax));
  start.start_id = in.num<StartId>();
  return start;
}

}  // namespace muster::scheduler
