// muster completion: what a shell completes behind `muster`.

#include "cli/verbs/completion.h"

#include <set>
#include <string_view>

#include "agent/api/job_state.h"
#include "cli/kit/text.h"
#include "cli/verbs/app.h"
#include "cli/verbs/job_columns.h"
#include "cli/verbs/verb.h"

namespace muster::cli {
namespace {

constexpr std::string_view kJobIds = "muster jobs --no-header -o id --timeout 2s 2>/dev/null";
constexpr std::string_view kHostNames =
    "muster hosts --no-header --timeout 2s 2>/dev/null | cut -d' ' -f1";
constexpr std::string_view kQueuePaths =
    "muster queue export --timeout 2s 2>/dev/null | grep -F '[queue.' | cut -d'\"' -f2";

/// The values that may stand behind an option: words, or a command that lists them.
struct OptionValues {
  std::string options;  ///< "--host|--not-host"
  std::string words;
  std::string_view command;
};

/// The options whose values are known here or at a node. A shell offers files anyway.
const std::vector<OptionValues>& option_values() {
  static const std::vector<OptionValues> all = {
      {"--state", join(agent::state_names(), " "), ""},
      {"--host|--not-host|--node", "", kHostNames},
      {"-o|--columns|--sort", join(job_column_names(), " "), ""},
      {"--pack", "island host rack spine any", ""},
      {"--on-lost-host", "requeue wait", ""},
      {"--isolation", "keep 10m 1h", ""},
      {"--level", "info warn alarm", ""},
      {"--log-level", "debug info warn error", ""},
      {"--by", "user type name", ""},
      {"-r|--rank", "all 0", ""},
      {"--queue", "default", kQueuePaths},
      {"--tier", "interactive batch standard premium inference", ""},
  };
  return all;
}

/// The command that lists what stands behind the verb; "" = nothing that a node knows.
std::string_view words_of(const VerbWords& verb) {
  if (verb.usage.find("JOB") != std::string::npos) {
    return kJobIds;
  }
  if (verb.usage.find("PATH") != std::string::npos) {
    return kQueuePaths;
  }
  const bool is_of_hosts = verb.name.starts_with("hosts ") || verb.name.starts_with("quorum ") ||
                           verb.name == "why-host";
  return is_of_hosts && verb.usage.find("NAME") != std::string::npos ? kHostNames : "";
}

std::vector<std::string> first_words(const std::vector<VerbWords>& verbs) {
  std::set<std::string> words;
  for (const VerbWords& verb : verbs) {
    words.insert(verb.name.substr(0, verb.name.find(' ')));
  }
  return {words.begin(), words.end()};
}

/// The second words of "hosts" and "quorum"; of "help" every verb.
std::string second_words(const std::vector<VerbWords>& verbs, const std::string& first) {
  std::vector<std::string> words;
  for (const VerbWords& verb : verbs) {
    if (verb.name.starts_with(first + " ")) {
      words.push_back(verb.name.substr(first.size() + 1));
    }
  }
  if (first == "help") {
    const std::vector<std::string> all = first_words(verbs);
    words.insert(words.end(), all.begin(), all.end());
  }
  return join(words, " ");
}

std::string bash_case(const std::string& pattern, const std::string& words,
                      std::string_view command) {
  return "    " + pattern + ") words=\"" + words + "\"" +
         (command.empty() ? "" : "; found=$(" + std::string(command) + ")") + " ;;\n";
}

std::string bash_script(const std::vector<VerbWords>& verbs) {
  std::string values;
  for (const OptionValues& each : option_values()) {
    values += bash_case(each.options, each.words, each.command);
  }
  std::string two;
  std::string one;
  for (const VerbWords& verb : verbs) {
    const bool is_of_two = verb.name.find(' ') != std::string::npos;
    const std::string more = second_words(verbs, verb.name);
    const std::string words = (more.empty() ? "" : more + " ") + join(verb.options, " ");
    (is_of_two ? two : one) +=
        bash_case(is_of_two ? "\"" + verb.name + "\"" : verb.name, words, words_of(verb));
  }
  return "_muster() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} words='' found=''\n"
         "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
         "    COMPREPLY=($(compgen -W \"" +
         join(first_words(verbs), " ") +
         "\" -- \"$word\"))\n"
         "    return\n"
         "  fi\n"
         "  case \"${COMP_WORDS[COMP_CWORD-1]}\" in\n" +
         values +
         "  esac\n"
         "  if [ -n \"$words$found\" ]; then\n"
         // Of a list the part behind the last comma is completed.
         "    local before=''\n"
         "    case \"$word\" in *,*) before=${word%,*}, ;; esac\n"
         "    COMPREPLY=($(compgen -P \"$before\" -W \"$words $found\" -- \"${word##*,}\"))\n"
         "    return\n"
         "  fi\n"
         "  case \"${COMP_WORDS[1]} ${COMP_WORDS[2]}\" in\n" +
         two +
         "  esac\n"
         "  [ -n \"$words\" ] || case \"${COMP_WORDS[1]}\" in\n" +
         one +
         "  esac\n"
         "  COMPREPLY=($(compgen -W \"$words $found\" -- \"$word\"))\n"
         "}\n"
         "complete -o default -F _muster muster\n";
}

std::string fish_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char letter : text) {
    quoted +=
        letter == '\'' || letter == '\\' ? std::string("\\") + letter : std::string(1, letter);
  }
  return quoted + "'";
}

