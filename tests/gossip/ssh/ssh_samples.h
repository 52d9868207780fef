#pragma once
// Keys and signatures that OpenSSH 9.2 made, for tests: ssh-keygen -t ed25519 made the keys, which
// are used for nothing else, and ssh-keygen -Y sign the signatures. A security key is played by an
// Ed25519 key of the test, because OpenSSH signs with none that is not there.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "agent/edge/disk/host_key.h"
#include "gossip/base/signing.h"
#include "gossip/ssh/ssh_signature.h"
#include "gossip/ssh/ssh_wire.h"

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
/// Of another key, whose passphrase is "pass".
inline constexpr std::string_view kLockedKeyFile =
    "-----BEGIN OPENSSH PRIVATE KEY-----\n"
    "b3BlbnNzaC1rZXktdjEAAAAACmFlczI1Ni1jdHIAAAAGYmNyeXB0AAAAGAAAABCH0913wU\n"
    "fVNZzs6ObLtnB5AAAAEAAAAAEAAAAzAAAAC3NzaC1lZDI1NTE5AAAAIFZJtOnyiyj7Phrr\n"
    "YAU0bt2ef285j6eipdVsSHdxQH7kAAAAoGUjT+OahfQyZzndmziz9lZYtTZfdGGxocPJ2O\n"
    "sa0kd37aBq+h1BVXGxz2I4qO9NYz/Q1hkUHlevZigA40INeTPRjUujt0IK5QtbYONPrqWl\n"
    "nRXCZvz3gzVmw56t1EcZgidXCzBSWdKAbY0fA5sdKymtlavU+qVngvPYv7PvyP6cZhmGVT\n"
    "wDOivZ6jr3Hhp+uWS18mkDTW1tgyoqT/N8/8s=\n"
    "-----END OPENSSH PRIVATE KEY-----\n";

inline constexpr std::string_view kSignedMessage = "drain host n7\n";
inline constexpr std::string_view kSignedNamespace = "muster-request@example";
/// ssh-keygen -Y sign -n muster-request@example, by the key of kAdaLine.
inline constexpr std::string_view kAdaSignature =
    "-----BEGIN SSH SIGNATURE-----\n"
    "U1NIU0lHAAAAAQAAADMAAAALc3NoLWVkMjU1MTkAAAAgFegG6RHtiEmvecUfdYsprYXSCi\n"
    "VH2/TcBmGx384UAHgAAAAWbXVzdGVyLXJlcXVlc3RAZXhhbXBsZQAAAAAAAAAGc2hhNTEy\n"
    "AAAAUwAAAAtzc2gtZWQyNTUxOQAAAEAnYFL9vLrUZXOXGKlYtERQE0iMmJy+kLRgmRoOU7\n"
    "a/PrOp+UcVrkBDeE9p9wxqC2CxQyKoinPjT3l5LZFO1hUI\n"
    "-----END SSH SIGNATURE-----\n";
/// The same with -O hashalg=sha256.
inline constexpr std::string_view kAdaSha256Signature =
    "-----BEGIN SSH SIGNATURE-----\n"
    "U1NIU0lHAAAAAQAAADMAAAALc3NoLWVkMjU1MTkAAAAgFegG6RHtiEmvecUfdYsprYXSCi\n"
    "VH2/TcBmGx384UAHgAAAAWbXVzdGVyLXJlcXVlc3RAZXhhbXBsZQAAAAAAAAAGc2hhMjU2\n"
    "AAAAUwAAAAtzc2gtZWQyNTUxOQAAAEAHnRRe1WsxxndskQbUTsGZCFmvUaL2l4cQjRLnUq\n"
    "BpQY4Rs5o+Ig3aHpnGQTfD6n50RjIjcdF39wuacYFF6S8H\n"
    "-----END SSH SIGNATURE-----\n";

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

/// Signs as a security key does (PROTOCOL.u2f): under the hash of its application, the flags, the
/// counter and the hash of the data.
inline SshSignature touch(char seed, std::string_view name_space, std::string_view message,
                          std::uint8_t flags = kSshUserPresent) {
  constexpr std::uint32_t kCounter = 7;
  SshSignature signature;
  signature.key = security_key(seed);
  signature.name_space = name_space;
  signature.flags = flags;
  signature.counter = kCounter;
  const std::string data = ssh_signed_data(name_space, signature.hash, message, kRealKeys);
  signature.bytes = real_signer(seed)->sign(SshWriter()
                                                .raw(kRealKeys.sha256(signature.key.application))
                                                .byte(flags)
                                                .u32(kCounter)
                                                .raw(kRealKeys.sha256(data))
                                                .take());
  return signature;
}

}  // namespace muster::gossip::testing
