// Tests of LmdbStore and StorageThread: acknowledged records survive a crash, and a damaged store
// is refused: never a wrong record. Real files in a directory of the test's own; damage is seeded.

#include "crdt/edge/lmdb_store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <lmdb.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>

#include "crdt/edge/data_lock.h"
#include "crdt/edge/storage_thread.h"
#include "gossip/base/rng.h"

namespace muster::crdt {
namespace {

constexpr int kPatienceMs = 10'000;

/// A gate between LMDB and the kernel: fsyncs of this process hang while it is shut.
class SlowDisk {
 public:
  void shut() { set_shut(true); }
  /// For files whose path contains `part`.
  void shut_for(const std::string& part) { set_shut(true, part); }
  void open() { set_shut(false); }
  /// True once an fsync hangs.
  bool await_waiter() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [this] { return waiting_ > 0; });
  }
  /// Whether it stayed shut for so long that an fsync went on by itself.
  bool gave_up() {
    const std::lock_guard lock(mutex_);
    return gave_up_;
  }
  void pass(int fd) {
    const std::string link = "/proc/self/fd/" + std::to_string(fd);
    std::error_code error;
    const std::string file = std::filesystem::read_symlink(link, error).string();
    std::unique_lock lock(mutex_);
    if (file.find(part_) == std::string::npos) {
      return;
    }
    ++waiting_;
    changed_.notify_all();
    gave_up_ |= !changed_.wait_for(lock, kPatience, [this] { return !shut_; });
    --waiting_;
  }

 private:
  static constexpr auto kPatience = std::chrono::milliseconds(kPatienceMs);
  void set_shut(bool shut, const std::string& part = "") {
    const std::lock_guard lock(mutex_);
    shut_ = shut;
    part_ = part;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool shut_ = false;
  std::string part_;
  bool gave_up_ = false;
  int waiting_ = 0;
};

SlowDisk& slow_disk() {
  static SlowDisk disk;
  return disk;
}

class LmdbStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/muster_lmdb_XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    directory_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string path(const std::string& name = "raft") const { return directory_ + "/" + name; }
  std::unique_ptr<LmdbStore> open(Environment environment = Environment::kRaft) {
    auto store = LmdbStore::open(path(), environment);
    EXPECT_TRUE(store.has_value()) << (store ? "" : store.error().text);
    return store ? std::move(store).value() : nullptr;
  }
  Records reopened() { return open()->recovered(); }

  std::string directory_;
};

Write put(std::string key, std::string value) {
  return {std::move(key), std::move(value)};
}
Write remove(std::string key) {
  return {std::move(key), std::nullopt};
}

/// LMDB without our seals, to damage the records of a store.
class BareLmdb {
 public:
  explicit BareLmdb(const std::string& path) {
    EXPECT_EQ(mdb_env_create(&env_), 0);
    EXPECT_EQ(mdb_env_open(env_, path.c_str(), 0, 0600), 0);
    EXPECT_EQ(mdb_txn_begin(env_, nullptr, 0, &txn_), 0);
    EXPECT_EQ(mdb_dbi_open(txn_, nullptr, 0, &dbi_), 0);
  }
  ~BareLmdb() {
    EXPECT_EQ(mdb_txn_commit(txn_), 0);
    mdb_env_close(env_);
  }
  BareLmdb(const BareLmdb&) = delete;
  BareLmdb& operator=(const BareLmdb&) = delete;

  void erase(std::string key) {
    MDB_val name{key.size(), key.data()};
    EXPECT_EQ(mdb_del(txn_, dbi_, &name, nullptr), 0);
  }
  void put_raw(std::string key, std::string value) {
    MDB_val name{key.size(), key.data()};
    MDB_val bytes{value.size(), value.data()};
    EXPECT_EQ(mdb_put(txn_, dbi_, &name, &bytes, 0), 0);
  }

 private:
  MDB_env* env_ = nullptr;
  MDB_txn* txn_ = nullptr;
  MDB_dbi dbi_ = 0;
};

