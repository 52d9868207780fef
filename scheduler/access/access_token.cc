#include "scheduler/access/access_token.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include <xxhash.h>

#include "gossip/base/base64.h"
#include "gossip/base/check.h"
#include "gossip/wire/wire.h"

namespace muster::scheduler {
namespace {

constexpr std::string_view kTokenHead = "muster-access-1.";
constexpr std::string_view kTokenName = "muster-access-";
constexpr std::uint64_t kTokenVersion = 1;
/// Of the checksum, which finds slips, not forgers: the hash in the log finds those.
constexpr std::size_t kTokenSumBytes = 4;

std::string token_sum(std::string_view bytes) {
  const std::uint64_t hash = XXH3_64bits(bytes.data(), bytes.size());
  std::string sum;
  for (std::size_t i = 0; i < kTokenSumBytes; ++i) {
    sum += static_cast<char>(hash >> (8 * i));
  }
  return sum;
}

Error broken_token() {
  return {ErrorCode::kInvalid,
          "the access token is cut off or mistyped: copy the whole line that `muster token create` "
          "printed"};
}

std::string_view without_blanks(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r\n";
  line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
  return line.substr(0, line.find_last_not_of(kBlanks) + 1);
}

}  // namespace

std::string to_line(const AccessToken& token) {
  CHECK(token.secret.size() == kAccessSecretBytes);
  std::string bytes = gossip::Encoder()
                          .array(4)
                          .u64(kTokenVersion)
                          .id(token.cluster)
                          .id(token.id)
                          .bytes(token.secret)
                          .take();
  bytes += token_sum(bytes);
  return std::string(kTokenHead) + to_base64(bytes, Base64::kUrl);
}

Result<AccessToken> access_token_in(std::string_view line) {
  if (line.size() > kAccessLineMax) {
    return Error{ErrorCode::kInvalid,
                 "the access token is longer than " + std::to_string(kAccessLineMax) +
                     " bytes: give the one line that `muster token create` printed"};
  }
  line = without_blanks(line);
  if (!line.starts_with(kTokenHead)) {
    return Error{ErrorCode::kInvalid,
                 line.starts_with(kTokenName)
                     ? "the access token has a version that this program does not know: compare "
                       "`muster version` here and there"
                     : "that is not an access token: one begins with \"" + std::string(kTokenHead) +
                           "\", as `muster token create` prints it"};
  }
  std::optional<std::string> bytes = from_base64(line.substr(kTokenHead.size()), Base64::kUrl);
  if (!bytes.has_value() || bytes->size() <= kTokenSumBytes) {
    return broken_token();
  }
  const std::string sum = bytes->substr(bytes->size() - kTokenSumBytes);
  bytes->resize(bytes->size() - kTokenSumBytes);
  if (token_sum(*bytes) != sum) {
    return broken_token();
  }
  const Result<gossip::Document> document = gossip::Document::parse(*std::move(bytes));
  if (!document) {
    return broken_token();
  }
  gossip::Reader in = document->root();
  const std::uint64_t version = in.u64();
  AccessToken token;
  token.cluster = in.id<ClusterId>();
  token.id = in.id<AccessTokenId>();
  token.secret = in.text(kAccessSecretBytes);
  if (!in.ok() || version != kTokenVersion || token.secret.size() != kAccessSecretBytes) {
    return broken_token();
  }
  return token;
}

Result<AccessToken> access_token_of(std::string_view line, ClusterId cluster) {
  Result<AccessToken> token = access_token_in(line);
  if (token && token->cluster != cluster) {
    return Error{ErrorCode::kDenied,
                 "the access token belongs to another cluster: make one of this cluster (`muster "
                 "token create`)"};
  }
  return token;
}

std::string hash_of(const AccessToken& token, const gossip::Verifier& hashes) {
  return hashes.sha256(std::string(kTokenHead) + std::string(token.cluster.bytes()) +
                       std::string(token.id.bytes()) + token.secret);
}

bool is_token_of(const AccessToken& token, std::string_view hash, const gossip::Verifier& hashes) {
  const std::string own = hash_of(token, hashes);
  if (own.size() != hash.size()) {
    return false;
  }
  unsigned differences = 0;
  for (std::size_t i = 0; i < own.size(); ++i) {
    differences |= static_cast<unsigned char>(own[i]) ^ static_cast<unsigned char>(hash[i]);
  }
  return differences == 0;
}

}  // namespace muster::scheduler
