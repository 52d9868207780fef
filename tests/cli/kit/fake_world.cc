#include "tests/cli/kit/fake_world.h"

#include <gtest/gtest.h>

#include <array>
#include <ctime>

#include "agent/api/hosts.h"
#include "cli/edge/config_file.h"
#include "cli/edge/queues_toml.h"
#include "cli/edge/users_toml.h"
#include "cli/verbs/app.h"

namespace muster::cli {

namespace {

const scheduler::SubmitShell kShell = {027, 4096, scheduler::SubmitShell::kNoLimit, 0};

/// The keys of others are read, one key is made, and none signs.
WorldKeys plain_keys() {
  return {
      [](const SignWish&) {
        return Result<gossip::SshSignature>(Error{ErrorCode::kNotFound, "no key of yours counts"});
      },
      [](const std::string& line) { return gossip::ssh_key_of_line(line); },
      [](const std::string&, const std::string& comment) {
        const gossip::SshKey key{gossip::SshKeyType::kEd25519,
                                 std::string(gossip::kSshPointBytes, 'k'), ""};
        return Result<gossip::SshKeyLine>(gossip::SshKeyLine{key, comment});
      }};
}

}  // namespace

class FakeWorld::Client final : public NodeClient {
 public:
  Client(FakeWorld& world, std::string address) : world_(world), address_(std::move(address)) {}

  Result<agent::Response> ask(const agent::Request& request, Duration timeout) override {
    if (request.verb == agent::Verb::kHostUses) {
      return answer_with(world_.uses);
    }
    world_.requests_.push_back(request);
    world_.asked_.push_back(address_);
    Result<agent::Response> answer = next(request);
    if (!answer && answer.error().code == ErrorCode::kUnknown) {
      world_.now_ += timeout;
    }
    if (!answer && answer.error().code == ErrorCode::kIo) {
      world_.back_at_ = world_.now_ + world_.returns_after;
    }
    return answer;
  }

 private:
  Result<agent::Response> next(const agent::Request& request) {
    if (world_.queue_.empty()) {
      return world_.answer_ ? world_.answer_(request)
                            : Error{ErrorCode::kInvalid, "the test expected no request"};
    }
    Result<agent::Response> answer = std::move(world_.queue_.front());
    world_.queue_.pop_front();
    return answer;
  }

  FakeWorld& world_;
  std::string address_;
};

/// The file that the test wrote under that path, as a tree of queues.
Result<scheduler::QueueTree> FakeWorld::queues_in(const std::string& path) const {
  const auto file = written.find(path);
  return file == written.end()
             ? Result<scheduler::QueueTree>(Error{ErrorCode::kNotFound, path + " cannot be read"})
             : parse_queues_file(file->second, path);
}

namespace {

std::optional<std::int64_t> unix_of_utc(const LocalMinute& minute) {
  std::tm parts{};
  parts.tm_year = minute.year - 1900;
  parts.tm_mon = minute.month - 1;
  parts.tm_mday = minute.day;
  parts.tm_hour = minute.hour;
  parts.tm_min = minute.minute;
  const std::int64_t seconds = timegm(&parts);
  const bool is_day = parts.tm_mon == minute.month - 1 && parts.tm_mday == minute.day;
  return is_day ? std::optional(seconds * 1000) : std::nullopt;
}

std::string text_in_utc(std::uint64_t unix_ms) {
  const auto seconds = static_cast<std::time_t>(unix_ms / 1000);
  std::tm parts{};
  std::array<char, 32> text{};
  gmtime_r(&seconds, &parts);
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &parts);
  return text.data();
}

}  // namespace