TEST_F(LmdbStoreTest, WhatWasCommittedIsRecovered) {
  const Records records = {{"term", "7"}, {key_of("log/", 1), std::string(5000, 'x')}, {"e", ""}};
  {
    auto store = open();
    EXPECT_TRUE(store->recovered().empty());
    for (const auto& [key, value] : records) {
      ASSERT_TRUE(store->commit({put(key, value)}).has_value());
    }
  }
  EXPECT_EQ(reopened(), records);
  struct stat status {};
  ASSERT_EQ(stat(path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700U);
}

TEST_F(LmdbStoreTest, WritesOfABatchApplyInOrder) {
  {
    auto store = open();
    ASSERT_TRUE(store->commit({put("a", "1"), put("b", "1"), put("c", "1")}).has_value());
    ASSERT_TRUE(
        store->commit({put("a", "2"), remove("b"), remove("none"), remove("c"), put("c", "3")})
            .has_value());
    ASSERT_TRUE(store->commit({}).has_value());
  }
  EXPECT_EQ(reopened(), (Records{{"a", "2"}, {"c", "3"}}));
}

TEST_F(LmdbStoreTest, AnEnvironmentIsOpenOnlyOnce) {
  auto store = open();
  const auto second = LmdbStore::open(directory_ + "/./raft", Environment::kRaft);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, ErrorCode::kConflict);
  store.reset();
  EXPECT_NE(open(), nullptr);
}

TEST_F(LmdbStoreTest, TheRootRecordCatchesALostRecord) {
  ASSERT_TRUE(open()->commit({put("a", "1"), put("b", "1")}).has_value());
  BareLmdb(path()).erase("a");
  const auto store = LmdbStore::open(path(), Environment::kRaft);
  ASSERT_FALSE(store.has_value());
  EXPECT_EQ(store.error().code, ErrorCode::kCorrupt);
  EXPECT_NE(store.error().text.find(path()), std::string::npos);
}

TEST_F(LmdbStoreTest, TheRootRecordCatchesAnOldRecordPutBack) {
  ASSERT_TRUE(open()->commit({put("a", "old")}).has_value());
  ASSERT_TRUE(open()->commit({put("a", "new")}).has_value());
  BareLmdb(path()).put_raw("a", seal("a", "old"));
  EXPECT_FALSE(LmdbStore::open(path(), Environment::kRaft).has_value());
}

TEST_F(LmdbStoreTest, WhatAnEarlierBuildWroteIsRefusedInOneSentence) {
  ASSERT_TRUE(open()->commit({put("a", "1")}).has_value());
  std::string root = seal(kRootKey, Root().encode());
  root[0] = 1;
  BareLmdb(path()).put_raw(std::string(kRootKey), root);
  const auto store = LmdbStore::open(path(), Environment::kRaft);
  ASSERT_FALSE(store.has_value());
  EXPECT_EQ(store.error().code, ErrorCode::kIo) << "it is not damaged: nothing is set aside";
  EXPECT_NE(store.error().text.find("start with an empty data directory"), std::string::npos);
}

TEST_F(LmdbStoreTest, ADamagedStateIsDiscardedAndStartsEmpty) {
  ASSERT_TRUE(open(Environment::kState)->commit({put("a", "1")}).has_value());
  BareLmdb(path()).put_raw("a", "not sealed");
  EXPECT_FALSE(LmdbStore::open(path(), Environment::kState).has_value());
  ASSERT_TRUE(LmdbStore::discard(path()).has_value());
  EXPECT_TRUE(open(Environment::kState)->recovered().empty());
}

TEST_F(LmdbStoreTest, AFullMapFailsTheBatchAndKeepsTheRest) {
  {
    auto store = LmdbStore::open(path(), Environment::kRaft, {.map_bytes = 1 << 20, .sync = true});
    ASSERT_TRUE(store.has_value());
    ASSERT_TRUE((*store)->commit({put("small", "1")}).has_value());
    EXPECT_FALSE((*store)->commit({put("a", "1"), put("big", std::string(2 << 20, 'x'))}));
    ASSERT_TRUE((*store)->commit({put("small", "2")}).has_value());
  }
  EXPECT_EQ(reopened(), (Records{{"small", "2"}}));
}

