#include "tests/sim/scenario/parser.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <stdexcept>
#include <utility>

#include "tests/sim/scenario/verbs.h"

namespace muster::sim::scenario {
namespace {

/// The fault of a line. Thrown inside this file alone.
class Wrong : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

std::vector<std::string> split(std::string_view text, std::string_view between) {
  std::vector<std::string> words;
  std::size_t at = 0;
  while ((at = text.find_first_not_of(between, at)) != std::string_view::npos) {
    const std::size_t end = std::min(text.find_first_of(between, at), text.size());
    words.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

std::optional<std::int64_t> to_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_whole = error == std::errc() && end == text.data() + text.size() && !text.empty();
  return is_whole ? std::optional(number) : std::nullopt;
}

/// The words of one line, taken from the left.
class Line {
 public:
  explicit Line(std::vector<std::string> words) : words_(std::move(words)) {}

  bool is_over() const { return at_ == words_.size(); }
  std::string_view peek() const { return is_over() ? std::string_view() : words_[at_]; }
  /// Takes these words, if they are next.
  bool take(std::string_view text) {
    const std::vector<std::string> wanted = split(text, " ");
    if (words_.size() - at_ < wanted.size() ||
        !std::equal(wanted.begin(), wanted.end(), words_.begin() + static_cast<long>(at_))) {
      return false;
    }
    at_ += wanted.size();
    return true;
  }
  void expect(std::string_view text) {
    if (!take(text)) {
      throw Wrong("expected \"" + std::string(text) + "\"" + behind());
    }
  }
  std::string word(const char* what) {
    if (is_over()) {
      throw Wrong(std::string("expected ") + what + behind());
    }
    return words_[at_++];
  }
  std::uint32_t count(const char* what, std::int64_t max) {
    const std::string text = word(what);
    const auto number = to_number(text);
    if (!number.has_value() || *number < 0 || *number > max) {
      throw Wrong("\"" + text + "\" is no " + what + " (0 to " + std::to_string(max) + ")");
    }
    return static_cast<std::uint32_t>(*number);
  }
  Duration duration() {
    static const std::pair<std::string_view, Duration> kUnits[] = {
        {"ms", std::chrono::milliseconds(1)},
        {"s", std::chrono::seconds(1)},
        {"m", std::chrono::minutes(1)},
        {"h", std::chrono::hours(1)}};
    const std::string text = word("a time, as in 10s, 250ms or 2m");
    const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    const auto number = to_number(std::string_view(text).substr(0, digits));
    for (const auto& [unit, length] : kUnits) {
      if (number.has_value() && *number <= 1'000'000 && text.substr(digits) == unit) {
        return *number * length;
      }
    }
    throw Wrong("\"" + text + "\" is no time, as in 10s, 250ms or 2m");
  }
  void end() const {
    if (!is_over()) {
      throw Wrong("\"" + words_[at_] + "\" is too much here");
    }
  }

 private:
  std::string behind() const {
    return at_ == 0 ? std::string() : " behind \"" + words_[at_ - 1] + "\"";
  }
  std::vector<std::string> words_;
  std::size_t at_ = 0;
};

class Parser {
 public:
  Parser(std::string_view path, std::uint32_t hosts) : hosts_instead_(hosts) { made_.path = path; }

  Scenario parse(std::string_view text) {
    std::size_t begin = 0;
    for (line_ = 1; begin <= text.size(); ++line_) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      parse_line(text.substr(begin, end - begin));
      begin = end + 1;
    }
    line_ = 0;
    finish();
    return std::move(made_);
  }
  int line() const { return line_; }

 private:
  void parse_line(std::string_view text) {
    const std::size_t comment = std::min(text.find('#'), text.size());
    if (made_.hosts == 0 && comment < text.size()) {
      const std::string_view words = text.substr(std::min(comment + 2, text.size()));
      made_.story += (made_.story.empty() ? "" : " ") + std::string(words);
    }
    Line line(split(text.substr(0, comment), " \t\r"));
    if (line.is_over()) {
      return;
    }
    if (line.take("hosts")) {
      parse_fleet(line);
    } else if (made_.hosts == 0) {
      throw Wrong("the first line is \"hosts N [gpus G] [racks R]\"");
    } else if (line.take("length")) {
      made_.length = line.duration();
    } else if (line.take("at")) {
      parse_act(line);
    } else if (line.take("always")) {
      parse_always(line);
    } else {
      parse_expectation(line, text.substr(0, comment));
    }
    line.end();
  }

  void parse_fleet(Line& line) {
    if (made_.hosts != 0) {
      throw Wrong("\"hosts\" is said once");
    }
    made_.hosts = line.count("number of hosts", kHostsMax);
    if (made_.hosts == 0) {
      throw Wrong("there is at least one host");
    }
    made_.hosts = hosts_instead_ == 0 ? made_.hosts : hosts_instead_;
    made_.gpus = line.take("gpus") ? line.count("number of GPUs", 64) : made_.gpus;
    made_.racks = line.take("racks") ? line.count("number of racks", made_.hosts) : 0;
  }

  // All of them are always on; a name only must be one of them.
  static void parse_always(Line& line) {
    static const std::set<std::string> kCheckers = {"one_leader_a_term",
                                                    "commit_on_durable_majority",
                                                    "no_gpu_in_two_attempts",
                                                    "token_monotonic",
                                                    "completes_once",
                                                    "gang_all_or_nothing",
                                                    "submits_kept"};
    const std::string name = line.word("a checker");
    if (!kCheckers.contains(name)) {
      throw Wrong("there is no checker \"" + name + "\"");
    }
  }

  // Sets.

  SetTerm parse_term(Line& line) const {
    SetTerm term;
    if (line.take("all")) {
      term.kind = SetTerm::Kind::kAll;
    } else if (line.take("rest")) {
      term.kind = SetTerm::Kind::kRest;
    } else if (line.take("leader")) {
      term.kind = SetTerm::Kind::kLeader;
    } else if (line.take("voters")) {
      term.kind = SetTerm::Kind::kVoters;
    } else if (line.take("hosts of") || line.peek() == "one") {
      term.kind = line.take("one of") ? SetTerm::Kind::kGangOne : SetTerm::Kind::kGang;
      term.job = job_of(line.word("the name of a job"));
    } else if (line.take("half")) {
      term = {SetTerm::Kind::kFirst, 50, true};
    } else if (made_.racks > 0 && line.take("rack")) {
      term = {SetTerm::Kind::kRack, line.count("number of a rack", made_.racks - 1)};
    } else if (line.peek() == "first" || line.peek() == "last") {
      term.kind = line.peek() == "first" ? SetTerm::Kind::kFirst : SetTerm::Kind::kLast;
      line.word("first or last");
      const std::string text = line.word("how many, as in 3 or 30%");
      term.is_percent = text.ends_with('%');
      const auto number =
          to_number(std::string_view(text).substr(0, text.size() - (term.is_percent ? 1 : 0)));
      if (!number || *number < 0 || *number > (term.is_percent ? 100 : made_.hosts)) {
        throw Wrong("\"" + text + "\" are not so many of " + std::to_string(made_.hosts) +
                    " hosts");
      }
      term.number = static_cast<std::uint32_t>(*number);
    } else {
      term.kind = SetTerm::Kind::kHost;
      term.number = parse_host(line.word("hosts"));
    }
    return term;
  }

  std::uint32_t parse_host(const std::string& text) const {
    const auto number = text.starts_with('h') ? to_number(text.substr(1)) : std::nullopt;
    if (!number.has_value()) {
      throw Wrong("\"" + text + "\" names no hosts: hN, rack N, half, first N, last N%, all, " +
                  "rest, voters, leader, hosts of JOB, one of JOB");
    }
    if (*number < 0 || *number >= made_.hosts) {
      throw Wrong("there is no " + text + ": hosts are h0 to h" + std::to_string(made_.hosts - 1));
    }
    return static_cast<std::uint32_t>(*number);
  }

  HostSet parse_set(Line& line) const {
    HostSet set;
    bool is_taken_away = false;
    do {
      const std::string_view next = line.peek();
      if (next.find(',') != std::string_view::npos) {
        for (const std::string& host : split(line.word("hosts"), ",")) {
          set.terms.push_back({SetTerm::Kind::kHost, parse_host(host), false, is_taken_away});
        }
      } else {
        set.terms.push_back(parse_term(line));
        set.terms.back().is_taken_away = is_taken_away;
      }
      is_taken_away = line.take("but");
    } while (is_taken_away || line.take("and"));
    return set;
  }

  HostSet parse_fixed_set(Line& line) const {
    HostSet set = parse_set(line);
    if (set.has_role()) {
      throw Wrong("roles are for acts; an expectation names hosts");
    }
    return set;
  }

  // Acts.

  void parse_act(Line& line) {
    Act act;
    act.line = line_;
    act.at = line.duration();
    act.verb = parse_verb(line);
    parse_arguments(line, act);
    made_.acts.push_back(std::move(act));
  }

  static Verb parse_verb(Line& line) {
    for (const VerbRow& row : verb_table()) {
      if (line.take(row.words)) {
        return row.verb;
      }
    }
    throw Wrong("there is no verb \"" + std::string(line.peek()) + "\"");
  }

  void parse_arguments(Line& line, Act& act) {
    switch (act.verb) {
      case Verb::kSubmit:
        return parse_submit(line, act);
      case Verb::kCancel:
        act.name = job_of(line.word("the name of a job"));
        return;
      case Verb::kHeal:
        act.length = line.take("over") ? line.duration() : Duration(0);
        return;
      case Verb::kCut:
      case Verb::kFlap:
      case Verb::kDelay:
        return parse_pair(line, act);
      case Verb::kSlowDisk:
        act.who = parse_set(line);
        act.time = line.duration();
        return;
      case Verb::kClockJump: {
        act.who = parse_set(line);
        const bool is_back = line.take("back");
        act.time = is_back ? -line.duration() : line.duration();
        return;
      }
      case Verb::kClockRate:
        act.who = parse_set(line);
        act.number = line.count("number of ppm", 100'000);
        line.expect("ppm");
        if (act.at != Duration(0)) {
          throw Wrong("a clock has its rate from the start on: at 0s");
        }
        return;
      case Verb::kStart:
      case Verb::kKill:
      case Verb::kRestart:
      case Verb::kFreeze:
      case Verb::kThaw:
      case Verb::kPowerOff:
      case Verb::kPowerOn:
      case Verb::kRing:
      case Verb::kFillDisk:
      case Verb::kFreeDisk:
      case Verb::kLead:
        act.who = parse_set(line);
        return;
    }
  }

  void parse_pair(Line& line, Act& act) {
    act.who = parse_set(line);
    line.expect("from");
    act.other = parse_set(line);
    if (act.verb == Verb::kDelay) {
      act.time = line.duration();
    } else if (act.verb == Verb::kFlap) {
      line.expect("every");
      act.time = line.duration();
      line.expect("for");
      act.length = line.duration();
      if (act.time < std::chrono::milliseconds(100)) {
        throw Wrong("a cut flaps no faster than every 100ms");
      }
    } else {
      act.is_one_way = line.take("one-way");
      if (line.take("loss")) {
        std::string text = line.word("a share, as in 30%");
        const bool is_percent = text.ends_with('%');
        text.resize(text.size() - (is_percent ? 1 : 0));
        const auto number = to_number(text);
        if (!is_percent || !number || *number < 0 || *number > 100) {
          throw Wrong("\"" + text + "\" is no share, as in 30%");
        }
        act.loss = static_cast<std::uint32_t>(*number);
      }
    }
  }

  void parse_submit(Line& line, Act& act) {
    act.name = line.word("the name of a job");
    if (!jobs_.insert(act.name).second) {
      throw Wrong("there is a job \"" + act.name + "\" already");
    }
    act.number = parse_gpus(line);
    act.time = line.take("for") ? line.duration() : std::chrono::hours(1);
    act.length = line.take("hold") ? line.duration() : Duration(0);
  }

  /// A number, or a share of all.
  std::int64_t parse_gpus(Line& line) const {
    const std::int64_t all = std::int64_t{made_.hosts} * made_.gpus;
    const bool is_share = line.peek().ends_with('%');
    if (!is_share) {
      return line.count("number of GPUs", all);
    }
    const std::string text = line.word("GPUs");
    const auto share = to_number(std::string_view(text).substr(0, text.size() - 1));
    if (!share || *share < 1 || *share > 100) {
      throw Wrong("\"" + text + "\" is no share of all GPUs");
    }
    return std::max<std::int64_t>(1, all * *share / 100);
  }

  std::string job_of(std::string name) const {
    if (!jobs_.contains(name)) {
      throw Wrong("no job \"" + name + "\" is submitted above");
    }
    return name;
  }

  // Expectations.

  void parse_expectation(Line& line, std::string_view text) {
    Expectation made;
    made.line = line_;
    const std::vector<std::string> words = split(text, " \t\r");
    for (const std::string& word : words) {
      made.text += (made.text.empty() ? "" : " ") + word;
    }
    if (line.take("within")) {
      made.kind = Expectation::Kind::kWithin;
      made.limit = line.duration();
      line.expect("of");
      made.from = parse_mark(line);
      line.expect("event");
      made.match = parse_match(line);
    } else if (line.take("never")) {
      made.kind = Expectation::Kind::kNever;
      line.expect("event");
      made.match = parse_match(line);
      made.from = line.take("after") ? parse_mark(line) : Mark();
    } else if (line.take("figure")) {
      made.kind = Expectation::Kind::kFigure;
      made.figure = line.word("the name of a figure");
      line.expect("from");
      made.from = parse_mark(line);
      line.expect("until");
      made.until = parse_condition(line);
      made.max = line.take("max") ? std::optional(line.duration()) : std::nullopt;
    } else {
      throw Wrong("a line begins with hosts, length, at, always, within, never or figure, not \"" +
                  std::string(line.peek()) + "\"");
    }
    made_.expectations.push_back(std::move(made));
  }

  /// "cut", "cut 2", "submit big", "begin".
  Mark parse_mark(Line& line) {
    Mark mark;
    if (line.take("begin")) {
      return mark;
    }
    mark.verb = parse_verb(line);
    if (mark.verb == Verb::kSubmit || mark.verb == Verb::kCancel) {
      mark.name = job_of(line.word("the name of a job"));
    } else if (const auto nth = to_number(line.peek()); nth.has_value()) {
      mark.nth = line.count("number of an act", 1'000);
    }
    const auto count = std::count_if(made_.acts.begin(), made_.acts.end(), [&](const Act& act) {
      return act.verb == mark.verb && (mark.name.empty() || act.name == mark.name);
    });
    if (count < static_cast<std::int64_t>(mark.nth) || mark.nth == 0) {
      throw Wrong("there is no such act \"" + std::string(row_of(*mark.verb).words) + "\" above");
    }
    return mark;
  }

  EventMatch parse_match(Line& line) const {
    EventMatch match;
    match.event = line.word("the name of an event");
    while (line.peek().find('=') != std::string_view::npos) {
      const std::string field = line.word("a field");
      const std::size_t sign = field.find('=');
      match.fields[field.substr(0, sign)] = field.substr(sign + 1);
    }
    if (line.take("about")) {
      if (jobs_.contains(std::string(line.peek()))) {
        match.job = line.word("a job");
      } else {
        match.about = parse_fixed_set(line);
      }
    }
    if (line.take("on")) {
      match.on = parse_fixed_set(line);
    }
    return match;
  }

  Condition parse_condition(Line& line) const {
    Condition made;
    if (line.take("mode")) {
      made.kind = Condition::Kind::kMode;
      made.word = line.word("a mode");
      static const std::set<std::string> kModes = {"normal", "domain", "partial",
                                                   "partition_suspected"};
      if (!kModes.contains(made.word)) {
        throw Wrong("there is no mode \"" + made.word + "\"");
      }
    } else if (line.take("job")) {
      made.kind = Condition::Kind::kJob;
      made.job = job_of(line.word("the name of a job"));
      made.word = line.word("queued, running, completed or again");
      if (made.word != "queued" && made.word != "running" && made.word != "completed" &&
          made.word != "again") {
        throw Wrong("a job is queued, running, completed or runs again, not \"" + made.word + "\"");
      }
      return made;
    } else if (line.take("all alive")) {
      return made;
    } else {
      made.kind = Condition::Kind::kUnreachable;
      made.who = parse_fixed_set(line);
      line.expect("unreachable");
    }
    line.expect("on");
    made.on = parse_fixed_set(line);
    return made;
  }

  void finish() {
    if (made_.hosts == 0) {
      throw Wrong("there is no line \"hosts N\"");
    }
    std::stable_sort(made_.acts.begin(), made_.acts.end(),
                     [](const Act& a, const Act& b) { return a.at < b.at; });
    const Duration last = made_.acts.empty() ? Duration(0) : made_.acts.back().at;
    if (made_.length <= last) {
      throw Wrong("\"length\" must be said, and be later than the last act");
    }
  }

  Scenario made_;
  const std::uint32_t hosts_instead_;
  std::set<std::string> jobs_;
  int line_ = 0;
};

}  // namespace

Result<Scenario> parse(std::string_view path, std::string_view text, std::uint32_t hosts) {
  if (text.size() > kFileBytesMax) {
    return Error{ErrorCode::kInvalid, std::string(path) + ": a scenario has at most " +
                                          std::to_string(kFileBytesMax) + " bytes"};
  }
  Parser parser(path, hosts);
  try {
    return parser.parse(text);
  } catch (const Wrong& wrong) {
    const std::string line = parser.line() == 0 ? "" : std::to_string(parser.line()) + ":";
    return Error{ErrorCode::kInvalid, std::string(path) + ":" + line + " " + wrong.what()};
  }
}

std::string what_is_lacking(const Scenario& scenario, PlayedOn world) {
  for (const Act& act : scenario.acts) {
    const VerbRow& row = row_of(act.verb);
    const std::string_view why = world == PlayedOn::kReal ? row.not_real : row.not_simulated;
    if (!why.empty()) {
      return scenario.path + ":" + std::to_string(act.line) + ": \"" + std::string(row.words) +
             "\" cannot be done " +
             (world == PlayedOn::kReal ? "to real agents: " : "in the simulator: ") +
             std::string(why);
    }
  }
  return "";
}

}  // namespace muster::sim::scenario
