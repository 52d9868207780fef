// muster token create, list and revoke: access tokens, with which programs ask in a user's name.

#include <algorithm>
#include <optional>

#include "agent/api/hosts.h"
#include "agent/api/json/users.h"
#include "agent/api/payload.h"
#include "agent/api/request.h"
#include "agent/api/users.h"
#include "cli/kit/duration.h"
#include "cli/kit/retry.h"
#include "cli/kit/table.h"
#include "cli/kit/text.h"
#include "cli/kit/ticket_output.h"
#include "cli/verbs/verb.h"
#include "scheduler/access/token_book.h"

namespace muster::cli {
namespace {

using agent::ResponseStatus;
using agent::TokenInfo;

constexpr Duration kAccessTtl = std::chrono::hours(24 * 30);
/// The lines of access tokens begin so.
constexpr char kLineBegin[] = "muster-access-";

std::string rights_text(const TokenInfo& token) {
  return token.may_read && token.may_submit ? "read, submit" : token.may_read ? "read" : "submit";
}

class CreateToken final : public Verb {
 public:
  void describe(Options& options) override {
    options.text("--for", made_.label, "Name of the token, which lists show", "NAME");
    options.value(
        "--may", [this](const std::string& given) { return accept(given); },
        "Rights of the token: read, submit, or both with a comma", "RIGHTS");
    options.text("--team", made_.team, "Let the token submit for this team alone", "TEAM");
    options.duration("--ttl", ttl_,
                     "Let the token count for this long; the time stops without a "
                     "leader",
                     std::chrono::seconds(1));
    output_.describe(options);
    common_.describe(options);
    options.example("muster token create --for ci --may submit,read --ttl 30d --out token");
  }

  int run(Session& session) override {
    if (made_.label.empty() || !(made_.may_read || made_.may_submit)) {
      return session.fail(ResponseStatus::kUsage,
                          "give --for NAME and --may read, --may submit or --may submit,read");
    }
    if (const auto refused = output_.refusal(session)) {
      return *refused;
    }
    const auto node = session.read<agent::VersionInfo>(agent::Verb::kVersion);
    if (!node.has_value()) {
      return session.failed();
    }
    if (node->cluster.is_zero()) {
      return session.fail(
          ResponseStatus::kNoQuorum,
          "the node has no cluster yet: create one with `muster init`, or join one");
    }
    const NewAccess fresh = session.world().tickets.make_access(node->cluster);
    made_.id = fresh.id;
    made_.hash = fresh.hash;
    made_.ttl_ms = static_cast<std::uint64_t>(to_ms(ttl_));
    agent::Request request;
    request.verb = agent::Verb::kMakeToken;
    request.user = session.world().user_name();
    request.arguments = agent::encode_payload(made_);
    const Reply reply = exchange_with_retries(session, request).reply;
    return reply.is_ok() ? print(session, fresh.line) : session.fail(reply);
  }

 private:
  Status accept(const std::string& given) {
    for (std::size_t start = 0; start <= given.size();) {
      const std::size_t end = std::min(given.find(',', start), given.size());
      const std::string right = given.substr(start, end - start);
      if (right != "read" && right != "submit") {
        return Error{ErrorCode::kInvalid, "'" + right + "' is not read or submit"};
      }
      (right == "read" ? made_.may_read : made_.may_submit) = true;
      start = end + 1;
    }
    return ok();
  }

  int print(Session& session, const std::string& line) const {
    const bool is_json = session.common().is_json;
    const TokenInfo token{made_.id,   "", made_.label, made_.may_read, made_.may_submit,
                          made_.team, 0};
    if (!is_json || !output_.path().empty()) {
      if (const int failed = output_.put(session, line); failed != 0) {
        return failed;
      }
    }
    if (is_json) {
      session.out() << token_json(token, output_.path().empty() ? line : "", output_.path())
                    << "\n";
    } else {
      session.note(
          "a program that has that line in MUSTER_ACCESS, or in a file for --access-file, "
          "may " +
          rights_text(token) + " in your name for " + format_duration(ttl_) +
          "; `muster token revoke " + made_.id.short_hex() + "` ends it");
    }
    return 0;
  }

