#include "tests/repository/word_rules.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>
#include <regex>

#include "tests/repository/prose.h"
#include "tests/repository/rooms.h"
#include "tests/repository/source_text.h"
#include "tests/repository/words_left.h"

namespace muster::repository {
namespace {

constexpr const char* kRowsOfWords = "tests/repository/words_left.h";
constexpr std::string_view kTableOfVerbs = "cli/verbs/app.cc";

/// First words of a sentence that hide its subject.
constexpr std::string_view kNoSubjects[] = {"who",  "whose",   "whom", "whoever",
                                            "what", "nothing", "those"};
/// Full stops behind them end no sentence.
constexpr std::string_view kAbbreviations[] = {"e.g.", "i.e.", "cf.", "vs."};
/// "it's" says "it is"; the Node's is another matter.
constexpr std::string_view kContracted[] = {"it",    "that",  "let",  "what",  "who",
                                            "where", "there", "here", "he",    "she",
                                            "how",   "when",  "why",  "which", "this"};
constexpr std::string_view kImperatives[] = {
    "Add",   "Ask",     "Cancel", "Change",  "Create",  "Declare", "Drain",   "End",
    "Expel", "Explain", "Follow", "Forget",  "Found",   "Give",    "Go",      "Hand",
    "Join",  "Leave",   "Let",    "List",    "Make",    "Move",    "Print",   "Put",
    "Queue", "Read",    "Remove", "Replace", "Restart", "Resume",  "Revoke",  "Run",
    "Say",   "Set",     "Show",   "Start",   "Stop",    "Submit",  "Suspend", "Take",
    "Tell",  "Throw",   "Undo",   "Wait",    "Watch",   "Write",
};

struct WordMend {
  std::string_view words;  ///< In lower case.
  std::string_view mend;
  bool needs_mark = false;  ///< Lawful unless a mark follows.
};
constexpr WordMend kWordMends[] = {
    {"anew", "say \"again\""},
    {"whoever", "name the subject: \"a host that ...\""},
    {"whomever", "name the object: \"the host that ...\""},
    {"is none", "say what is absent: \"there is no ...\""},
    {"are none", "say what is absent: \"there are no ...\""},
    {"as one", "say \"together\", or name the noun", true},
};

/// Where in a block, and what of it.
struct Finding {
  std::size_t place;
  std::string what;
};

bool is_letter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  });
  return text;
}

template <class Words>
bool is_one_of(std::string_view word, const Words& words) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

std::size_t end_of_word(const std::string& text, std::size_t begin) {
  const auto end = std::find_if(text.begin() + static_cast<std::ptrdiff_t>(begin), text.end(),
                                [](char c) { return !is_letter(c); });
  return static_cast<std::size_t>(end - text.begin());
}

bool is_mark(const std::string& text, std::size_t place, std::string_view marks) {
  return place < text.size() && marks.find(text[place]) != std::string_view::npos;
}

std::string quoted(const std::string& words) {
  return "\"" + words + "\": ";
}

/// The word at `begin`, and the one behind it.
std::string two_words(const std::string& text, std::size_t begin) {
  const std::size_t blank = std::min(text.find(' ', begin), text.size());
  return text.substr(begin, std::min(text.find(' ', blank + 1), text.size()) - begin);
}

/// In a block any word begins a sentence that is the first; later ones have a capital.
bool begins_sentence(const std::string& text, std::size_t word, bool block_begins) {
  std::size_t i = word;
  while (i > 0 && is_mark(text, i - 1, "([*")) {
    --i;
  }
  if (i == 0) {
    return block_begins;
  }
  if (text[i - 1] != ' ' || std::isupper(static_cast<unsigned char>(text[word])) == 0) {
    return false;
  }
  while (i > 0 && is_mark(text, i - 1, " )]*'")) {
    --i;
  }
  const std::string_view before = std::string_view(text).substr(0, i);
  return i > 0 && is_mark(text, i - 1, ".?!") &&
         std::none_of(std::begin(kAbbreviations), std::end(kAbbreviations),
                      [&](std::string_view each) { return before.ends_with(each); });
}

