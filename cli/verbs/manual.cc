// muster man: manual pages, for `man` and for who installs them.

#include "cli/verbs/manual.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "agent/api/json/fields.h"
#include "cli/kit/setting_words.h"
#include "cli/kit/text.h"
#include "cli/verbs/app.h"
#include "cli/verbs/manual_text.h"
#include "cli/verbs/terms.h"
#include "cli/verbs/verb.h"
#include "gossip/base/version.h"

namespace muster::cli {
namespace {

constexpr char kNode[] =
    "Each verb asks the agent on this host, which answers its own user and root, and for the whole "
    "cluster. --node NAME or MUSTER_NODE=NAME has it ask another host; --node PATH asks another "
    "agent on this machine by its socket or data directory. From elsewhere: ssh HOST muster.";

/// As troff prints it untouched; a dot or quote that begins a line would be a request.
std::string troff(std::string_view text) {
  std::string escaped;
  for (const char letter : text) {
    escaped += letter == '\\' ? "\\e" : letter == '-' ? "\\-" : std::string(1, letter);
  }
  const bool is_request = !escaped.empty() && (escaped[0] == '.' || escaped[0] == '\'');
  return is_request ? "\\&" + escaped : escaped;
}

std::string bold(std::string_view text) {
  return "\\fB" + troff(text) + "\\fR";
}

std::string head(const std::string& page, std::string_view purpose) {
  std::string title = page;
  std::transform(title.begin(), title.end(), title.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
  // The line of NAME ends without a dot: lists of pages are made of it.
  const std::string_view short_purpose = purpose.substr(0, purpose.find_last_not_of('.') + 1);
  return ".TH " + troff(title) + " 1 \"\" \"muster " + std::string(kProductVersion) +
         "\" \"Muster Manual\"\n.SH NAME\n" + troff(page) + " \\- " + troff(short_purpose) + "\n";
}

std::string entry(std::string_view name, std::string_view text) {
  return ".TP\n" + bold(name) + "\n" + troff(text) + "\n";
}

std::string exit_status(const std::vector<ExitCode>& codes) {
  std::string text = ".SH EXIT STATUS\n";
  for (const ExitCode& code : codes) {
    text += entry(code.number, code.meaning);
  }
  return text;
}

struct Topic {
  std::string_view name;
  std::string_view purpose;
  std::string (*page)();
};

std::string json_page() {
  std::string page =
      head("muster-json", "what --json prints") + ".SH DESCRIPTION\n" +
      troff(
          "With --json, each verb that asks a node prints one JSON document on one line; events -f "
          "and "
          "logs print one document per line. An error is a document, too: "
          "{\"error\":...,\"exit_code\":...}. A name means the same in every document. If a "
          "name has a unit, the unit is its last word; all times are whole milliseconds. null "
          "stands for a value that does not exist or is not known.") +
      "\n.SH FIELDS\n";
  for (const agent::JsonField& field : agent::json_fields()) {
    page += entry(field.name, std::string(field.type) + ": " + std::string(field.meaning));
  }
  return page + ".SH SEE ALSO\n" + bold("muster") + "(1)\n";
}

std::string config_page() {
  std::string page =
      head("muster-config", "settings of the agent") + ".SH DESCRIPTION\n" +
      troff(
          "muster agent reads /etc/muster/muster.toml, or the file that --config or MUSTER_CONFIG "
          "names. A flag beats MUSTER_KEY in the environment, which beats the file. `muster man "
          "config --sample` prints a file with every key, which is installed as "
          "share/muster/muster.toml.sample.") +
      "\n.SH KEYS\n";
  for (const SettingWords& words : setting_words()) {
    const std::string value(words.value);
    page += entry(std::string(words.name) + " = " + value,
                  std::string(words.meaning) + " " +
                      (words.is_default ? "This value is the default."
                                        : "Default: " + std::string(words.otherwise) + "."));
  }
  return page + ".SH SEE ALSO\n" + bold("muster-agent") + "(1)\n";
}

std::string terms_page() {
  std::string page = head("muster-terms", "words of Muster") + ".SH TERMS\n";
  for (const Term& term : terms()) {
    page += entry(term.word, term.meaning);
  }
  return page + ".SH SEE ALSO\n" + bold("muster") + "(1)\n";
}

constexpr std::array<Topic, 3> kTopics = {{
    {"json", "Every field that --json prints, with its type or unit.", json_page},
    {"config", "Every key of muster.toml, with its default.", config_page},
    {"terms", "Every word that Muster uses in its own sense.", terms_page},
}};

class Manual final : public Verb {
 public:
  void describe(Options& options) override {
    options.words(
        "VERB",
        [this](const std::string& word) {
          verb_ += (verb_.empty() ? "" : " ") + word;
          return ok();
        },
        "Page to print: a verb, json (fields of --json), config (keys of muster.toml) or terms "
        "(the words of Muster) (default muster itself)",
        2);
    options.flag("--sample", is_sample_, "Print a sample muster.toml with every key instead");
    options.flag("--list", is_list_, "Print the names of all pages instead, one per line");
    options.example("muster man submit");
  }

  int run(Session& session) override {
    const std::vector<VerbWords> verbs = verb_words();
    const auto asked = std::find_if(verbs.begin(), verbs.end(), [this](const VerbWords& verb) {
      return verb.name == verb_ || manual_name(verb.name) == verb_;
    });
    const auto topic = std::find_if(kTopics.begin(), kTopics.end(), [this](const Topic& each) {
      return each.name == verb_ || manual_name(std::string(each.name)) == verb_;
    });
    if (is_sample_) {
      session.out() << sample_config();
    } else if (is_list_) {
      list(session, verbs);
    } else if (verb_.empty() || verb_ == "muster") {
      show(session, manual_overview(verbs, exit_codes()));
    } else if (asked != verbs.end()) {
      show(session, manual_page(*asked, exit_codes()));
    } else if (topic != kTopics.end()) {
      show(session, topic->page());
    } else {
      return session.fail(agent::ResponseStatus::kNotFound,
                          "'" + verb_ + "' is not a verb; `muster --help` lists them");
    }
    return 0;
  }

 private:
  static void list(Session& session, const std::vector<VerbWords>& verbs) {
    session.out() << "muster\n";
    for (const VerbWords& verb : verbs) {
      session.out() << manual_name(verb.name) << "\n";
    }
    for (const Topic& each : kTopics) {
      session.out() << manual_name(std::string(each.name)) << "\n";
    }
  }

  /// To a person as text, through a pager; to a program as it is, for `man -l -`.
  static void show(Session& session, const std::string& page) {
    if (!session.world().terminal.page) {
      session.out() << page;
      return;
    }
    const std::string text = manual_text(page, session.screen());
    if (!session.world().terminal.page(text)) {
      session.out() << text;
    }
  }

  bool is_sample_ = false;
  std::string verb_;
  bool is_list_ = false;
};

}  // namespace

std::string manual_name(const std::string& verb) {
  std::string name = "muster-" + verb;
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

std::string manual_page(const VerbWords& verb, const std::vector<ExitCode>& codes) {
  std::string page = head(manual_name(verb.name), verb.purpose) + ".SH SYNOPSIS\n" +
                     bold("muster " + verb.name) + " " + troff(verb.usage) + "\n.SH DESCRIPTION\n" +
                     troff(verb.purpose) +
                     (verb.answered_by.empty() ? "" : "\n.PP\n" + troff(verb.answered_by)) + "\n";
  std::string_view heading;
  for (const HelpEntry& option : verb.entries) {
    const std::string_view own = option.is_common ? ".SH COMMON OPTIONS\n" : ".SH OPTIONS\n";
    page += heading == own ? "" : own;
    heading = own;
    page += entry(option.head, option.help);
  }
  if (!verb.example.empty()) {
    page += ".SH EXAMPLE\n.EX\n" + troff(verb.example) + "\n.EE\n";
  }
  return page + exit_status(codes) + ".SH SEE ALSO\n" + bold("muster") + "(1)\n";
}

std::string manual_overview(const std::vector<VerbWords>& verbs,
                            const std::vector<ExitCode>& codes) {
  std::string page =
      head("muster", "run gangs of GPU processes on a fleet of hosts without a central server") +
      ".SH SYNOPSIS\n" + bold("muster") + " VERB [OPTIONS]\n.SH DESCRIPTION\n" +
      troff(kMusterPurpose) + "\n" + troff(kNode) + "\n.SH VERBS\n";
  std::vector<std::string> pages;
  std::string_view group;
  for (const VerbWords& verb : verbs) {
    if (verb.group != group) {
      group = verb.group;
      page += ".SS " + troff(group) + "\n";
    }
    page += entry(verb.name, verb.purpose);
    pages.push_back(bold(manual_name(verb.name)) + "(1)");
  }
  for (const Topic& topic : kTopics) {
    pages.push_back(bold(manual_name(std::string(topic.name))) + "(1)");
  }
  return page + exit_status(codes) + ".SH SEE ALSO\n" + join(pages, ",\n") + "\n";
}

std::unique_ptr<Verb> make_manual() {
  return std::make_unique<Manual>();
}

}  // namespace muster::cli
