#pragma once
// Everything a verb touches outside itself, so that tests run verbs without a node, a clock, a
// terminal or an environment of the process.

#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/api/enrolment.h"
#include "agent/api/json/audit_check.h"
#include "agent/api/request.h"
#include "cli/kit/node_client.h"
#include "cli/kit/settings.h"
#include "cli/kit/text.h"
#include "cli/kit/users_file.h"
#include "gossip/base/ids.h"
#include "gossip/base/result.h"
#include "gossip/base/time.h"
#include "gossip/ssh/ssh_key.h"
#include "gossip/ssh/ssh_signature.h"
#include "scheduler/protocol/job.h"
#include "scheduler/protocol/queues.h"
#include "scheduler/protocol/users.h"

namespace muster::cli {

struct AgentOptions;

/// A minute of the local wall clock.
struct LocalMinute {
  int year = 1970;
  int month = 1;  ///< 1 to 12.
  int day = 1;
  int hour = 0;
  int minute = 0;
};

/// The time that passes, and the one that people read.
struct WorldClock {
  std::function<Instant()> now;
  std::function<void(Duration)> sleep;
  /// "2026-11-23 11:38:09" where this process is, of milliseconds since 1970 began.
  std::function<std::string(std::uint64_t unix_ms)> local_time;
  /// Milliseconds since 1970 began.
  std::function<std::uint64_t()> unix_ms;
  /// The first moment of that minute, in milliseconds since 1970 began; nullopt if the calendar has
  /// no such day, or if the clock skips the minute because it is set forward then.
  std::function<std::optional<std::int64_t>(const LocalMinute&)> unix_of;
};

/// The person in front of the process, if there is one.
struct WorldTerminal {
  bool is_err = false;  ///< stderr is one.
  Screen screen;        ///< Of stdout.
  /// Shows a long text piece by piece. False if that cannot be done here. Empty if stdout is no
  /// terminal.
  std::function<bool(const std::string& text)> page;
  /// The line that a person typed in answer; nullopt at the end of input. Empty if there is no
  /// person to ask: stdin or stderr is no terminal.
  std::function<std::optional<std::string>(const std::string& question)> ask;
  /// From the first call on Ctrl-C ends nothing; true once after each.
  std::function<bool()> take_interrupt;
  /// From now on a write to a pipe that nobody reads fails, instead of ending the process.
  std::function<void()> bear_broken_pipes;
  /// Called before a request that changes something is sent: what became of it is to be told.
  std::function<void(agent::Verb)> on_change = [](agent::Verb) {};
};

/// A ticket that is about to be made.
struct NewTicket {
  std::string key;     ///< Public.
  std::string secret;  ///< Known only to the holders of the ticket.
};

/// An access token that is about to be made.
struct NewAccess {
  scheduler::AccessTokenId id;
  std::string hash;  ///< All that the cluster hears of the secret.
  std::string line;  ///< The secret, as people hold it.
};

struct WorldTickets {
  std::function<NewTicket()> make;
  /// The line that people hold.
  std::function<Result<std::string>(const std::string& secret, const agent::TicketMade& made)> line;
  /// The text of a file; of stdin for "-". kDenied: others can read it.
  std::function<Result<std::string>(const std::string& path)> read;
  /// Writes the line to a file that no other user can read.
  std::function<Status(const std::string& path, const std::string& line)> write;
  /// Why others can read what is written to stdout; "" = they cannot, or it is no file.
  std::function<std::string()> why_stdout_is_open;
  std::function<NewAccess(const ClusterId&)> make_access;
  /// The text of a file that holds an access token; errors as of `read`.
  std::function<Result<std::string>(const std::string& path)> read_access;
  /// Why `write` cannot replace what is at the path; "" = it may.
  std::function<std::string(const std::string& path)> why_not_replaced;
};

/// A signature that a person is asked for.
struct SignWish {
  /// A key that counts, and the message that it has to sign.
  struct Choice {
    gossip::SshKey key;
    std::string message;
  };
  std::string sign_with;     ///< A key file; "agent": ssh-agent; "": ssh-agent, else default_file.
  std::string default_file;  ///< Where `muster init` put a key.
  std::string name_space;
  std::vector<Choice> choices;
};

/// SSH keys of the person.
struct WorldKeys {
  /// Signs by a key that counts. The error is a sentence for the person.
  std::function<Result<gossip::SshSignature>(const SignWish& wish)> sign;
  /// A key of another person: its line, or the .pub file with it.
  std::function<Result<gossip::SshKeyLine>(const std::string& line_or_path)> read;
  /// The public key of the file; it is made if it is not there, with its folder, for its owner
  /// alone.
  std::function<Result<gossip::SshKeyLine>(const std::string& path, const std::string& comment)>
      make;
};

/// Where this process was started, and with what.
struct WorldShell {
  /// The working directory as the shell names it, through whatever links; kNotFound: it was
  /// removed.
  std::function<Result<std::string>()> directory;
  std::function<scheduler::SubmitShell()> settings;
};

/// The files that people write for verbs.
struct WorldFiles {
  /// The settings in a config file; errors as of read_config_file in config_file.h.
  std::function<Result<Settings>(const std::string& path, const std::vector<std::string>& known)>
      settings;
  /// Users, teams and rules; errors as of read_users_file in users_toml.h.
  std::function<Result<UsersFile>(const std::string& path)> users;
  WorldKeys keys{};
  /// Checks an audit file; errors as of check_audit_file in audit_reader.h.
  std::function<Result<agent::AuditFileReport>(const std::string& path,
                                               const std::optional<agent::ChainEnd>& noted)>
      audit{};
  /// The tree of queues; errors as of read_queues_file in queues_toml.h.
  std::function<Result<scheduler::QueueTree>(const std::string& path)> queues{};
};

struct World {
  std::ostream* out = nullptr;  ///< stdout: answers. Owned by the caller, as `err`.
  std::ostream* err = nullptr;  ///< stderr: errors, ages, progress.
  WorldTerminal terminal;

  std::function<std::optional<std::string>(const std::string& name)> environment;
  /// Every variable of this process, "NAME=VALUE".
  std::function<std::vector<std::string>()> all_environment;
  /// `address` is "ipc://PATH". kUnavailable: no agent listens there; kDenied: only others may ask
  /// there; kInvalid: it is no address.
  std::function<Result<std::unique_ptr<NodeClient>>(const std::string& address)> connect;
  /// 32 hex digits, drawn at random.
  std::function<std::string()> random_key;
  WorldClock clock;
  std::function<std::string()> user_name;
  WorldShell shell;
  std::function<std::string()> host_name;  ///< Short: up to the first dot.
  std::function<bool(const std::string& path)> exists;
  std::function<bool(const std::string& path)> is_writable;
  WorldFiles files;
  WorldTickets tickets;
  /// The exit code of the process; returns when the agent has ended.
  std::function<int(const AgentOptions&)> run_agent;
};

}  // namespace muster::cli
