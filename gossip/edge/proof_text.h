#pragma once
// The words libzmq says of a connection with every message that came in on it. They are strict: a
// text that is not exactly what it should be proves nothing.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace muster::gossip {

/// The User-Id that our answer to a handshake gives a connection: its link key, in hex. The key and
/// not whose it is, because that may change while the connection lasts.
std::string user_id_of(std::string_view key);
/// The link key of such a User-Id, in raw form.
std::optional<std::string> key_of_user_id(std::string_view user_id);
/// The uid in the Peer-Address of a unix socket, "localhost:UID:GID:PID", as the kernel tells it.
std::optional<std::uint32_t> uid_of_peer_address(std::string_view address);

}  // namespace muster::gossip
