#include "bench/grant_load.h"

#include <array>
#include <cstdio>

#include "gossip/base/rng.h"

namespace muster::bench {
namespace {

namespace entry = scheduler::entry;

constexpr std::uint32_t kGpusAHost = 8;

HostId host_id(std::uint32_t number) {
  std::array<std::uint8_t, HostId::kSizeBytes> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::uint8_t>(mix64(number + 1) >> (8 * (i % 8)));
  }
  bytes[15] = static_cast<std::uint8_t>(number);
  bytes[14] = static_cast<std::uint8_t>(number >> 8);
  return HostId(bytes);
}

AgentStart start_of(std::uint32_t host) {
  return {Generation(1), StartId(mix64(host))};
}

/// The uuid of a GPU, as long as those that drivers give.
std::string uuid_of(std::uint32_t gpu) {
  char text[64];
  std::snprintf(text, sizeof text, "GPU-%08x-1b7c-4f5d-9e2a-%012x", gpu, gpu);
  return text;
}

entry::Register registration(std::uint32_t host) {
  entry::Register fact;
  fact.host = host_id(host);
  fact.start = start_of(host);
  fact.boot_id = "6f6f2a44-6a3f-4d0c-9a55-0f1d2c3b4a59";
  fact.name = "node-" + std::to_string(host);
  fact.gpu_type = "H100";
  for (std::uint32_t i = 0; i < kGpusAHost; ++i) {
    fact.gpus.push_back(uuid_of(host * kGpusAHost + i));
  }
  fact.cpus = 128;
  fact.memory_mb = 1 << 20;
  return fact;
}

entry::Submit submission(std::uint64_t job) {
  char key[40];
  std::snprintf(key, sizeof key, "%016llx%016llx", static_cast<unsigned long long>(mix64(job)),
                static_cast<unsigned long long>(job));
  entry::Submit fact;
  fact.key = key;
  fact.spec.name = "train";
  fact.spec.user = "alice";
  fact.spec.request.gpus = 1;
  fact.spec.command.argv = {"python3", "train.py", "--epochs", "90"};
  fact.spec.command.environment = {"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/home/alice"};
  fact.spec.command.directory = "/home/alice/experiments/resnet";
  fact.by = {"alice@login", "alice", host_id(0)};
  return fact;
}

entry::Decide decision(std::uint32_t job, std::uint32_t round) {
  entry::Decide fact;
  fact.job = JobId(job + 1);
  fact.attempt = round + 1;
  const std::uint32_t host = job / kGpusAHost;
  fact.members.push_back({host_id(host), start_of(host), {{uuid_of(job), 0}}, 0});
  fact.hold = std::chrono::minutes(2);
  fact.grace = std::chrono::seconds(10);
  fact.deadline = std::chrono::seconds(30);
  return fact;
}

}  // namespace

std::optional<std::string> GrantLoad::next_host() {
  const std::uint32_t hosts = (jobs_ + kGpusAHost - 1) / kGpusAHost;
  if (hosts_given_ >= hosts) {
    return std::nullopt;
  }
  return scheduler::encode(scheduler::Entry(registration(hosts_given_++)));
}

std::string GrantLoad::submit(std::uint64_t number) {
  return scheduler::encode(scheduler::Entry(submission(number)));
}

std::vector<std::string> GrantLoad::life_of(JobId job, std::uint32_t gpu, const Token& token) {
  const std::uint32_t host = gpu / kGpusAHost;
  entry::Decide decide = decision(gpu, 0);
  decide.job = job;
  const gossip::Endpoint master = gossip::Endpoint::ipv4(10, 0, 0, 1, 29500);
  scheduler::RankResult result;
  result.output_bytes = 123'456;
  const entry::Finish finish{token, host_id(host), start_of(host), {result}, true};
  return {scheduler::encode(scheduler::Entry(decide)),
          scheduler::encode(
              scheduler::Entry(entry::Ready{token, host_id(host), start_of(host), master})),
          scheduler::encode(scheduler::Entry(entry::Start{token})),
          scheduler::encode(scheduler::Entry(finish))};
}

std::optional<std::string> GrantLoad::next() {
  switch (phase_) {
    case Phase::kPreparing:
      if (auto host = next_host()) {
        return host;
      }
      return given_ < jobs_ ? std::optional(submit(given_++)) : std::nullopt;
    case Phase::kDeciding:
      if (given_ < jobs_) {
        return scheduler::encode(scheduler::Entry(decision(given_++, round_)));
      }
      return std::nullopt;
    case Phase::kAborting:
      if (tokens_.empty()) {
        return std::nullopt;
      }
      const Token token = tokens_.front();
      tokens_.pop_front();
      return scheduler::encode(
          scheduler::Entry(entry::Abort{token, scheduler::Cause::kDeadline, HostId()}));
  }
  return std::nullopt;
}

void GrantLoad::turn(const scheduler::State& state) {
  given_ = 0;
  if (phase_ == Phase::kDeciding) {
    phase_ = Phase::kAborting;
    tokens_.assign(state.live().begin(), state.live().end());
  } else {
    round_ += phase_ == Phase::kAborting ? 1 : 0;
    phase_ = Phase::kDeciding;
  }
}

}  // namespace muster::bench
