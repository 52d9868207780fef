#pragma once
// The properties by which libzmq names the sender of each message. The parsers are strict: a text
// of any other form proves no sender.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace muster::gossip {

/// The User-Id that our answer to a handshake gives a connection: its link key, in hex. It is the
/// key and not its owner, because the owner may change while the connection lasts.
std::string user_id_of(std::string_view key);
/// The link key of such a User-Id, in raw form; nullopt if it is malformed.
std::optional<std::string> key_of_user_id(std::string_view user_id);
/// The uid in the Peer-Address of a unix socket, "localhost:UID:GID:PID", as the kernel tells it;
/// nullopt if it is malformed.
std::optional<std::uint32_t> uid_of_peer_address(std::string_view address);

}  // namespace muster::gossip