void find_first_words(const Prose& prose, const std::string& text, std::vector<Finding>& found) {
  for (std::size_t i = 0; i < text.size(); i = std::max(end_of_word(text, i), i + 1)) {
    const std::size_t end = end_of_word(text, i);
    const std::string word = lower(text.substr(i, end - i));
    const bool hides = is_one_of(word, kNoSubjects) && !is_mark(text, end, "-") && !prose.may_ask;
    const bool is_so = word == "so" && is_mark(text, end, " ");
    if ((hides || is_so) && begins_sentence(text, i, prose.begins)) {
      found.push_back({i, quoted(two_words(prose.text, i)) +
                              (is_so ? "say what is so, or join it to the sentence before"
                                     : "name the subject")});
    }
  }
}

void find_possessives(const Prose& prose, const std::string& text, std::vector<Finding>& found) {
  for (std::size_t i = text.find('\''); i != std::string::npos; i = text.find('\'', i + 1)) {
    std::size_t begin = i;
    while (begin > 0 && is_letter(text[begin - 1])) {
      --begin;
    }
    const bool is_plural = i > begin && text[i - 1] == 's';
    const bool is_singular = i > begin && is_mark(text, i + 1, "s") &&
                             !is_one_of(lower(text.substr(begin, i - begin)), kContracted);
    const std::size_t end = is_singular ? i + 2 : i + 1;
    const bool ends = end == text.size() ? prose.ends : is_mark(text, end, ".;");
    if ((is_plural || is_singular) && ends) {
      found.push_back({begin, quoted(prose.text.substr(begin, end + 1 - begin)) +
                                  "say \"Owned by ...\", or name what is owned"});
    }
  }
}

void find_words(const Prose& prose, const std::string& text, std::vector<Finding>& found) {
  const std::string low = lower(text);
  for (const WordMend& each : kWordMends) {
    for (std::size_t i = low.find(each.words); i != std::string::npos;
         i = low.find(each.words, i + 1)) {
      const std::size_t end = i + each.words.size();
      const bool is_whole =
          (i == 0 || !is_letter(low[i - 1])) && (end == low.size() || !is_letter(low[end]));
      const bool is_known = std::any_of(found.begin(), found.end(),
                                        [&](const Finding& other) { return other.place == i; });
      if (is_whole && !is_known && (!each.needs_mark || is_mark(low, end, ".,:;"))) {
        found.push_back(
            {i, quoted(prose.text.substr(i, each.words.size())) + std::string(each.mend)});
      }
    }
  }
}

void find_defaults(const Prose& prose, std::vector<Finding>& found) {
  static constexpr std::string_view kDefault = "(default";
  const std::size_t first = prose.text.find(kDefault);
  const bool is_added = prose.callee == "options.number" || prose.callee == "options.integer";
  for (std::size_t i = first; i != std::string::npos; i = prose.text.find(kDefault, i + 1)) {
    const std::size_t close = std::min(prose.text.find(')', i), prose.text.size());
    const std::size_t next = std::min(prose.text.find_first_not_of(") ", close), prose.text.size());
    if (prose.text.compare(next, kDefault.size(), kDefault) == 0 || (is_added && i == first)) {
      found.push_back({i, "two defaults: state one"});
    }
  }
}

std::vector<Prose> prose_of(const SourceFile& file) {
  if (file.path.ends_with(".md")) {
    return paragraphs_of(file);
  }
  std::vector<Prose> blocks = comments_of(file);
  if (file.path.starts_with("cli/")) {
    const std::vector<Prose> help = help_lines_of(file);
    blocks.insert(blocks.end(), help.begin(), help.end());
  }
  return blocks;
}

