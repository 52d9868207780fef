#include "crdt/edge/lmdb_store.h"

#include <fcntl.h>
#include <lmdb.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <set>
#include <utility>

#include "crdt/edge/data_lock.h"
#include "gossip/base/check.h"

namespace muster::crdt {
namespace {

/// Limit of the text that a checking child sends back.
constexpr std::size_t kReportBytesMax = 512;
/// Table of the record with the number of the transaction that wrote it: a header that names
/// another number points to a tree that is not the newest.
constexpr std::string_view kTxnTable = "txn/";
/// Offset of the transaction number in each of the two header pages of LMDB 0.9.
constexpr off_t kHeaderTxnOffset = 144;

/// Bytes that the file of a synced environment has behind its last page, at least and after it is
/// extended. A sync that also has to write a new size or new blocks takes twice as long (0.20 ms,
/// not 0.09 ms). Raised: more disk, and a longer commit each time the file is extended.
constexpr off_t kReserveMin = 32 << 10;
constexpr off_t kReserveBytes = 256 << 10;

using Sealed = std::map<std::string, std::string>;

/// The paths that are open in this process. LMDB lets a process open an environment twice, but then
/// drops its locks.
class OpenPaths {
 public:
  static OpenPaths& instance() {
    static OpenPaths paths;
    return paths;
  }
  bool add(const std::string& path) {
    const std::lock_guard lock(mutex_);
    return paths_.insert(path).second;
  }
  void remove(const std::string& path) {
    const std::lock_guard lock(mutex_);
    paths_.erase(path);
  }

