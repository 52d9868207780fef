#pragma once
// LoginNames finds the names of uids beside the event loop: the name service of a machine may take
// long, and may hang for ever. At most kThreadsMax threads ask it; one that hangs is lost until it
// returns, and ends with the process. If all hang, each question is answered as "no name" after
// kPatience. Owned by run_agent(), for the life of the process. All calls belong to the thread of
// the event loop; none blocks.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "gossip/base/time.h"

namespace muster::agent {

/// The name of a uid as the name service of this machine has it; "" if it has none, or none that a
/// log can hold. Blocks.
std::string name_of_uid(std::uint32_t uid);

class LoginNames {
 public:
  /// A question that waited so long is answered as "no name". Shorter than the patience of the CLI,
  /// so that a person hears a reason.
  static constexpr Duration kPatience = std::chrono::seconds(2);
  /// A login that is renamed or made has its name here after this.
  static constexpr Duration kKept = std::chrono::seconds(60);
  static constexpr Duration kNamelessKept = std::chrono::seconds(10);
  /// Names that are kept; above, the one that is due first goes.
  static constexpr std::size_t kKeptMax = 4096;
  static constexpr std::size_t kThreadsMax = 4;
  /// Questions that wait.
  static constexpr std::size_t kOpenMax = 256;

  /// Called in threads of this object, several at a time; may block. "" = no name.
  using Lookup = std::function<std::string(std::uint32_t uid)>;
  explicit LoginNames(Lookup lookup = name_of_uid);
  ~LoginNames();
  LoginNames(const LoginNames&) = delete;
  LoginNames& operator=(const LoginNames&) = delete;

  /// "" = it has no name; nullopt: not known, ask().
  std::optional<std::string> find(std::uint32_t uid, Instant now) const;
  /// Looks the uid up, unless that is under way. find() knows it after a turn(), at the latest
  /// after kPatience. False if kOpenMax questions wait.
  bool ask(std::uint32_t uid, Instant now);
  /// Takes the answers of the threads, and gives up what waited too long.
  void turn(Instant now);
  /// When turn() has a question to give up; kNever if there is no question.
  Instant next_deadline() const;
  /// Readable while there are answers to take.
  int fd() const;

 private:
  struct Shared;
  struct Known {
    std::string name;
    Instant until{};
  };

  static void work(const std::shared_ptr<Shared>& shared);
  void start_thread();
  void keep(std::uint32_t uid, std::string name, Instant now);

  /// A thread that hangs keeps it alive.
  std::shared_ptr<Shared> shared_;
  std::map<std::uint32_t, Known> known_;
  std::map<std::uint32_t, Instant> open_;  ///< When each question was asked.
};

}  // namespace muster::agent
