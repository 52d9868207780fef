#include "gossip/edge/ticket_line.h"

#include <sodium.h>

#include <algorithm>

#include "gossip/base/check.h"
#include "gossip/wire/transport.h"
#include "gossip/wire/wire.h"

namespace muster::gossip {
namespace {

constexpr std::string_view kHead = "muster1.";
constexpr std::string_view kName = "muster";
constexpr int kLetters = sodium_base64_VARIANT_URLSAFE_NO_PADDING;
constexpr std::size_t kSumBytes = 4;
constexpr std::size_t kSecretBytes = 32;

std::string sum_of(std::string_view bytes) {
  unsigned char sum[crypto_generichash_BYTES] = {};
  crypto_generichash(sum, sizeof sum, reinterpret_cast<const unsigned char*>(bytes.data()),
                     bytes.size(), nullptr, 0);
  return {reinterpret_cast<const char*>(sum), kSumBytes};
}

Error broken() {
  return {ErrorCode::kInvalid,
          "the ticket is cut off or mistyped: copy the whole line that `muster ticket` printed"};
}

}  // namespace

std::string to_line(const TicketLine& ticket) {
  CHECK(ticket.doors.size() <= kTicketDoorsMax);
  Encoder out;
  out.array(3).array(ticket.doors.size());
  for (const TicketLine::Door& door : ticket.doors) {
    const auto* ip = reinterpret_cast<const char*>(door.at.ip.data());
    out.array(3).bytes({ip, door.at.ip.size()}).u64(door.at.port).bytes(door.link_key);
  }
  out.bytes(ticket.authority).bytes(ticket.secret);
  std::string bytes = out.take();
  bytes += sum_of(bytes);
  std::string letters(sodium_base64_ENCODED_LEN(bytes.size(), kLetters), '\0');
  sodium_bin2base64(letters.data(), letters.size(),
                    reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), kLetters);
  letters.resize(letters.size() - 1);  // The terminating zero.
  return std::string(kHead) + letters;
}

Result<TicketLine> ticket_in(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r\n";
  line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
  line = line.substr(0, line.find_last_not_of(kBlanks) + 1);
  if (!line.starts_with(kHead)) {
    return Error{ErrorCode::kInvalid,
                 line.starts_with(kName)
                     ? "the ticket has a version that this program does not know: compare `muster "
                       "version` here and there"
                     : "that is not a ticket: a ticket begins with \"" + std::string(kHead) +
                           "\", as `muster ticket` and `muster init` print it"};
  }
  const std::string_view letters = line.substr(kHead.size());
  if (line.size() > kTicketLineMax) {
    return broken();
  }
  std::string bytes(letters.size(), '\0');
  std::size_t size = 0;
  if (sodium_base642bin(reinterpret_cast<unsigned char*>(bytes.data()), bytes.size(),
                        letters.data(), letters.size(), nullptr, &size, nullptr, kLetters) != 0 ||
      size <= kSumBytes) {
    return broken();
  }
  const std::string sum = bytes.substr(size - kSumBytes, kSumBytes);
  bytes.resize(size - kSumBytes);
  if (sum_of(bytes) != sum) {
    return broken();
  }
  Result<Document> document = Document::parse(bytes);
  if (!document) {
    return broken();
  }
  Reader in = document->root();
  TicketLine ticket;
  Reader doors = in.array_at_most(kTicketDoorsMax);
  while (doors.ok() && doors.left() > 0) {
    Reader each = doors.array();
    TicketLine::Door door;
    const std::string_view ip = each.bytes();
    if (ip.size() != door.at.ip.size()) {
      each.fail();
      break;
    }
    std::copy(ip.begin(), ip.end(), reinterpret_cast<char*>(door.at.ip.data()));
    door.at.port = static_cast<std::uint16_t>(each.u64_at_most(UINT16_MAX));
    door.link_key = each.text(kLinkKeyBytes);
    ticket.doors.push_back(std::move(door));
  }
  ticket.authority = in.text(kLinkKeyBytes);
  ticket.secret = in.text(kSecretBytes);
  if (!in.ok() || ticket.doors.empty() || ticket.secret.size() != kSecretBytes) {
    return broken();
  }
  return ticket;
}

}  // namespace muster::gossip