 private:
  std::mutex mutex_;
  std::set<std::string> paths_;
};

MDB_val val_of(std::string_view text) {
  return {text.size(), const_cast<char*>(text.data())};
}
std::string_view text_of(const MDB_val& value) {
  return {static_cast<const char*>(value.mv_data), value.mv_size};
}

Error io_error(const std::string& path, const char* what, int code) {
  return {ErrorCode::kIo, path + ": " + what + ": " + mdb_strerror(code)};
}

/// Whether LMDB reports damaged pages; any other code is an error of the system.
bool is_damage(int code) {
  return code == EINVAL || code == MDB_CORRUPTED || code == MDB_PAGE_NOTFOUND ||
         code == MDB_BAD_TXN || code == MDB_PANIC;
}

std::string advice(Environment environment) {
  switch (environment) {
    case Environment::kRaft:
      return "move it aside: this host then gets the log from the other voters";
    case Environment::kId:
      return "move the data directory away and start again: this host then joins as a new one";
    case Environment::kState:
      return "delete it: it is rebuilt from the peers";
  }
  return "";
}

Error corrupt_error(const std::string& path, Environment environment, const std::string& why) {
  return {ErrorCode::kCorrupt, path + " is damaged (" + why + "): " + advice(environment)};
}

struct CloseEnv {
  void operator()(MDB_env* env) const { mdb_env_close(env); }
};
using Env = std::unique_ptr<MDB_env, CloseEnv>;

struct AbortTxn {
  void operator()(MDB_txn* txn) const { mdb_txn_abort(txn); }
};
using Txn = std::unique_ptr<MDB_txn, AbortTxn>;

Result<Env> open_env(const std::string& path, unsigned flags, std::uint64_t map_bytes) {
  MDB_env* raw = nullptr;
  int code = mdb_env_create(&raw);
  if (code != 0) {
    return io_error(path, "cannot make an environment", code);
  }
  Env env(raw);
  code = mdb_env_set_mapsize(raw, map_bytes);
  if (code == 0) {
    code = mdb_env_open(raw, path.c_str(), flags | MDB_NOTLS | MDB_NORDAHEAD, kFileMode);
  }
  if (code == MDB_INVALID || code == MDB_VERSION_MISMATCH || code == MDB_CORRUPTED) {
    return Error{ErrorCode::kCorrupt, mdb_strerror(code)};
  }
  if (code != 0) {
    return io_error(path, "cannot open", code);
  }
  return env;
}

Result<Txn> begin(MDB_env* env, unsigned flags, MDB_dbi& dbi) {
  MDB_txn* raw = nullptr;
  int code = mdb_txn_begin(env, nullptr, flags, &raw);
  if (code != 0) {
    return Error{ErrorCode::kIo, mdb_strerror(code)};
  }
  Txn txn(raw);
  code = mdb_dbi_open(raw, nullptr, 0, &dbi);
  if (code != 0) {
    return Error{ErrorCode::kCorrupt, mdb_strerror(code)};
  }
  return txn;
}

/// Headers have no checksum. Commits write them in turn, so their numbers are neighbours, and the
/// newest has the number that the record in the tree names.
Status check_headers(MDB_env* env, const Records& records) {
  MDB_stat stat{};
  MDB_envinfo info{};
  int fd = -1;
  std::uint64_t ids[2] = {};
  mdb_env_stat(env, &stat);
  mdb_env_info(env, &info);
  mdb_env_get_fd(env, &fd);
  for (unsigned page = 0; page < 2; ++page) {
    const off_t offset = static_cast<off_t>(page * stat.ms_psize) + kHeaderTxnOffset;
    if (pread(fd, &ids[page], sizeof ids[page], offset) != sizeof ids[page]) {
      return Error{ErrorCode::kCorrupt, "its headers cannot be read"};
    }
  }
  const std::uint64_t newest = std::max(ids[0], ids[1]);
  const bool fresh = newest == 0 && records.empty();
  const bool whole = newest == std::min(ids[0], ids[1]) + 1 && ids[newest & 1] == newest &&
                     info.me_last_txnid == newest && records.contains(key_of(kTxnTable, newest));
  if (!fresh && !whole) {
    return Error{ErrorCode::kCorrupt, "its headers do not belong to its records"};
  }
  return ok();
}

Result<Records> read_sealed(MDB_env* env) {
  MDB_dbi dbi = 0;
  const Result<Txn> txn = begin(env, MDB_RDONLY, dbi);
  if (!txn) {
    return txn.error();
  }
  MDB_cursor* cursor = nullptr;
  int code = mdb_cursor_open(txn->get(), dbi, &cursor);
  if (code != 0) {
    return Error{ErrorCode::kCorrupt, mdb_strerror(code)};
  }
  Sealed sealed;
  MDB_stat stat{};
  mdb_stat(txn->get(), dbi, &stat);
  MDB_val key{};
  MDB_val value{};
  bool ordered = true;
  while (ordered && (code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) == 0) {
    ordered = sealed.emplace(text_of(key), text_of(value)).second;
  }
  mdb_cursor_close(cursor);
  if (code != MDB_NOTFOUND || stat.ms_entries != sealed.size()) {
    return Error{ErrorCode::kCorrupt, "its pages do not fit together"};
  }
  return check_records(sealed);
}

Result<Records> read_all(MDB_env* env) {
  Result<Records> records = read_sealed(env);
  if (!records) {
    return records;
  }
  const Status headers = check_headers(env, *records);
  if (!headers) {
    return headers.error();
  }
  return records;
}

/// Searches for each key: a damaged branch page can lose a key that a walk still finds.
Status find_all(MDB_env* env, const Records& records) {
  MDB_dbi dbi = 0;
  const Result<Txn> txn = begin(env, MDB_RDONLY, dbi);
  if (!txn) {
    return txn.error();
  }
  for (const auto& [name, payload] : records) {
    MDB_val key = val_of(name);
    MDB_val value{};
    if (mdb_get(txn->get(), dbi, &key, &value) != 0 || text_of(value) != seal(name, payload)) {
      return Error{ErrorCode::kCorrupt, "record '" + name + "' cannot be found by its key"};
    }
  }
  return ok();
}

/// Checks the list of free pages, which no read touches and the next commit trusts: a compact copy
/// walks it.
Status walk_free_pages(MDB_env* env) {
  const int null_fd = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  const int code = mdb_env_copyfd2(env, null_fd, MDB_CP_COMPACT);
  close(null_fd);
  if (code != 0) {
    return Error{ErrorCode::kCorrupt,
                 std::string("its free pages are damaged: ") + mdb_strerror(code)};
  }
  return ok();
}

Status check_environment(const std::string& path, std::uint64_t map_bytes) {
  const Result<Env> env = open_env(path, MDB_RDONLY | MDB_NOLOCK, map_bytes);
  if (!env) {
    return env.error();
  }
  const Result<Records> records = read_all(env->get());
  if (!records) {
    return records.error();
  }
  const Status found = find_all(env->get(), *records);
  return found ? walk_free_pages(env->get()) : found;
}

/// Signals by which damaged pages end their reader. Other signals have other reasons, such as a
/// lack of memory.
constexpr int kCrashes[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};

/// The child: never returns. A crash is expected here and must stay quiet.
[[noreturn]] void check_in_child(const std::string& path, std::uint64_t map_bytes, int report) {
  for (const int number : kCrashes) {
    signal(number, SIG_DFL);
  }
  const int null_fd = ::open("/dev/null", O_WRONLY);
  dup2(null_fd, STDERR_FILENO);
  Status checked = ok();
  try {
    checked = check_environment(path, map_bytes);
  } catch (const std::bad_alloc&) {
    checked = Error{ErrorCode::kIo, "no memory left to check " + path + ": start again"};
  }
  if (checked) {
    _exit(0);
  }
  const std::string text = checked.error().text.substr(0, kReportBytesMax);
  const ssize_t written = write(report, text.data(), text.size());
  _exit(written < 0 ? 2 : checked.error().code == ErrorCode::kIo ? 3 : 1);
}

Status check_apart(const std::string& path, Environment environment, std::uint64_t map_bytes) {
  int report[2] = {-1, -1};
  if (pipe2(report, O_CLOEXEC) != 0) {
    return io_error(path, "cannot start its check", errno);
  }
  const pid_t child = fork();
  if (child == 0) {
    check_in_child(path, map_bytes, report[1]);
  }
  close(report[1]);
  char text[kReportBytesMax] = {};
  const ssize_t size = child < 0 ? 0 : read(report[0], text, sizeof text);
  close(report[0]);
  if (child < 0) {
    return io_error(path, "cannot start its check", EAGAIN);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    return ok();
  }
  const std::string why = size > 0 ? std::string(text, static_cast<std::size_t>(size))
                                   : std::string("reading it crashes");
  if (WIFEXITED(status) && WEXITSTATUS(status) == 3) {
    return Error{ErrorCode::kIo, why};
  }
  if (WIFSIGNALED(status) && std::ranges::count(kCrashes, WTERMSIG(status)) == 0) {
    return Error{ErrorCode::kIo, "the check of " + path + " was ended by signal " +
                                     std::to_string(WTERMSIG(status)) +
                                     " (no memory left?): it is left as it is; start again"};
  }
  return corrupt_error(path, environment, why);
}

/// Makes the directory if it does not exist, and returns its canonical path.
Result<std::string> make_directory(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) {
    return Error{ErrorCode::kIo, "cannot make " + path + ": " + error.message()};
  }
  if (chmod(path.c_str(), kDirectoryMode) != 0) {
    return Error{ErrorCode::kIo, "cannot restrict " + path + ": " + std::strerror(errno)};
  }
  const std::string name = std::filesystem::canonical(path, error).string();
  if (error) {
    return Error{ErrorCode::kIo, "cannot find " + path + ": " + error.message()};
  }
  return name;
}

}  // namespace