/// An environment with a history: pages freed, reused, overflowing.
Records write_history(LmdbStore& store, Rng& rng) {
  Records live;
  for (int round = 0; round < 60; ++round) {
    WriteBatch batch;
    for (int i = 0; i < 20; ++i) {
      const std::string key = key_of("log/", rng.below(300));
      if (rng.chance(250'000)) {
        batch.push_back(remove(key));
        live.erase(key);
      } else {
        const std::string value(rng.below(20) == 0 ? 9000 : rng.below(300),
                                static_cast<char>('a' + rng.below(26)));
        batch.push_back(put(key, value));
        live[key] = value;
      }
    }
    EXPECT_TRUE(store.commit(batch).has_value());
  }
  return live;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

class FlippedByteTest : public LmdbStoreTest {
 protected:
  enum class Writes { kAll, kToldAndWentOnEmpty, kWrong, kCrashed };
  /// Opens and writes in a child: a damaged page can crash the writer.
  Writes write_apart() {
    const pid_t child = fork();
    if (child == 0) {
      std::freopen("/dev/null", "w", stderr);
      _exit(static_cast<int>(open_and_write()));
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return WIFEXITED(status) && WEXITSTATUS(status) <= static_cast<int>(Writes::kWrong)
               ? static_cast<Writes>(WEXITSTATUS(status))
               : Writes::kCrashed;
  }
  Writes open_and_write() {
    auto store = LmdbStore::open(path(), Environment::kRaft);
    for (int i = 0; store.has_value() && i < 20; ++i) {
      const Status done =
          (*store)->commit({put("k", std::string(3000, static_cast<char>('a' + i)))});
      if (!done.has_value()) {
        const bool goes_on = done.error().code == ErrorCode::kCorrupt &&
                             (*store)->clear().has_value() &&
                             (*store)->commit({put("first", "1")}).has_value();
        return goes_on ? Writes::kToldAndWentOnEmpty : Writes::kWrong;
      }
    }
    return Writes::kAll;
  }

  /// Flips one byte below `limit` (0 = anywhere), 200 times. Returns how often open() refused.
  int flip(std::uint64_t seed, std::size_t limit) {
    Rng rng(seed);
    const Records expected = write_history(*open(), rng);
    const std::string good = read_file(path() + "/data.mdb");
    int refused = 0;
    for (int round = 0; round < 200; ++round) {
      std::string bad = good;
      const std::size_t offset = rng.below(limit == 0 ? bad.size() : limit);
      bad[offset] = static_cast<char>(bad[offset] ^ static_cast<char>(1 + rng.below(255)));
      write_file(path() + "/data.mdb", bad);
      auto store = LmdbStore::open(path(), Environment::kRaft);
      if (store.has_value()) {
        EXPECT_TRUE((*store)->recovered() == expected) << "seed=" << seed << " offset=" << offset;
      } else {
        ++refused;
        // kIo: a damaged map size that this machine cannot give.
        EXPECT_TRUE(store.error().code == ErrorCode::kCorrupt ||
                    store.error().code == ErrorCode::kIo)
            << store.error().text;
      }
    }
    write_file(path() + "/data.mdb", good);
    EXPECT_EQ(reopened(), expected);
    return refused;
  }
};

TEST_F(FlippedByteTest, AnywhereIsRefusedOrHarmless) {
  EXPECT_GT(flip(7, 0), 20);
}

/// A reader never reads the list of free pages.
TEST_F(FlippedByteTest, InTheListOfFreePagesIsToldByTheCommit) {
  Rng rng(11);
  write_history(*open(), rng);
  const std::string good = read_file(path() + "/data.mdb");
  const auto word = [&good](std::size_t at) {
    std::uint64_t value = 0;
    std::memcpy(&value, good.data() + at, sizeof value);
    return value;
  };
  // Offsets in a header page: the root of that list, and the number of the transaction.
  constexpr std::size_t kPage = 4096;
  constexpr std::size_t kFreeRoot = 80;
  constexpr std::size_t kTransaction = 144;
  const std::size_t header = word(kTransaction) > word(kPage + kTransaction) ? 0 : kPage;
  const std::size_t page = word(header + kFreeRoot) * kPage;
  ASSERT_LT(page, good.size());
  std::map<Writes, int> seen;
  for (std::size_t offset = 8; offset < 32; ++offset) {  // The kind and the contents of a page.
    std::string bad = good;
    bad[page + offset] = static_cast<char>(bad[page + offset] ^ 0x40);
    write_file(path() + "/data.mdb", bad);
    ++seen[write_apart()];
  }
  EXPECT_GT(seen[Writes::kToldAndWentOnEmpty], 0);
  EXPECT_EQ(seen[Writes::kWrong], 0);
}

/// The header pages: the first 160 bytes of pages 0 and 1 say which tree is the newest.
TEST_F(FlippedByteTest, InTheHeadersIsRefusedOrHarmless) {
  EXPECT_GT(flip(13, 160), 20);
}

TEST_F(LmdbStoreTest, AHeaderThatPointsToTheTreeBeforeIsRefused) {
  ASSERT_TRUE(open()->commit({put("a", "1")}).has_value());
  const std::string before = read_file(path() + "/data.mdb").substr(0, 8192);
  ASSERT_TRUE(open()->commit({put("a", "2")}).has_value());
  // The second transaction wrote header 0: it keeps its number and gets the tables of header 1.
  constexpr std::size_t kTables = 16 + 24;
  std::string stale = read_file(path() + "/data.mdb");
  stale.replace(kTables, 96, before, 4096 + kTables, 96);
  write_file(path() + "/data.mdb", stale);
  EXPECT_FALSE(LmdbStore::open(path(), Environment::kRaft).has_value());
}

TEST_F(LmdbStoreTest, ATruncatedFileIsRefused) {
  Rng rng(8);
  write_history(*open(), rng);
  const std::string good = read_file(path() + "/data.mdb");
  for (const std::size_t size : {good.size() / 2, std::size_t{8192}, std::size_t{100}}) {
    write_file(path() + "/data.mdb", good.substr(0, size));
    EXPECT_FALSE(LmdbStore::open(path(), Environment::kRaft).has_value()) << size;
  }
}

/// Commits numbered batches for ever and reports each through the pipe.
[[noreturn]] void write_until_killed(const std::string& path, int acknowledged) {
  auto store = LmdbStore::open(path, Environment::kRaft);
  for (std::uint64_t number = 1; store.has_value(); ++number) {
    const std::string value = std::to_string(number);
    if (!(*store)->commit({put(key_of("log/", number), value), put("last", value)}) ||
        write(acknowledged, &number, sizeof number) != sizeof number) {
      break;
    }
  }
  _exit(1);
}

TEST_F(LmdbStoreTest, AKilledWriterLosesNoAcknowledgedBatch) {
  for (int round = 0; round < 5; ++round) {
    LmdbStore::discard(path()).has_value();
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    const pid_t writer = fork();
    if (writer == 0) {
      write_until_killed(path(), ends[1]);
    }
    close(ends[1]);
    std::uint64_t number = 0;
    while (number < 50 && read(ends[0], &number, sizeof number) == sizeof number) {
    }
    kill(writer, SIGKILL);
    waitpid(writer, nullptr, 0);
    while (read(ends[0], &number, sizeof number) == sizeof number) {
    }
    close(ends[0]);
    ASSERT_GE(number, 50U);
    const Records records = reopened();
    EXPECT_GE(std::stoull(records.at("last")), number);
    for (std::uint64_t i = 1; i <= number; ++i) {
      EXPECT_EQ(records.at(key_of("log/", i)), std::to_string(i));
    }
  }
}

class StorageThreadTest : public LmdbStoreTest {
 protected:
  std::unique_ptr<LmdbStore> store(Environment environment, const std::string& name,
                                   std::uint64_t map_bytes = 16 << 20) {
    auto opened =
        LmdbStore::open(path(name), environment,
                        {.map_bytes = map_bytes, .sync = environment != Environment::kState});
    EXPECT_TRUE(opened.has_value());
    return std::move(opened).value();
  }
  std::unique_ptr<StorageThread> start(std::uint64_t raft_bytes = 16 << 20,
                                       std::uint64_t state_bytes = 16 << 20,
                                       Duration rows_sync = kRowsSync) {
    return std::make_unique<StorageThread>(
        StorageThread::Stores{store(Environment::kId, "id"),
                              store(Environment::kRaft, "raft", raft_bytes),
                              store(Environment::kState, "state", state_bytes)},
        rows_sync);
  }
  /// Waits for news. False if none came.
  static bool await(StorageThread& thread) {
    pollfd item{thread.fd(), POLLIN, 0};
    return poll(&item, 1, kPatienceMs) == 1;
  }
};

TEST_F(StorageThreadTest, BatchesOfOneEnvironmentCompleteInOrderAndInGroups) {
  constexpr std::uint64_t kBatches = 500;
  auto thread = start();
  for (std::uint64_t id = 1; id <= kBatches; ++id) {
    thread->submit(id, Environment::kRaft, {put("last", std::to_string(id))});
  }
  std::vector<std::uint64_t> done;
  while (done.size() < kBatches && await(*thread)) {
    const auto more = thread->take_completed();
    done.insert(done.end(), more.begin(), more.end());
  }
  ASSERT_EQ(done.size(), kBatches);
  for (std::uint64_t id = 1; id <= kBatches; ++id) {
    EXPECT_EQ(done[id - 1], id);
  }
  EXPECT_EQ(thread->stats().batches, kBatches);
  EXPECT_LT(thread->stats().transactions, kBatches / 2);
  EXPECT_EQ(thread->stats().syncs.up_to().back(), thread->stats().transactions);
  EXPECT_GT(thread->stats().syncs.sum(), Duration(0));
  thread.reset();
  EXPECT_EQ(reopened().at("last"), std::to_string(kBatches));
}

TEST_F(StorageThreadTest, EachEnvironmentGetsItsOwnBatches) {
  auto thread = start();
  thread->submit(1, Environment::kId, {put("generation", "4")});
  thread->submit(2, Environment::kRaft, {put("term", "9")});
  thread.reset();
  EXPECT_EQ(store(Environment::kId, "id")->recovered(), (Records{{"generation", "4"}}));
  EXPECT_EQ(store(Environment::kRaft, "raft")->recovered(), (Records{{"term", "9"}}));
}

TEST_F(StorageThreadTest, NothingIsAcknowledgedAfterAFailure) {
  auto thread = start(1 << 20);
  thread->submit(1, Environment::kRaft, {put("big", std::string(2 << 20, 'x'))});
  ASSERT_TRUE(await(*thread));
  EXPECT_TRUE(thread->take_completed().empty());
  ASSERT_TRUE(thread->failure().has_value());
  EXPECT_EQ(thread->failure()->code, ErrorCode::kIo);
  thread->submit(2, Environment::kId, {put("a", "1")});
  thread.reset();
  EXPECT_TRUE(store(Environment::kId, "id")->recovered().empty());
}

TEST_F(StorageThreadTest, RowsAreStoredWithoutAcknowledgementAndSyncedAtTheEnd) {
  auto thread = start();
  for (int i = 1; i <= 100; ++i) {
    thread->submit(0, Environment::kState, {put("row", std::to_string(i))});
  }
  thread.reset();
  EXPECT_EQ(store(Environment::kState, "state")->recovered(), (Records{{"row", "100"}}));
}

TEST_F(StorageThreadTest, RowsThatCannotBeStoredAreToldAndNothingElseSuffers) {
  auto thread = start(16 << 20, 1 << 20);
  thread->submit(0, Environment::kState, {put("big", std::string(2 << 20, 'x'))});
  ASSERT_TRUE(await(*thread));
  EXPECT_TRUE(thread->take_rows_error().has_value());
  EXPECT_FALSE(thread->take_rows_error().has_value());
  EXPECT_FALSE(thread->failure().has_value());
  EXPECT_TRUE(thread->take_completed().empty());
  thread->submit(7, Environment::kRaft, {put("term", "9")});
  ASSERT_TRUE(await(*thread));
  EXPECT_EQ(thread->take_completed(), (std::vector<std::uint64_t>{7}));
}

/// A slow disk delays the thread alone: while an fsync of the rows hangs, the loop goes on handing
/// over, no second sync waits behind the first, and rows above the limit are dropped and reported.
TEST_F(StorageThreadTest, ASlowDiskNeverHoldsTheLoop) {
  auto thread = start(16 << 20, 16 << 20, std::chrono::milliseconds(1));
  slow_disk().shut();
  thread->submit(0, Environment::kState, {put("row", "1")});
  ASSERT_TRUE(slow_disk().await_waiter());
  for (std::size_t i = 0; i < kRowsQueueMax; ++i) {
    thread->submit(0, Environment::kState, {put("row", std::to_string(i))});
  }
  EXPECT_FALSE(thread->take_rows_error().has_value());
  thread->submit(0, Environment::kState, {put("row", "one too many")});
  EXPECT_TRUE(thread->take_rows_error().has_value());
  thread->submit(1, Environment::kRaft, {put("term", "9")});
  EXPECT_TRUE(thread->take_completed().empty());
  EXPECT_EQ(thread->stats().rows_syncs, 0U);
  slow_disk().open();
  ASSERT_TRUE(await(*thread));
  thread.reset();
  EXPECT_FALSE(slow_disk().gave_up());
  EXPECT_EQ(store(Environment::kState, "state")->recovered(),
            (Records{{"row", std::to_string(kRowsQueueMax - 1)}}));
}

TEST_F(StorageThreadTest, NoEntryOfTheLogWaitsForASyncOfRows) {
  auto thread = start(16 << 20, 16 << 20, std::chrono::milliseconds(1));
  slow_disk().shut_for("/state/");
  thread->submit(0, Environment::kState, {put("row", "1")});
  ASSERT_TRUE(slow_disk().await_waiter());
  thread->submit(1, Environment::kRaft, {put("term", "9")});
  EXPECT_TRUE(await(*thread));
  EXPECT_EQ(thread->take_completed(), (std::vector<std::uint64_t>{1}));
  EXPECT_EQ(thread->stats().rows_syncs, 0U);
  slow_disk().open();
  thread.reset();
  EXPECT_FALSE(slow_disk().gave_up());
}

TEST(DataLock, ASecondHolderIsToldThePidOfTheFirst) {
  char name[] = "/tmp/muster_lock_XXXXXX";
  ASSERT_NE(mkdtemp(name), nullptr);
  const std::string directory = std::string(name) + "/data";
  {
    const auto lock = DataLock::acquire(directory);
    ASSERT_TRUE(lock.has_value());
    const auto second = DataLock::acquire(directory);
    ASSERT_FALSE(second.has_value());
    EXPECT_EQ(second.error().code, ErrorCode::kConflict);
    EXPECT_NE(second.error().text.find("pid " + std::to_string(getpid())), std::string::npos);
  }
  EXPECT_TRUE(DataLock::acquire(directory).has_value());
  std::filesystem::remove_all(name);
}

TEST(DataLock, DiesWithItsHolder) {
  char name[] = "/tmp/muster_lock_XXXXXX";
  ASSERT_NE(mkdtemp(name), nullptr);
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const pid_t holder = fork();
  if (holder == 0) {
    const auto lock = DataLock::acquire(name);
    const bool told = write(ends[1], "x", 1) == 1;
    pause();
    _exit(told ? 0 : 1);
  }
  char byte = 0;
  ASSERT_EQ(read(ends[0], &byte, 1), 1);
  EXPECT_FALSE(DataLock::acquire(name).has_value());
  kill(holder, SIGKILL);
  waitpid(holder, nullptr, 0);
  EXPECT_TRUE(DataLock::acquire(name).has_value());
  close(ends[0]);
  close(ends[1]);
  std::filesystem::remove_all(name);
}

}  // namespace
}  // namespace muster::crdt

/// liblmdb finds this function before that of the C library.
extern "C" int fdatasync(int fd) {
  muster::crdt::slow_disk().pass(fd);
  return static_cast<int>(syscall(SYS_fdatasync, fd));
}
