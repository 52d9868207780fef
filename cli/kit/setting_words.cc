#include "cli/kit/setting_words.h"

#include <array>

#include "cli/kit/text.h"

namespace muster::cli {
namespace {

constexpr std::array<SettingWords, 14> kWords = {{
    {"listen", "\"127.0.0.1:7450\"", true, "",
     "Address and control port that the agent listens on; the next port is taken as well. Port 0: "
     "any, which the agent prints."},
    {"seeds", "[\"gpu1\", \"10.0.0.7:7450\"]", false, "none",
     "Members to look for besides those that are known: names or addresses."},
    {"ticket", "\"/etc/muster/ticket\"", false, "none",
     "File to find a ticket in, while this host is no member yet."},
    {"data_dir", "\"/var/lib/muster\"", false,
     "/var/lib/muster where it can be written, else $XDG_STATE_HOME/muster",
     "Where identity, log and state are kept."},
    {"gpus", "\"sim:8xH100,cpus=96,mem=1T,island=4+4\"", false, "none",
     "The resources that the host offers: simulated GPUs and, behind commas, other CPUs, memory "
     "and islands than the machine's own; cpus=16,mem=64G alone is a host without GPUs."},
    {"name", "\"gpu7\"", false, "the short host name",
     "Name of this host, which no other has: letters, digits and . _ -, at most 64."},
    {"rack", "\"r1\"", false, "not said", "Rack, for --pack rack and the choice of voters."},
    {"spine", "\"s1\"", false, "not said", "The spine switch above the rack, for --pack spine."},
    {"labels", "[\"disk=nvme\", \"fast\"]", false, "none",
     "Labels that jobs may ask for; the kernel adds arch= and kernel=."},
    {"log_json", "false", true, "", "Log lines as JSON."},
    {"log_level", "\"info\"", true, "", "debug, info, warn or error."},
    {"log_file", "\"/var/log/muster.log\"", false, "stderr",
     "File to log into, with four older ones beside it, 20 MiB each."},
    {"output_keep", "\"14d\"", true, "", "How long the output of what ended is kept here."},
    {"output_max", "\"4G\"", true, "", "The most that is kept of it; the oldest goes first."},
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
    text +=
        "\n" + commented(words.meaning) +
        (words.is_default ? "" : commented("Without it: " + std::string(words.otherwise) + ".")) +
        "#" + std::string(words.name) + " = " + std::string(words.value) + "\n";
  }
  return text;
}

}  // namespace muster::cli
