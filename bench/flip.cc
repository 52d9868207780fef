// One flipped byte anywhere in an environment: bench_flip DIRECTORY id|raft|state COUNT SEED
// SCRATCH. Each time a copy of DIRECTORY's environment gets one wrong byte. A child opens it,
// compares the records served with those stored, writes one record and opens it again. Prints how
// many flips were noticed, harmless (all records were served as stored, before and after the
// write), unnoticed (other records were served), and how many ended the child.

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "crdt/edge/lmdb_store.h"
#include "gossip/base/rng.h"

namespace muster::bench {
namespace {

namespace fs = std::filesystem;
using crdt::Environment;
using crdt::LmdbStore;
using crdt::Records;

enum Verdict : int { kNoticed = 0, kHarmless = 1, kUnnoticed = 2, kCrashed = 3 };
constexpr const char* kVerdicts[] = {"noticed", "harmless", "unnoticed", "crashed"};

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

/// Runs in a child of its own: a damaged page may crash its reader.
Verdict look(const std::string& path, Environment environment, Records expected) {
  const crdt::Write probe{"bench/flip", "one more"};
  for (const bool again : {false, true}) {
    auto store = LmdbStore::open(path, environment);
    if (!store) {
      return kNoticed;
    }
    if ((*store)->recovered() != expected) {
      return kUnnoticed;
    }
    if (!again && !(*store)->commit({probe})) {
      return kNoticed;
    }
    expected[probe.key] = *probe.value;
  }
  return kHarmless;
}

Verdict look_in_child(const std::string& path, Environment environment, const Records& expected) {
  const pid_t child = fork();
  if (child == 0) {
    _exit(look(path, environment, expected));
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) {
    return kCrashed;
  }
  return static_cast<Verdict>(WEXITSTATUS(status) <= kUnnoticed ? WEXITSTATUS(status) : kCrashed);
}

int run(const fs::path& from, const std::string& name, std::uint64_t count, std::uint64_t seed,
        const fs::path& scratch) {
  const Environment environment = name == "id"     ? Environment::kId
                                  : name == "raft" ? Environment::kRaft
                                                   : Environment::kState;
  const std::string good = read_file(from / name / "data.mdb");
  const fs::path file = scratch / "data.mdb";
  fs::create_directories(scratch);
  write_file(file, good);
  Records expected;
  {
    auto store = LmdbStore::open(scratch, environment);
    if (!store) {
      std::fprintf(stderr, "bench_flip: %s\n", store.error().text.c_str());
      return 1;
    }
    expected = (*store)->recovered();
  }
  Rng rng(seed);
  std::map<Verdict, std::uint64_t> counts;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::string bad = good;
    const std::size_t offset = rng.below(bad.size());
    bad[offset] = static_cast<char>(bad[offset] ^ static_cast<char>(1 + rng.below(255)));
    write_file(file, bad);
    const Verdict verdict = look_in_child(scratch, environment, expected);
    ++counts[verdict];
    if (verdict >= kUnnoticed) {
      std::printf("# %s offset %zu: %s\n", name.c_str(), offset, kVerdicts[verdict]);
    }
  }
  std::printf("%s bytes %zu records %zu", name.c_str(), good.size(), expected.size());
  for (const Verdict verdict : {kNoticed, kHarmless, kUnnoticed, kCrashed}) {
    std::printf(" %s %lu", kVerdicts[verdict], static_cast<unsigned long>(counts[verdict]));
  }
  std::printf("\n");
  return 0;
}

}  // namespace
}  // namespace muster::bench

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr, "usage: bench_flip DIRECTORY id|raft|state COUNT SEED SCRATCH\n");
    return 2;
  }
  return muster::bench::run(argv[1], argv[2], std::strtoull(argv[3], nullptr, 10),
                            std::strtoull(argv[4], nullptr, 10), argv[5]);
}
