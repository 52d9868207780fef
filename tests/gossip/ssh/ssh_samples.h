#pragma once
// Keys that OpenSSH 9.2 made, for tests: ssh-keygen -t ed25519 made them, and they are used for
// nothing else. A security key is played by an
// Ed25519 key of the test, because OpenSSH signs with none that is not there.

#include <memory>
#include <string>
#include <string_view>

#include "agent/edge/disk/host_key.h"
#include "gossip/base/signing.h"
#include "gossip/ssh/ssh_key.h"

namespace muster::gossip::testing {

inline const agent::HostKeyVerifier kRealKeys{};

inline constexpr std::string_view kAdaLine =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBXoBukR7YhJr3nFH3WLKa2F0golR9v03AZhsd/OFAB4 ada@example";
inline constexpr std::string_view kAdaFingerprint =
    "SHA256:6qpPF11/beTTjeMBjo5TTGuy1YQ5UcWIejTy436v7B0";
/// Of kAdaLine.
inline constexpr std::string_view kAdaKeyFile =
    "-----BEGIN OPENSSH PRIVATE KEY-----\n"
    "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW\n"
    "QyNTUxOQAAACAV6AbpEe2ISa95xR91iymthdIKJUfb9NwGYbHfzhQAeAAAAJBMbQDKTG0A\n"
    "ygAAAAtzc2gtZWQyNTUxOQAAACAV6AbpEe2ISa95xR91iymthdIKJUfb9NwGYbHfzhQAeA\n"
    "AAAEAm1Z4Gne2nVvU1qQjh47fl4THwCWF1EB468cf2df5CsRXoBukR7YhJr3nFH3WLKa2F\n"
    "0golR9v03AZhsd/OFAB4AAAAC2FkYUBleGFtcGxlAQI=\n"
    "-----END OPENSSH PRIVATE KEY-----\n";
inline SshKey ada() {
  return ssh_key_of_line(kAdaLine).value().key;
}

inline std::shared_ptr<const Signer> real_signer(char seed) {
  return agent::HostKeyMaker().signer_of(std::string(agent::HostKey::kSeedBytes, seed));
}

/// A security key whose Ed25519 key has that seed.
inline SshKey security_key(char seed) {
  return {SshKeyType::kSkEd25519, std::string(real_signer(seed)->public_key()), "ssh:muster"};
}

}  // namespace muster::gossip::testing