/// Rows of the table of verbs: name, usage, description and the question that is asked.
void check_verbs(const SourceFile& file, std::map<std::size_t, Violations>& found) {
  static const std::regex kVerb(R"re(\{(?:k\w+,\s*)?"[a-z -]+",\s*"[^"\n]*",\s*"([^"\n]*)")re");
  const std::size_t begin = file.text.find(" kVerbs = ");
  const std::size_t end = file.text.find("};", begin);
  if (begin == std::string::npos || end == std::string::npos) {
    found[0].push_back(at(file, 0, "has no table kVerbs: word_rules.cc reads it"));
    return;
  }
  const std::string table = file.text.substr(begin, end - begin);
  std::sregex_iterator each(table.begin(), table.end(), kVerb);
  if (each == std::sregex_iterator()) {
    found[0].push_back(at(file, 0, "has rows in kVerbs that word_rules.cc does not read"));
  }
  for (const std::sregex_iterator none; each != none; ++each) {
    const std::string purpose = (*each)[1].str();
    const std::size_t place = begin + static_cast<std::size_t>(each->position(1));
    const auto line = static_cast<std::size_t>(std::count(
        file.text.begin(), file.text.begin() + static_cast<std::ptrdiff_t>(place), '\n'));
    if (!is_one_of(purpose.substr(0, end_of_word(purpose, 0)), kImperatives)) {
      found[line].push_back(at(file, line,
                               quoted(two_words(purpose, 0)) +
                                   "say what the verb does, in the imperative, with a word of "
                                   "kImperatives in tests/repository/word_rules.cc"));
    }
  }
}

std::string place_of(const std::string& path) {
  return path.ends_with(".md") ? path : room_of(path);
}

std::map<std::string, Violations> by_place(const std::vector<SourceFile>& files) {
  std::map<std::string, Violations> places;
  for (const SourceFile& file : files) {
    const Violations found = check_prose(file);
    if (!found.empty()) {
      Violations& all = places[place_of(file.path)];
      all.insert(all.end(), found.begin(), found.end());
    }
  }
  return places;
}

}  // namespace

std::span<const WordsLeft> words_left() {
  return kWordsLeft;
}

Violations check_prose(const SourceFile& file) {
  std::map<std::size_t, Violations> by_line;
  for (const Prose& prose : prose_of(file)) {
    const std::string text = readable(prose.text);
    std::vector<Finding> found;
    find_first_words(prose, text, found);
    find_possessives(prose, text, found);
    find_words(prose, text, found);
    find_defaults(prose, found);
    for (const Finding& each : found) {
      const std::size_t line = prose.lines[each.place];
      by_line[line].push_back(at(file, line, each.what));
    }
  }
  if (file.path == kTableOfVerbs) {
    check_verbs(file, by_line);
  }
  Violations all;
  for (const auto& [line, found] : by_line) {
    all.insert(all.end(), found.begin(), found.end());
  }
  return all;
}

Violations check_words_left(const std::vector<SourceFile>& files, std::span<const WordsLeft> rows) {
  std::map<std::string, Violations> places = by_place(files);
  for (const WordsLeft& row : rows) {
    places.try_emplace(std::string(row.place));
  }
  Violations all;
  for (const auto& [place, found] : places) {
    const auto row =
        std::find_if(rows.begin(), rows.end(),
                     [&, &name = place](const WordsLeft& each) { return each.place == name; });
    const std::size_t allowed = row == rows.end() ? 0 : row->count;
    const std::string numbers = place + ": " + std::to_string(found.size()) + " violations, " +
                                std::to_string(allowed) + " in its row: ";
    if (found.size() > allowed) {
      all.push_back(numbers + "mend at least " + std::to_string(found.size() - allowed) +
                    " of these");
      all.insert(all.end(), found.begin(), found.end());
    } else if (found.size() < allowed || (row != rows.end() && allowed == 0)) {
      all.push_back(numbers + (found.empty() ? "take out its row in " : "lower its row in ") +
                    kRowsOfWords);
    }
  }
  return all;
}

std::string rows_of_words(const std::vector<SourceFile>& files) {
  std::string text;
  for (const auto& [place, found] : by_place(files)) {
    text += "    {\"" + place + "\", " + std::to_string(found.size()) + "},\n";
  }
  return text;
}

}  // namespace muster::repository
