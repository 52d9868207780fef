#include "agent/api/rest/tokens_calls.h"

// Access tokens and tickets. The door draws their secrets, and the answer alone holds them.

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agent/api/enrolment.h"
#include "agent/api/hosts.h"
#include "agent/api/json/bytes_text.h"
#include "agent/api/json/enrolment.h"
#include "agent/api/json/users.h"
#include "agent/api/users.h"

namespace muster::agent {
namespace {

constexpr Duration kTokenTtlDefault = std::chrono::hours(24 * 30);
constexpr Duration kTicketTtlDefault = std::chrono::hours(1);
constexpr Duration kTtlLeast = std::chrono::seconds(1);
/// Answers asked for; each holds kTokensPage.
constexpr std::size_t kTokenPagesMax = 1000;
/// Digits of a key, as people name tickets.
constexpr std::size_t kTicketNameDigits = 12;
constexpr char kNoSecrets[] = "this node draws no secrets for clients: use `muster` on a host";

using TakeTokens = std::function<CallStep(std::vector<TokenInfo>, bool, const Response&)>;

/// The tokens that are read by the steps of one call.
struct TokensRead {
  std::vector<TokenInfo> all{};
  TokensQuery query{};
  std::size_t enough = SIZE_MAX;  ///< No further page is read behind so many tokens.
  std::size_t pages = 0;
  TakeTokens take{};  ///< True: there are more.
};

CallStep next_tokens(const CallFrame& frame, const std::shared_ptr<TokensRead>& so_far) {
  return look_up<TokenList>(
      frame, Verb::kTokens, encode_payload(so_far->query),
      [frame, so_far](const TokenList& list, const Response& response) -> CallStep {
        so_far->all.insert(so_far->all.end(), list.tokens.begin(), list.tokens.end());
        const bool has_more = list.has_more && !list.tokens.empty();
        if (!has_more || so_far->all.size() >= so_far->enough ||
            ++so_far->pages == kTokenPagesMax) {
          return so_far->take(std::move(so_far->all), has_more, response);
        }
        so_far->query.after = list.tokens.back().id;
        return next_tokens(frame, so_far);
      });
}

void take_rights(JsonFields& body, TokenArgs& made) {
  body.need("token_rights");
  for (const std::string& right : body.texts("token_rights").value_or(JsonFields::Texts())) {
    if (right != "read" && right != "submit") {
      body.refuse("token_rights", "'" + right + "' is not read or submit");
    }
    made.may_read = made.may_read || right == "read";
    made.may_submit = made.may_submit || right == "submit";
  }
  if (!made.may_read && !made.may_submit) {
    body.refuse("token_rights", "give read, submit, or both");
  }
}

CallStep order_token(const CallFrame& frame, TokenArgs made, const FreshAccess& fresh) {
  made.id = fresh.id;
  made.hash = fresh.hash;
  const TokenInfo token{made.id, "", made.label, made.may_read, made.may_submit, made.team, 0};
  return order(frame, Verb::kMakeToken, encode_payload(made),
               [frame, token, line = fresh.line](const Response& response) {
                 return told(frame, token_json(token, line, ""), response);
               },
               {"", "look at the tokens, and revoke one that you do not have"});
}

CallStep told_ticket(const CallFrame& frame, const RestChance& chance, const FreshTicket& fresh,
                     const Response& response) {
  const auto made = decode_payload<TicketMade>(response.payload);
  const Result<std::string> line = chance.ticket_line(fresh.secret, made.value_or(TicketMade()));
  return line ? told(frame, ticket_json(hex(fresh.key).substr(0, kTicketNameDigits), *line, ""),
                     response)
              : refused(ResponseStatus::kFailed, line.error().text);
}

}  // namespace

CallStep list_tokens(CallInput& input) {
  auto wanted = std::make_shared<TokensRead>();
  wanted->query.is_all = input.query.boolean("all").value_or(false);
  const auto limit = input.query.number("limit", 1, kPageMax);
  const bool is_page = limit.has_value() || input.query.has("after");
  wanted->query.after = after_id<scheduler::AccessTokenId>(input.query);
  if (const Status status = input.end(); !status) {
    return refused(status.error());
  }
  const std::size_t size = is_page ? limit.value_or(kPageMax) : SIZE_MAX;
  wanted->enough = size;
  wanted->take = [frame = input.frame, size](std::vector<TokenInfo> tokens, bool has_more,
                                             const Response& response) {
    const bool is_cut = tokens.size() > size;
    if (is_cut) {
      tokens.resize(size);
    }
    CallStep step = told(frame, tokens_json(tokens, response), response);
    return is_cut || has_more ? with_next(std::move(step), tokens.back().id.hex())
                              : std::move(step);
  };
  return next_tokens(input.frame, wanted);
}

CallStep make_token(CallInput& input) {
  TokenArgs made;
  input.body.need("made_for");
  made.label = input.body.text("made_for").value_or("");
  take_rights(input.body, made);
  made.team = input.body.text("team").value_or("");
  made.ttl_ms = static_cast<std::uint64_t>(
      to_ms(span_of(input.body, "ttl", kTtlLeast).value_or(kTokenTtlDefault)));
  if (made.label.empty()) {
    input.body.refuse("made_for", "give a name, which lists show");
  }
  if (const Status status = input.end(); !status) {
    return refused(status.error());
  }
  if (input.chance.access == nullptr) {
    return refused(ResponseStatus::kUsage, kNoSecrets);
  }
  return look_up<VersionInfo>(
      input.frame, Verb::kVersion, "",
      [frame = input.frame, made, draw = input.chance.access](const VersionInfo& node,
                                                              const Response&) -> CallStep {
        return node.cluster.is_zero()
                   ? refused(ResponseStatus::kNoQuorum,
                             "the node has no cluster yet: create one with `muster init`, or "
                             "join one")
                   : order_token(frame, made, draw(node.cluster));
      });
}

CallStep end_token(CallInput& input) {
  auto wanted = std::make_shared<TokensRead>();
  wanted->query.is_all = input.query.boolean("all").value_or(false);
  if (const Status status = input.end(); !status) {
    return refused(status.error());
  }
  wanted->take = [frame = input.frame, name = input.value("token"), is_all = wanted->query.is_all](
                     const std::vector<TokenInfo>& tokens, bool, const Response&) -> CallStep {
    std::vector<TokenInfo> found;
    std::copy_if(tokens.begin(), tokens.end(), std::back_inserter(found),
                 [&name](const TokenInfo& token) { return token.id.hex().starts_with(name); });
    if (found.size() != 1) {
      return refused(ResponseStatus::kNotFound,
                     "no access token" + std::string(is_all ? "" : " of yours") +
                         ", or more than one, has a name that begins with " + name +
                         ": see `muster token list" + (is_all ? " --all`" : "`"));
    }
    return order(frame, Verb::kEndToken, encode_payload(TokenRef{found.front().id}),
                 [frame, token = found.front()](const Response& response) {
                   return told(frame, token_json(token, "", ""), response);
                 });
  };
  return next_tokens(input.frame, wanted);
}

CallStep list_tickets(CallInput& input) {
  if (const Status status = input.end(); !status) {
    return refused(status.error());
  }
  return look_up<TicketList>(
      input.frame, Verb::kTickets, "",
      [frame = input.frame](const TicketList& list, const Response& response) {
        return told(frame, to_json(list, response), response);
      });
}

CallStep make_ticket(CallInput& input) {
  TicketArgs ticket;
  ticket.uses = input.body.number("uses", 1, UINT32_MAX).value_or(ticket.uses);
  ticket.ttl_ms = static_cast<std::uint64_t>(
      to_ms(span_of(input.body, "ttl", kTtlLeast).value_or(kTicketTtlDefault)));
  ticket.host_name = input.body.text("host").value_or("");
  ticket.may_vote = input.body.boolean("may_vote").value_or(false);
  ticket.may_vouch = input.body.boolean("may_vouch").value_or(false);
  if (const Status status = input.end(); !status) {
    return refused(status.error());
  }
  if (input.chance.ticket == nullptr || input.chance.ticket_line == nullptr) {
    return refused(ResponseStatus::kUsage, kNoSecrets);
  }
  const FreshTicket fresh = input.chance.ticket();
  ticket.key = fresh.key;
  return order(input.frame, Verb::kMakeTicket, encode_payload(ticket),
               [frame = input.frame, chance = input.chance, fresh](const Response& response) {
                 return told_ticket(frame, chance, fresh, response);
               },
               {"", "look at the tickets, and revoke one that you do not have"});
}

CallStep end_ticket(CallInput& input) {
  const std::string name = input.value("ticket");
  if (const Status status = input.end(); !status) {
    return refused(status.error());
  }
  return look_up<TicketList>(
      input.frame, Verb::kTickets, "",
      [frame = input.frame, name](const TicketList& list, const Response&) -> CallStep {
        std::vector<std::string> keys;
        for (const TicketInfo& ticket : list.tickets) {
          if (hex(ticket.key).starts_with(name)) {
            keys.push_back(ticket.key);
          }
        }
        if (keys.size() != 1) {
          return refused(ResponseStatus::kNotFound,
                         "no ticket, or more than one, has a name that begins with " + name +
                             ": see `muster ticket list`");
        }
        return order(frame, Verb::kEndTicket, encode_payload(TicketRef{keys.front()}),
                     [frame, key = keys.front()](const Response& response) {
                       return told(frame,
                                   ticket_json(hex(key).substr(0, kTicketNameDigits), "", ""),
                                   response);
                     });
      });
}

}  // namespace muster::agent