class LmdbStore::Impl {
 public:
  Impl(std::string path, Environment environment)
      : path_(std::move(path)), environment_(environment) {}
  ~Impl() {
    env_.reset();
    OpenPaths::instance().remove(path_);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Status load(const Options& options);
  Status commit(const WriteBatch& batch);
  Status clear();
  Status sync();
  Records take_recovered() { return std::exchange(recovered_, {}); }
  Environment environment() const { return environment_; }

 private:
  int apply(MDB_txn* txn, const Write& write, Root& root);
  Status apply_all(MDB_txn* txn, const WriteBatch& batch, Root& root);
  Status write_root(MDB_txn* txn, const Root& root);
  Error write_error(const char* what, int code) const;
  Result<Root> read_root(MDB_txn* txn);
  void reserve();

  std::string path_;
  Environment environment_;
  Env env_;
  MDB_dbi dbi_ = 0;
  Records recovered_;
  std::string mark_;  ///< The transaction mark on disk; "" = there is no mark yet.
  bool syncs_ = false;
  Options options_;
};

Status LmdbStore::Impl::load(const Options& options) {
  options_ = options;
  if (std::filesystem::exists(path_ + "/data.mdb")) {
    const Status checked = check_apart(path_, environment_, options.map_bytes);
    if (!checked) {
      return checked;
    }
  }
  Result<Env> env = open_env(path_, options.sync ? 0 : MDB_NOSYNC, options.map_bytes);
  if (!env) {
    return env.error().code == ErrorCode::kCorrupt
               ? corrupt_error(path_, environment_, env.error().text)
               : env.error();
  }
  env_ = *std::move(env);
  syncs_ = options.sync;
  int dead_readers = 0;
  mdb_reader_check(env_.get(), &dead_readers);
  Result<Records> records = read_all(env_.get());
  if (!records) {
    return records.error().code == ErrorCode::kIo
               ? records.error()
               : corrupt_error(path_, environment_, records.error().text);
  }
  recovered_ = *std::move(records);
  const auto mark = recovered_.lower_bound(std::string(kTxnTable));
  if (mark != recovered_.end() && number_of(kTxnTable, mark->first).has_value()) {
    mark_ = mark->first;
    recovered_.erase(mark);
  }
  return ok();
}

Result<Root> LmdbStore::Impl::read_root(MDB_txn* txn) {
  MDB_val key = val_of(kRootKey);
  MDB_val value{};
  const int code = mdb_get(txn, dbi_, &key, &value);
  if (code == MDB_NOTFOUND) {
    return Root();
  }
  if (code != 0) {
    return io_error(path_, "cannot read the root record", code);
  }
  const auto payload = unseal(kRootKey, text_of(value));
  const auto root = payload.has_value() ? Root::decode(*payload) : std::nullopt;
  if (!root.has_value()) {
    return corrupt_error(path_, environment_, "the root record changed");
  }
  return *root;
}

int LmdbStore::Impl::apply(MDB_txn* txn, const Write& write, Root& root) {
  CHECK(!write.key.empty() && write.key.size() <= kKeyBytesMax);
  CHECK(write.key != kRootKey);
  MDB_val key = val_of(write.key);
  MDB_val before{};
  int code = mdb_get(txn, dbi_, &key, &before);
  if (code != 0 && code != MDB_NOTFOUND) {
    return code;
  }
  if (code == 0) {
    root.remove(write.key, text_of(before));
  }
  if (!write.value.has_value()) {
    return code == 0 ? mdb_del(txn, dbi_, &key, nullptr) : 0;
  }
  const std::string sealed = seal(write.key, *write.value);
  MDB_val value = val_of(sealed);
  code = mdb_put(txn, dbi_, &key, &value, 0);
  if (code == 0) {
    root.add(write.key, sealed);
  }
  return code;
}

Status LmdbStore::Impl::apply_all(MDB_txn* txn, const WriteBatch& batch, Root& root) {
  for (const Write& write : batch) {
    const int code = apply(txn, write, root);
    if (code != 0) {
      return write_error("cannot write", code);
    }
  }
  return ok();
}

Status LmdbStore::Impl::write_root(MDB_txn* txn, const Root& root) {
  const std::string sealed = seal(kRootKey, root.encode());
  MDB_val key = val_of(kRootKey);
  MDB_val value = val_of(sealed);
  const int code = mdb_put(txn, dbi_, &key, &value, 0);
  return code == 0 ? ok() : Status(write_error("cannot write", code));
}

Error LmdbStore::Impl::write_error(const char* what, int code) const {
  return is_damage(code) ? corrupt_error(path_, environment_, mdb_strerror(code))
                         : io_error(path_, what, code);
}

Status LmdbStore::Impl::clear() {
  env_.reset();
  mark_.clear();
  const Status discarded = LmdbStore::discard(path_);
  return discarded ? load(options_) : discarded;
}

Status LmdbStore::Impl::commit(const WriteBatch& batch) {
  if (batch.empty()) {
    return ok();
  }
  if (env_ == nullptr) {
    return Error{ErrorCode::kCorrupt, path_ + " could not begin again"};
  }
  Result<Txn> txn = begin(env_.get(), 0, dbi_);
  if (!txn) {
    return Error{ErrorCode::kIo, path_ + ": cannot begin a transaction: " + txn.error().text};
  }
  Result<Root> root = read_root(txn->get());
  if (!root) {
    return root.error();
  }
  const std::string mark = key_of(kTxnTable, mdb_txn_id(txn->get()));
  WriteBatch marks = {{mark, std::string()}};
  if (!mark_.empty()) {
    marks.push_back({mark_, std::nullopt});
  }
  for (const Write& write : batch) {
    CHECK(!number_of(kTxnTable, write.key).has_value());
  }
  for (const WriteBatch* part : {&batch, &std::as_const(marks)}) {
    const Status applied = apply_all(txn->get(), *part, *root);
    if (!applied) {
      return applied;
    }
  }
  const Status written = write_root(txn->get(), *root);
  if (!written) {
    return written;
  }
  // mdb_txn_commit() frees the transaction, whether it succeeds or not.
  const int code = mdb_txn_commit((*txn).release());
  if (code != 0) {
    return write_error("cannot commit (is the disk full?)", code);
  }
  mark_ = mark;
  if (syncs_) {
    reserve();
  }
  return ok();
}

/// Extends the file with zeros behind the last page, which LMDB does not take for pages. A full
/// disk leaves a smaller reserve: the next commit fails if it needs more.
void LmdbStore::Impl::reserve() {
  MDB_stat stat{};
  MDB_envinfo info{};
  struct stat file {};
  int fd = -1;
  mdb_env_stat(env_.get(), &stat);
  mdb_env_info(env_.get(), &info);
  mdb_env_get_fd(env_.get(), &fd);
  const auto used = static_cast<off_t>((info.me_last_pgno + 1) * stat.ms_psize);
  if (fstat(fd, &file) != 0 || file.st_size - used >= kReserveMin) {
    return;
  }
  static const std::string zeros(static_cast<std::size_t>(kReserveBytes), '\0');
  [[maybe_unused]] const ssize_t written = pwrite(fd, zeros.data(), zeros.size(), file.st_size);
}

Status LmdbStore::Impl::sync() {
  if (env_ == nullptr) {
    return Error{ErrorCode::kIo, path_ + " is not open"};
  }
  const int code = mdb_env_sync(env_.get(), 1);
  return code == 0 ? ok() : io_error(path_, "cannot sync", code);
}

LmdbStore::LmdbStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LmdbStore::~LmdbStore() = default;

LmdbStore::Options LmdbStore::defaults(Environment environment) {
  switch (environment) {
    case Environment::kId:
      return {.map_bytes = std::uint64_t{64} << 20, .sync = true};
    case Environment::kRaft:
      // It is address space only. The log is limited by entries, and 20,000 may hold 16 GiB.
      return {.map_bytes = std::uint64_t{256} << 30, .sync = true};
    case Environment::kState:
      return {.map_bytes = std::uint64_t{1} << 30, .sync = false};
  }
  return {};
}

Result<std::unique_ptr<LmdbStore>> LmdbStore::open(const std::string& path, Environment environment,
                                                   Options options) {
  const Result<std::string> name = make_directory(path);
  if (!name) {
    return name.error();
  }
  if (!OpenPaths::instance().add(*name)) {
    return Error{ErrorCode::kConflict, *name + " is open already in this process"};
  }
  auto impl = std::make_unique<Impl>(*name, environment);
  const Status loaded = impl->load(options);
  if (!loaded) {
    return loaded.error();
  }
  return std::unique_ptr<LmdbStore>(new LmdbStore(std::move(impl)));
}

Status LmdbStore::discard(const std::string& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  if (error) {
    return Error{ErrorCode::kIo, "cannot delete " + path + ": " + error.message()};
  }
  return ok();
}

Records LmdbStore::recovered() {
  return impl_->take_recovered();
}
Status LmdbStore::commit(const WriteBatch& batch) {
  return impl_->commit(batch);
}
Status LmdbStore::clear() {
  return impl_->clear();
}
Status LmdbStore::sync() {
  return impl_->sync();
}
Environment LmdbStore::environment() const {
  return impl_->environment();
}

}  // namespace muster::crdt
