#include "bench/curve_session.h"

#include <sodium.h>

#include <utility>

#include "gossip/base/check.h"

namespace muster::bench {
namespace {

using namespace std::string_view_literals;  // NOLINT: literals only.

constexpr std::string_view kHello = "\x05HELLO"sv;
constexpr std::string_view kWelcome = "\x07WELCOME"sv;
constexpr std::string_view kInitiate = "\x08INITIATE"sv;
constexpr std::string_view kReady = "\x05READY"sv;
constexpr std::string_view kMessage = "\x07MESSAGE"sv;
constexpr std::size_t kHelloBytes = 200;
constexpr std::size_t kHelloPadBytes = 72;
constexpr std::size_t kHelloZeroBytes = 64;
constexpr std::size_t kCookieBytes = 96;
constexpr std::size_t kShortNonceBytes = 8;
constexpr std::size_t kLongNonceBytes = 16;
constexpr unsigned char kFlagCommand = 0x02;

const std::uint8_t* raw(std::string_view bytes) {
  return reinterpret_cast<const std::uint8_t*>(bytes.data());
}
std::uint8_t* raw(std::string& bytes) {
  return reinterpret_cast<std::uint8_t*>(bytes.data());
}

/// The secret that both sides of these keys share.
std::string shared_by(std::string_view public_key, std::string_view secret_key) {
  std::string shared(crypto_box_BEFORENMBYTES, '\0');
  CHECK(crypto_box_beforenm(raw(shared), raw(public_key), raw(secret_key)) == 0);
  return shared;
}

std::string box(std::string_view text, std::string_view nonce, const std::string& shared) {
  CHECK(nonce.size() == crypto_box_NONCEBYTES);
  std::string boxed(text.size() + crypto_box_MACBYTES, '\0');
  CHECK(crypto_box_easy_afternm(raw(boxed), raw(text), text.size(), raw(nonce), raw(shared)) == 0);
  return boxed;
}

std::optional<std::string> unbox(std::string_view boxed, std::string_view nonce,
                                 const std::string& shared) {
  if (boxed.size() < crypto_box_MACBYTES || nonce.size() != crypto_box_NONCEBYTES) {
    return std::nullopt;
  }
  std::string text(boxed.size() - crypto_box_MACBYTES, '\0');
  if (crypto_box_open_easy_afternm(raw(text), raw(boxed), boxed.size(), raw(nonce), raw(shared)) !=
      0) {
    return std::nullopt;
  }
  return text;
}

std::string nonce_of(std::string_view prefix, std::string_view rest) {
  return std::string(prefix) + std::string(rest);
}

std::string random_nonce() {
  std::string nonce(kLongNonceBytes, '\0');
  randombytes_buf(nonce.data(), nonce.size());
  return nonce;
}

std::string metadata() {
  constexpr std::string_view kName = "Socket-Type"sv;
  constexpr std::string_view kType = "ROUTER"sv;
  std::string bytes(1, static_cast<char>(kName.size()));
  bytes += kName;
  bytes.append(3, '\0');  // The length of the value has four bytes.
  bytes += static_cast<char>(kType.size());
  bytes += kType;
  return bytes;
}

}  // namespace

CurveSession::CurveSession(const gossip::LinkKeys& own, std::string server_key)
    : own_(&own), server_key_(std::move(server_key)), short_lived_(gossip::LinkKeys::make()) {}

/// Each nonce is used once, and nonces only rise.
std::string CurveSession::next_nonce() {
  ++nonce_;
  std::string bytes;
  for (int shift = 56; shift >= 0; shift -= 8) {
    bytes += static_cast<char>(nonce_ >> shift & 0xff);
  }
  return bytes;
}

void CurveSession::meet(std::string_view their_short_key) {
  their_short_key_ = std::string(their_short_key);
  shared_ = shared_by(their_short_key_, short_lived_.secret_key);
}

std::string CurveSession::begin() {
  if (!dials()) {
    return "";
  }
  const std::string nonce = next_nonce();
  std::string word(kHello);
  word += "\x01\x00"sv;
  word.append(kHelloPadBytes, '\0');
  word += short_lived_.public_key + nonce;
  word += box(std::string(kHelloZeroBytes, '\0'), nonce_of("CurveZMQHELLO---", nonce),
              shared_by(server_key_, short_lived_.secret_key));
  return word;
}

std::optional<std::string> CurveSession::answer(std::string_view word) {
  if (!dials()) {
    return their_short_key_.empty() ? welcome(word) : ready(word);
  }
  if (their_short_key_.empty()) {
    return initiate(word);
  }
  is_ready_ = word.starts_with(kReady);
  return is_ready_ ? std::optional<std::string>("") : std::nullopt;
}

/// A cookie lets a server forget the connection until INITIATE. This side remembers: it sends
/// zeros.
std::optional<std::string> CurveSession::welcome(std::string_view hello) {
  if (hello.size() != kHelloBytes || !hello.starts_with(kHello)) {
    return std::nullopt;
  }
  const std::string_view key =
      hello.substr(kHello.size() + 2 + kHelloPadBytes, gossip::kLinkKeyBytes);
  meet(key);
  const std::string nonce = random_nonce();
  return std::string(kWelcome) + nonce +
         box(short_lived_.public_key + std::string(kCookieBytes, '\0'), nonce_of("WELCOME-", nonce),
             shared_by(key, own_->secret_key));
}

std::optional<std::string> CurveSession::initiate(std::string_view welcome) {
  if (!welcome.starts_with(kWelcome) || welcome.size() < kWelcome.size() + kLongNonceBytes) {
    return std::nullopt;
  }
  const auto opened = unbox(welcome.substr(kWelcome.size() + kLongNonceBytes),
                            nonce_of("WELCOME-", welcome.substr(kWelcome.size(), kLongNonceBytes)),
                            shared_by(server_key_, short_lived_.secret_key));
  if (!opened.has_value() || opened->size() != gossip::kLinkKeyBytes + kCookieBytes) {
    return std::nullopt;
  }
  meet(std::string_view(*opened).substr(0, gossip::kLinkKeyBytes));
  const std::string vouch_nonce = random_nonce();
  const std::string vouch =
      box(short_lived_.public_key + server_key_, nonce_of("VOUCH---", vouch_nonce),
          shared_by(their_short_key_, own_->secret_key));
  const std::string nonce = next_nonce();
  return std::string(kInitiate) + opened->substr(gossip::kLinkKeyBytes) + nonce +
         box(own_->public_key + vouch_nonce + vouch + metadata(),
             nonce_of("CurveZMQINITIATE", nonce), shared_);
}

std::optional<std::string> CurveSession::ready(std::string_view initiate) {
  const std::size_t head = kInitiate.size() + kCookieBytes;
  if (!initiate.starts_with(kInitiate) || initiate.size() < head + kShortNonceBytes ||
      !unbox(initiate.substr(head + kShortNonceBytes),
             nonce_of("CurveZMQINITIATE", initiate.substr(head, kShortNonceBytes)), shared_)) {
    return std::nullopt;
  }
  is_ready_ = true;
  const std::string nonce = next_nonce();
  return std::string(kReady) + nonce +
         box(metadata(), nonce_of("CurveZMQREADY---", nonce), shared_);
}

std::string CurveSession::seal(std::string_view message) {
  const std::string nonce = next_nonce();
  std::string text(1, '\0');
  text += message;
  return std::string(kMessage) + nonce +
         box(text, nonce_of(dials() ? "CurveZMQMESSAGEC" : "CurveZMQMESSAGES", nonce), shared_);
}

std::optional<std::string> CurveSession::open(std::string_view frame) {
  const std::size_t head = kMessage.size() + kShortNonceBytes;
  if (!frame.starts_with(kMessage) || frame.size() < head) {
    return std::nullopt;
  }
  auto text = unbox(frame.substr(head),
                    nonce_of(dials() ? "CurveZMQMESSAGES" : "CurveZMQMESSAGEC",
                             frame.substr(kMessage.size(), kShortNonceBytes)),
                    shared_);
  if (!text.has_value() || text->empty() ||
      (static_cast<unsigned char>(text->front()) & kFlagCommand) != 0) {
    return std::nullopt;
  }
  text->erase(0, 1);
  return text;
}

}  // namespace muster::bench
