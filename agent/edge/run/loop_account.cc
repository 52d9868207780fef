#include "agent/edge/run/loop_account.h"

#include <time.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <system_error>

namespace muster::agent {
namespace {

constexpr std::array<std::string_view, 8> kWorkNames = {
    "loop.start", "loop.wait", "loop.receive",    "loop.links",
    "loop.disk",  "loop.rows", "loop.supervisor", "loop.tick"};
constexpr std::uint64_t kNsPerUs = 1000;

std::uint64_t thread_cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
  return static_cast<std::uint64_t>(now.tv_sec) * kNsPerSecond +
         static_cast<std::uint64_t>(now.tv_nsec);
}

/// One for all that have no name.
std::size_t index_of(gossip::MessageType type) {
  return gossip::name_of(type).empty() ? 0 : static_cast<std::size_t>(type);
}

std::string type_name(std::size_t index) {
  return index == 0 ? "other"
                    : std::string(gossip::name_of(static_cast<gossip::MessageType>(index)));
}

std::string first_line(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// The first word of /proc/PID/task/TID/schedstat; 0 where the kernel does not tell.
std::uint64_t cpu_ns_in(const std::string& schedstat) {
  return std::strtoull(schedstat.c_str(), nullptr, 10);
}

}  // namespace

void LoopAccount::took(Work work) {
  add(works_.at(static_cast<std::size_t>(work)), 0);
}

void LoopAccount::heard(gossip::MessageType type, std::size_t bytes) {
  add(received_.at(index_of(type)), bytes);
}

void LoopAccount::said(std::string_view bytes) {
  Count& to = sent_.at(index_of(gossip::type_in(bytes)));
  ++to.count;
  to.bytes += bytes.size();
}

void LoopAccount::add(Count& to, std::size_t bytes) {
  const std::uint64_t now = thread_cpu_ns();
  ++to.count;
  to.bytes += bytes;
  to.cpu_ns += now - since_ns_;
  since_ns_ = now;
}

std::vector<Counter> LoopAccount::counters() const {
  std::vector<Counter> all;
  const auto tell = [&all](std::string name, const Count& count) {
    if (count.count > 0) {
      all.push_back({std::move(name), count.count, count.bytes, count.cpu_ns / kNsPerUs});
    }
  };
  for (std::size_t i = 0; i < kWorks; ++i) {
    tell(std::string(kWorkNames.at(i)), works_.at(i));
  }
  for (std::size_t i = 0; i < kTypes; ++i) {
    tell("received." + type_name(i), received_.at(i));
    tell("sent." + type_name(i), sent_.at(i));
  }
  return all;
}

std::vector<Counter> thread_counters() {
  std::map<std::string, Counter> by_name;
  std::error_code error;
  for (std::filesystem::directory_iterator task("/proc/self/task", error), end;
       !error && task != end; task.increment(error)) {
    const std::string name = "thread." + first_line(task->path() / "comm");
    Counter& counter = by_name[name];
    counter.name = name;
    ++counter.count;
    counter.cpu_us += cpu_ns_in(first_line(task->path() / "schedstat")) / kNsPerUs;
  }
  std::vector<Counter> all;
  for (auto& [name, counter] : by_name) {
    all.push_back(std::move(counter));
  }
  return all;
}

}  // namespace muster::agent