/// " -x -a '...'" when it is known what may stand behind the option.
std::string fish_values(const std::string& option) {
  for (const OptionValues& each : option_values()) {
    if (("|" + each.options + "|").find("|" + option + "|") != std::string::npos) {
      return " -x -a " +
             fish_quoted(each.command.empty() ? each.words : "(" + std::string(each.command) + ")");
    }
  }
  return "";
}

std::string fish_script(const std::vector<VerbWords>& verbs) {
  std::string script =
      "complete -c muster -f\ncomplete -c muster -n "
      "'__fish_seen_subcommand_from help' -a " +
      fish_quoted(join(first_words(verbs), " ")) + "\n";
  for (const VerbWords& verb : verbs) {
    const std::size_t blank = verb.name.find(' ');
    const std::string first = verb.name.substr(0, blank);
    const std::string seen = "__fish_seen_subcommand_from " + first;
    const bool is_of_two = blank != std::string::npos;
    const std::string last = is_of_two ? verb.name.substr(blank + 1) : first;
    script += "complete -c muster -n '" + (is_of_two ? seen : "__fish_use_subcommand") + "' -a " +
              last + " -d " + fish_quoted(verb.purpose) + "\n";
    const std::string here = seen + (is_of_two ? "; and __fish_seen_subcommand_from " + last : "");
    for (const std::string& option : verb.options) {
      script += "complete -c muster -n '" + here + "' " +
                (option.starts_with("--") ? "-l " + option.substr(2) : "-s " + option.substr(1)) +
                fish_values(option) + "\n";
    }
    if (const std::string_view words = words_of(verb); !words.empty()) {
      script += "complete -c muster -n '" + here + "' -a " +
                fish_quoted("(" + std::string(words) + ")") + "\n";
    }
  }
  return script;
}

class Completion final : public Verb {
 public:
  void describe(Options& options) override {
    options.word("SHELL", shell_, "Shell to complete for: bash, zsh or fish");
    options.example("muster completion bash > /etc/bash_completion.d/muster");
  }

  int run(Session& session) override {
    const auto script = completion_script(shell_, verb_words());
    if (!script.has_value()) {
      return session.fail(agent::ResponseStatus::kUsage,
                          "'" + shell_ + "' is neither bash, zsh nor fish");
    }
    session.out() << *script;
    return 0;
  }

 private:
  std::string shell_;
};

}  // namespace

std::optional<std::string> completion_script(const std::string& shell,
                                             const std::vector<VerbWords>& verbs) {
  if (shell == "bash") {
    return bash_script(verbs);
  }
  if (shell == "zsh") {
    return "autoload -U +X bashcompinit && bashcompinit\n" + bash_script(verbs);
  }
  return shell == "fish" ? std::optional(fish_script(verbs)) : std::nullopt;
}

std::unique_ptr<Verb> make_completion() {
  return std::make_unique<Completion>();
}

}  // namespace muster::cli