FakeWorld::FakeWorld() {
  world_.files.queues = [this](const std::string& path) { return queues_in(path); };
  world_.out = &out_;
  world_.err = &err_;
  world_.all_environment = [this] {
    std::vector<std::string> all;
    for (const auto& [name, value] : environment) {
      all.push_back(name + "=" + value);
    }
    return all;
  };
  world_.terminal.take_interrupt = [this] {
    const bool is_now = interrupts_in == 1;
    interrupts_in -= interrupts_in > 0 ? 1 : 0;
    return is_now;
  };
  world_.environment = [this](const std::string& name) -> std::optional<std::string> {
    const auto found = environment.find(name);
    return found == environment.end() ? std::nullopt : std::optional(found->second);
  };
  world_.connect = [this](const std::string& address) -> Result<std::unique_ptr<NodeClient>> {
    addresses_.push_back(address);
    if (unusable.contains(address)) {
      return Error{ErrorCode::kInvalid, "cannot use '" + address + "'"};
    }
    if (denied.contains(address)) {
      return Error{ErrorCode::kDenied, "the agent at " + address + " answers only root"};
    }
    if (!is_listening_ || dead.contains(address) || now_ < back_at_) {
      return Error{ErrorCode::kUnavailable, "no agent answers at " + address};
    }
    return std::unique_ptr<NodeClient>(std::make_unique<Client>(*this, address));
  };
  world_.random_key = [this] { return std::string(31, 'a') + std::to_string(keys_drawn_++); };
  world_.clock.now = [this] { return now_; };
  world_.clock.sleep = [this](Duration duration) {
    now_ += duration;
    slept_ += duration;
  };
  world_.clock.local_time = text_in_utc;
  world_.clock.unix_ms = [this] { return wall_unix_ms; };
  world_.clock.unix_of = unix_of_utc;
  world_.user_name = [] { return "ann"; };
  world_.shell = {[] { return Result<std::string>("/home/ann"); }, [] { return kShell; }};
  world_.host_name = [] { return "h1"; };
  world_.exists = [this](const std::string& path) { return files.contains(path); };
  world_.files.settings = [](const std::string& path, const std::vector<std::string>& known) {
    return read_config_file(path, known);
  };
  world_.files.users = [this](const std::string& path) {
    const auto file = written.find(path);
    return file == written.end()
               ? Result<UsersFile>(Error{ErrorCode::kNotFound, path + " cannot be read"})
               : parse_users_file(file->second, path);
  };
  world_.is_writable = [this](const std::string& path) { return files.contains(path); };
  world_.files.keys = plain_keys();
  prepare_tickets();
  world_.run_agent = [this](const AgentOptions& options) {
    agents_run.push_back(options);
    return 0;
  };
  environment["HOME"] = "/home/ann";
}

void FakeWorld::prepare_tickets() {
  world_.tickets.make = [] { return NewTicket{"public", "secret"}; };
  world_.tickets.line = [](const std::string& secret, const agent::TicketMade& made) {
    return Result<std::string>("line of " + secret + " at " +
                               (made.contacts.empty() ? "" : made.contacts[0].address));
  };
  world_.tickets.read = [this](const std::string& path) {
    return open_to_others.contains(path)
               ? Result<std::string>(Error{ErrorCode::kDenied, path + " is open to other users"})
               : Result<std::string>("text of " + path);
  };
  world_.tickets.write = [this](const std::string& path, const std::string& line) {
    written[path] = line;
    return ok();
  };
  world_.tickets.why_not_replaced = [this](const std::string& path) {
    return files.contains(path + "/") ? path + " exists and is not a regular file" : "";
  };
  world_.tickets.make_access = [](const ClusterId&) {
    return NewAccess{scheduler::AccessTokenId::from_bytes("access__________"), "hash",
                     "line of the token"};
  };
  world_.tickets.read_access = [this](const std::string& path) -> Result<std::string> {
    if (open_to_others.contains(path)) {
      return Error{ErrorCode::kDenied, path + " is open to other users"};
    }
    return written[path];
  };
  world_.tickets.why_stdout_is_open = [this] {
    return std::string(open_to_others.contains("stdout") ? "open to other users" : "");
  };
}

int FakeWorld::run(const std::vector<std::string>& args) {
  return cli::run(world_, args);
}

std::string FakeWorld::output_of(const std::vector<std::string>& args) {
  EXPECT_EQ(run(args), 0) << err();
  return out();
}

void FakeWorld::answers(agent::Response response) {
  answer_ = [response](const agent::Request&) { return response; };
}

void FakeWorld::answers_in_turn(std::vector<Result<agent::Response>> responses) {
  for (auto& response : responses) {
    queue_.push_back(std::move(response));
  }
}

}  // namespace muster::cli