  agent::TokenArgs made_;
  TicketOutput output_{"access token", "ask in your name"};
  Duration ttl_ = kAccessTtl;
};

/// All pages; nullopt if one is missing, and the failure was printed.
std::optional<std::vector<TokenInfo>> read_tokens(Session& session, bool is_all) {
  std::vector<TokenInfo> tokens;
  agent::TokensQuery query{is_all, {}};
  for (;;) {
    const auto page =
        session.read<agent::TokenList>(agent::Verb::kTokens, agent::encode_payload(query));
    if (!page.has_value()) {
      return std::nullopt;
    }
    tokens.insert(tokens.end(), page->tokens.begin(), page->tokens.end());
    if (!page->has_more || page->tokens.empty() || tokens.size() >= scheduler::kTokensMax) {
      return tokens;
    }
    query.after = page->tokens.back().id;
  }
}

class ListTokens final : public Verb {
 public:
  void describe(Options& options) override {
    options.flag("--all", is_all_, "List the tokens of all users, not only yours; admins may");
    common_.describe(options);
    options.example("muster token list");
  }

  int run(Session& session) override {
    const auto tokens = read_tokens(session, is_all_);
    if (!tokens.has_value()) {
      return session.failed();
    }
    if (session.common().is_json) {
      session.out() << agent::tokens_json(*tokens, session.last()) << "\n";
      return 0;
    }
    Table table({{.title = "TOKEN", .columns_min = 8},
                 {.title = "FOR", .columns_min = 8},
                 {.title = "USER", .columns_min = 8},
                 {.title = "MAY", .columns_min = 6},
                 {.title = "TEAM"},
                 {.title = "EXPIRES IN", .is_number = true}});
    for (const TokenInfo& token : *tokens) {
      table.add({token.id.short_hex(), token.label, token.user, rights_text(token),
                 token.team.empty() ? "any" : token.team,
                 token.ends_in_ms == 0 ? "expired" : format_age(token.ends_in_ms)});
    }
    session.out() << table.text(session.screen());
    return 0;
  }

 private:
  bool is_all_ = false;
};

class RevokeToken final : public Verb {
 public:
  void describe(Options& options) override {
    options.word("TOKEN", name_, "Token to revoke, as `muster token list` names it");
    options.flag("--all", is_all_, "Revoke a token of any user; admins may");
    common_.describe(options);
    options.example("muster token revoke 5f0c1d22");
  }

  int run(Session& session) override {
    if (name_.starts_with(kLineBegin)) {
      return session.fail(ResponseStatus::kUsage,
                          "that is the line of a token, a secret: name the token as `muster token "
                          "list` does");
    }
    const auto tokens = read_tokens(session, is_all_);
    if (!tokens.has_value()) {
      return session.failed();
    }
    const auto is_named = [&](const TokenInfo& token) {
      return !name_.empty() && token.id.hex().starts_with(name_);
    };
    const auto found = std::find_if(tokens->begin(), tokens->end(), is_named);
    if (std::count_if(tokens->begin(), tokens->end(), is_named) != 1) {
      return session.fail(ResponseStatus::kNotFound,
                          "no access token" + std::string(is_all_ ? "" : " of yours") +
                              ", or more than one, has a name that begins with " + name_ +
                              ": see `muster token list" + (is_all_ ? " --all`" : "`"));
    }
    agent::Request request;
    request.verb = agent::Verb::kEndToken;
    request.user = session.world().user_name();
    request.arguments = agent::encode_payload(agent::TokenRef{found->id});
    const Reply reply = exchange_with_retries(session, request).reply;
    if (!reply.is_ok()) {
      return session.fail(reply);
    }
    session.out() << (session.common().is_json ? agent::token_json(*found, "", "")
                                               : printable("access token " + found->id.short_hex() +
                                                           " (" + found->label + ") is revoked"))
                  << "\n";
    return 0;
  }

 private:
  std::string name_;
  bool is_all_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_token_create() {
  return std::make_unique<CreateToken>();
}
std::unique_ptr<Verb> make_token_list() {
  return std::make_unique<ListTokens>();
}
std::unique_ptr<Verb> make_token_revoke() {
  return std::make_unique<RevokeToken>();
}

}  // namespace muster::cli
