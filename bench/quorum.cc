// How many grants a quorum of three gives in a second: bench_quorum DIRECTORY [--jobs N]
// [--rounds N] [--in-flight N] [--compact N] [--port N]. Three processes on this machine, each with
// a disk environment of its own under DIRECTORY, real syncs and TCP over the loopback. A grant is
// one Decide that is durable on a majority and applied by the leader. At the end all three must
// hold the same state. The figures are printed by the voter that leads.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "bench/quorum_voter.h"

namespace {

using muster::bench::kVoters;
using muster::bench::Voter;
using muster::bench::VoterOptions;

constexpr std::size_t kLineBytesMax = 256;

struct Child {
  pid_t pid = -1;
  int stop = -1;         ///< We write.
  FILE* says = nullptr;  ///< We read.
};

Child start(const VoterOptions& options) {
  int stop[2] = {-1, -1};
  int says[2] = {-1, -1};
  if (pipe(stop) != 0 || pipe(says) != 0) {
    std::exit(1);
  }
  std::fflush(stdout);
  const pid_t pid = fork();
  if (pid == 0) {
    close(stop[1]);
    dup2(says[1], STDOUT_FILENO);
    setvbuf(stdout, nullptr, _IOLBF, 0);
    VoterOptions own = options;
    own.stop_fd = stop[0];
    const bool whole = Voter(own).run();
    std::fflush(stdout);
    _exit(whole ? 0 : 1);
  }
  close(stop[0]);
  close(says[1]);
  return {pid, stop[1], fdopen(says[0], "r")};
}

/// Prints the voters' lines. The index in the leader's "done"; 0 if a voter ended early.
unsigned long long await_done(const std::array<Child, kVoters>& voters) {
  for (;;) {
    fd_set set;
    FD_ZERO(&set);
    int highest = 0;
    for (const Child& voter : voters) {
      FD_SET(fileno(voter.says), &set);
      highest = std::max(highest, fileno(voter.says));
    }
    if (select(highest + 1, &set, nullptr, nullptr, nullptr) < 0) {
      return 0;
    }
    for (const Child& voter : voters) {
      char line[kLineBytesMax];
      while (FD_ISSET(fileno(voter.says), &set)) {
        if (std::fgets(line, sizeof line, voter.says) == nullptr) {
          return 0;
        }
        unsigned long long index = 0;
        if (std::sscanf(line, "done %llu", &index) == 1) {
          return index;
        }
        std::fputs(line, stdout);
      }
    }
  }
}

int run(const VoterOptions& options) {
  std::array<Child, kVoters> voters;
  for (std::size_t i = 0; i < kVoters; ++i) {
    VoterOptions own = options;
    own.self = i;
    own.directory = options.directory + "/" + std::to_string(i);
    std::filesystem::create_directories(own.directory);
    voters[i] = start(own);
  }
  const std::uint64_t index = await_done(voters);
  std::set<std::string> digests;
  bool whole = index != 0;
  for (const Child& voter : voters) {
    whole = whole && write(voter.stop, &index, sizeof index) == sizeof index;
  }
  for (const Child& voter : voters) {
    char line[kLineBytesMax];
    while (whole && std::fgets(line, sizeof line, voter.says) != nullptr) {
      std::fputs(line, stdout);
      if (std::strncmp(line, "digest ", 7) == 0) {
        digests.insert(std::string(line + 7, 16));
        break;
      }
    }
  }
  for (const Child& voter : voters) {
    const std::uint64_t end = 0;
    whole = write(voter.stop, &end, sizeof end) == sizeof end && whole;
  }
  for (const Child& voter : voters) {
    int status = 0;
    waitpid(voter.pid, &status, 0);
    whole = whole && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  if (digests.size() != 1) {
    std::fprintf(stderr, "bench_quorum: the voters hold %zu states\n", digests.size());
  }
  return whole && digests.size() == 1 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  VoterOptions options;
  options.base_port = 8750;
  if (argc < 2 || argc % 2 != 0) {
    std::fprintf(stderr, "usage: see the head of bench/quorum.cc\n");
    return 2;
  }
  options.directory = argv[1];
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    const auto value = static_cast<std::uint32_t>(std::strtoul(argv[i + 1], nullptr, 10));
    if (name == "--jobs") {
      options.jobs = value;
    } else if (name == "--rounds") {
      options.rounds = value;
    } else if (name == "--in-flight") {
      options.in_flight = value;
    } else if (name == "--compact") {
      options.compact_entries = value;
    } else if (name == "--port") {
      options.base_port = static_cast<std::uint16_t>(value);
    } else {
      return 2;
    }
  }
  return run(options);
}
