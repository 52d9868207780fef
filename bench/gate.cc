// Questions to the gate of access, on one core: bench_gate QUESTIONS. The directory has 1,000 users
// in 200 teams; each question is about a random user, right and job. Each one is timed alone: the
// clock is part of it. Prints the p99 of the questions that were allowed, of the refusals, whose
// text names who could, and of all.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "gossip/base/rng.h"
#include "scheduler/access/authorize.h"

namespace {

using namespace muster::scheduler;  // NOLINT: a program of one file
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kUsers = 1'000;
constexpr std::uint64_t kTeams = 200;
/// A user in so many is an operator, and a lead.
constexpr std::uint64_t kOperatorEach = 100;
constexpr std::uint64_t kLeadEach = 5;
constexpr std::uint64_t kRights = static_cast<std::uint64_t>(Right::kMayRule) + 1;

std::string user_name(std::uint64_t number) {
  return "user" + std::to_string(number);
}

std::string team_name(std::uint64_t number) {
  return "team" + std::to_string(number % kTeams);
}

Directory crowded_directory() {
  Directory::Users users;
  Directory::Teams teams;
  for (std::uint64_t i = 0; i < kTeams; ++i) {
    teams[team_name(i)] = {};
  }
  for (std::uint64_t i = 0; i < kUsers; ++i) {
    const UserRole role = i == 0                   ? UserRole::kAdmin
                          : i % kOperatorEach == 1 ? UserRole::kOperator
                          : i % kLeadEach == 2     ? UserRole::kLead
                                                   : UserRole::kUser;
    users[user_name(i)] = {role, {team_name(i), team_name(i * 7 + 1)}};
  }
  return Directory(1, std::move(users), std::move(teams), {});
}

double p99_us(std::vector<double>& took) {
  if (took.empty()) {
    return 0;
  }
  const auto at = static_cast<std::ptrdiff_t>(took.size() * 99 / 100);
  std::nth_element(took.begin(), took.begin() + at, took.end());
  return took[static_cast<std::size_t>(at)];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: bench_gate QUESTIONS\n");
    return 2;
  }
  const auto questions = static_cast<std::uint64_t>(std::atoll(argv[1]));
  const Directory directory = crowded_directory();
  muster::Rng rng(1);
  std::vector<double> allowed;
  std::vector<double> denied;
  std::vector<double> all;
  for (std::uint64_t i = 0; i < questions; ++i) {
    const std::string user = user_name(rng.below(kUsers));
    const std::uint64_t owner = rng.below(kUsers);
    const auto right = static_cast<Right>(rng.below(kRights));
    const AccessObject object{"job 12", user_name(owner), team_name(owner), 10};
    const auto began = Clock::now();
    const std::string why = why_denied(directory, user, right, object);
    const double us = std::chrono::duration<double, std::micro>(Clock::now() - began).count();
    (why.empty() ? allowed : denied).push_back(us);
    all.push_back(us);
  }
  std::printf("figure gate_allowed_us %.2f us\n", p99_us(allowed));
  std::printf("figure gate_denied_us %.2f us\n", p99_us(denied));
  std::printf("figure gate_us %.2f us\n", p99_us(all));
  return 0;
}
