#include "cli/kit/setting_words.h"

#include <array>

#include "cli/kit/text.h"

namespace muster::cli {
namespace {

constexpr std::array<SettingWords, 24> kWords = {{
    {"listen", "\"127.0.0.1:7450\"", true, "",
     "Address and control port to listen on; the next port carries bulk data. Port 0 picks free "
     "ones, which the agent prints."},
    {"seeds", "[\"gpu1\", \"10.0.0.7:7450\"]", false, "none",
     "Members to contact besides the known ones: names or addresses."},
    {"ticket", "\"/etc/muster/ticket\"", false, "none",
     "File with a ticket to join by, while this host is not a member."},
    {"data_dir", "\"/var/lib/muster\"", false,
     "/var/lib/muster where it can be written, else $XDG_STATE_HOME/muster",
     "Directory of the agent's identity, log and state."},
    {"gpus", "\"sim:8xH100,cpus=96,mem=1T,island=4+4\"", false, "auto",
     "Resources to offer. auto: the machine's NVIDIA GPUs with its CPUs and memory, and nothing "
     "where it has no such GPU; none: nothing. Or simulated GPUs and, after commas, CPUs, memory "
     "and islands that override the machine's own; cpus=16,mem=64G alone offers no GPUs."},
    {"name", "\"gpu7\"", false, "the short host name",
     "Name of this host, unique in the cluster: letters, digits and . _ -, at most 64."},
    {"rack", "\"r1\"", false, "none",
     "Rack of this host, for --pack rack and the choice of voters."},
    {"spine", "\"s1\"", false, "none", "Spine switch above the rack, for --pack spine."},
    {"labels", "[\"disk=nvme\", \"fast\"]", false, "none",
     "Labels that jobs can ask for; arch= and kernel= are there already."},
    {"log_json", "false", true, "", "Log in JSON, one object per line."},
    {"log_level", "\"info\"", true, "", "Log this level and worse: debug, info, warn or error."},
    {"log_file", "\"/var/log/muster.log\"", false, "stderr",
     "File to log to; four older ones of 20 MiB each are kept beside it."},
    {"output_keep", "\"14d\"", true, "",
     "Keep the output of ended jobs on this host this long, at least 1m."},
    {"output_max", "\"4G\"", true, "",
     "Keep at most this much output of ended jobs; the oldest is deleted first."},
    {"shared_user", "false", true, "",
     "Take jobs of all users and run their ranks as the agent's user. Without it ranks of an agent "
     "that is root run as the user of their job, never as root, and any other agent takes jobs of "
     "its own user alone."},
    {"socket_group", "\"ai\"", false, "every login",
     "Group whose members may ask the agent, if it runs as root; other logins cannot reach it."},
    {"audit_file", "\"/var/log/muster-audit.jsonl\"", false, "none",
     "File that a voter appends the audit to, beside the log: one JSON line for each change and "
     "refusal of a person; `muster audit verify` checks it."},
    {"system_users_may_run", "[\"backup\"]", false, "none",
     "Users with a uid below 1000 whose jobs an agent that is root may run."},
    {"min_isolation", "\"devices,mounts\"", false, "none",
     "Shares that the kernel has to hold ranks to: memory, cpu, pids, devices, mounts. A host that "
     "lacks one of these starts nothing."},
    {"hooks", "\"/etc/muster/hooks.d\"", true, "",
     "Directory of your programs: health/NN-NAME tests a GPU, reset/NN-NAME resets one, "
     "prolog/NN-NAME runs before each job, epilog/NN-NAME behind it."},
    {"kernel_log", "\"/dev/kmsg\"", true, "",
     "Kernel log in which the agent looks for errors of GPUs."},
    {"https", "\"10.0.0.7:7449\"", false, "the address of listen, port 7449",
     "Address and port of HTTPS, for the page, curl and Prometheus; off: none. The default port is "
     "left to another agent that has it."},
    {"https_cert", "\"/etc/muster/https.crt\"", false, "one by an authority of this host",
     "Certificate of HTTPS in PEM, with those that lead to its authority behind it; taken again "
     "when it changes. Name https_key, too."},
    {"https_key", "\"/etc/muster/https.key\"", false, "made with the certificate",
     "Key of https_cert in PEM, that only the agent's user or root can read."},
}};

/// Comment lines of at most 80 columns.
std::string commented(std::string_view text) {
  constexpr std::size_t kCommentColumns = 78;
  std::string lines = "# ";
  for (const char letter : in_lines(text, kCommentColumns, 0)) {
    lines += letter;
    lines += letter == '\n' ? "# " : "";
  }
  return lines + "\n";
}

}  // namespace

std::span<const SettingWords> setting_words() {
  return kWords;
}

std::string sample_config() {
  std::string text = commented(
      "Settings of `muster agent`, at /etc/muster/muster.toml or where --config or MUSTER_CONFIG "
      "says. A flag beats MUSTER_NAME in the environment beats this file. A key that is commented "
      "out shows its default, or an example.");
  for (const SettingWords& words : kWords) {
    text += "\n" + commented(words.meaning) +
            (words.is_default ? "" : commented("Default: " + std::string(words.otherwise) + ".")) +
            "#" + std::string(words.name) + " = " + std::string(words.value) + "\n";
  }
  return text;
}

}  // namespace muster::cli
