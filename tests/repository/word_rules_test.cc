// The rule of words finds what it claims to, and leaves lawful sentences alone. Whether the tree
// keeps it is asked in repository_test.cc.

#include <gtest/gtest.h>

#include "tests/repository/prose.h"
#include "tests/repository/word_rules.h"

namespace muster::repository {
namespace {

std::size_t in_source(const std::string& text) {
  return check_prose({"agent/node/a.h", text}).size();
}

std::size_t in_comment(const std::string& text) {
  return in_source("// " + text + "\nint x;\n");
}

std::size_t in_document(const std::string& text) {
  return check_prose({"agent/README.md", text}).size();
}

std::size_t in_cli(const std::string& text) {
  return check_prose({"cli/verbs/a.cc", "void describe(Options& options) {\n" + text + "\n}\n"})
      .size();
}

std::string verbs(const std::string& purpose) {
  return "constexpr std::array<Entry, 2> kVerbs = {{\n"
         "    {kGroupJobs, \"jobs\", \"[JOB...]\", \"List jobs.\", agent::Verb::kJobs,\n"
         "     plain<make_jobs>},\n"
         "    {kGroupHosts, \"hosts show\", \"NAME\",\n     \"" +
         purpose + "\", std::nullopt,\n     plain<make_show>},\n}};\n";
}

TEST(WordRules, ASentenceWithoutASubjectIsFound) {
  for (const std::string word : {"Who", "Whose", "Whom", "Whoever", "What", "Nothing", "Those"}) {
    EXPECT_EQ(in_comment(word + " waits here is asked."), 1U) << word;
    EXPECT_EQ(in_comment("It ends. " + word + " waits here is asked."), 1U) << word;
    EXPECT_EQ(in_comment("(It ends.) " + word + " waits here is asked."), 1U) << word;
  }
  EXPECT_EQ(in_comment("what a host says, in order"), 1U) << "first in its comment";
  EXPECT_EQ(in_comment("What's left is kept."), 1U);
  EXPECT_EQ(in_comment("It says \"no.\" What then?"), 1U) << "behind a quotation";
  EXPECT_EQ(in_source("int x;  ///< What it is.\nint y;  ///< Nothing.\n"), 2U);
}

TEST(WordRules, ASentenceThatNamesItsSubjectIsLawful) {
  for (const std::string text : {
           "That a host is off is what a host says.",
           "It waits for those who come; nothing else: what is left, nobody reads.",
           "The rule: Nothing is read twice; What is a name here.",
           "A host, e.g. What, is named so. Some, i.e. Those two, wait.",
           "`What` and \"What\" and What_is and what::Who are names.",
           "Whatever comes, whole or not, sows. Thoseby. Sooner or later. What-if is a game.",
       }) {
    EXPECT_EQ(in_comment(text), 0U) << text;
  }
}

TEST(WordRules, ASentenceThatBeginsWithSoIsFound) {
  EXPECT_EQ(in_comment("It waits. So do others."), 1U);
  EXPECT_EQ(in_comment("It waits. So is a host, and so it does."), 1U);
  EXPECT_EQ(in_comment("So many are kept."), 1U);
  EXPECT_EQ(in_comment("It waits, so that it is told so. Some do. Also these."), 0U);
}

TEST(WordRules, ALonePossessiveIsFound) {
  EXPECT_EQ(in_comment("The Node's."), 1U);
  EXPECT_EQ(in_comment("OwnKeys'."), 1U);
  EXPECT_EQ(in_comment("A key, which is the authority's. It counts."), 1U);
  EXPECT_EQ(in_comment("The key is the host's; it counts."), 1U);
  EXPECT_EQ(in_comment("The key is the hosts'; it is the host_store's."), 2U);
  EXPECT_EQ(in_comment("its own, or somebody else's"), 1U) << "where the comment ends";
  EXPECT_EQ(in_comment("One is `Node`'s."), 1U);
}

TEST(WordRules, OtherApostrophesAreLawful) {
  for (const std::string text : {
           "It's a host's row, and hosts' rows, too.",
           "That is how it's. So it isn't; and let's. He doesn't.",
           "It is the host's, not the log's, and the leader's or a voter's row.",
           "It is called 'hosts'. It is 'one of the hosts'; it ends with '\\n'.",
       }) {
    EXPECT_EQ(in_comment(text), text.find(" So ") == std::string::npos ? 0U : 1U) << text;
  }
}

TEST(WordRules, OldWordsAreFound) {
  EXPECT_EQ(in_comment("It is written anew."), 1U);
  EXPECT_EQ(in_comment("It is asked by whoever came, of whomever it knows."), 2U);
  EXPECT_EQ(in_comment("There is none left, and there are none to come."), 2U);
  EXPECT_EQ(in_comment("They end as one."), 1U);
  EXPECT_EQ(in_comment("They end as one, or begin as one: at once."), 2U);
  EXPECT_EQ(in_comment("Whoever waits."), 1U) << "once, not as a first word and a word";
  EXPECT_EQ(in_comment("It is nonetheless as one host says; a new one is. As none came."), 0U);
}

TEST(WordRules, CommentsAreReadAsText) {
  EXPECT_EQ(in_source("// It is read\n// anew, and there is\n// none.\n"), 2U);
  EXPECT_EQ(in_source("// It waits for\n// What is a name here.\n"), 0U) << "in mid-sentence";
  EXPECT_EQ(in_source("// It waits for all\n//\n// What comes is kept.\n"), 1U) << "a paragraph";
  EXPECT_EQ(in_source("// All:\n// - what comes\n// 2. those\n"), 2U) << "items of a list";
  EXPECT_EQ(in_source("int x;  ///< It waits for\n        ///< what comes.\n"), 0U);
  EXPECT_EQ(in_source("/// All of\n// What is a name.\nint x;  ///< those\n"), 2U) << "other kinds";
  EXPECT_EQ(in_source("f(\"// What is it?\");\nconst char* kText = \"Nothing is anew.\";\n"), 0U);
  EXPECT_EQ(check_prose({"agent/node/a.h", "// It is read\n// anew.\nint x;\n"}).at(0),
            "agent/node/a.h:2: \"anew\": say \"again\"");
  EXPECT_EQ(check_prose({"agent/node/a.h", "\n// What comes is kept.\n"}).at(0),
            "agent/node/a.h:2: \"What comes\": name the subject");
}

TEST(WordRules, DocumentsAreReadAsText) {
  EXPECT_EQ(in_document("It waits for\nWhat is a name.\n\nWhat comes is kept.\n"), 1U);
  EXPECT_EQ(in_document("- what comes\n* Those.\n1. **Who** waits\n   for what is to come\n"), 3U);
  EXPECT_EQ(in_document("| what | who |\n|--|--|\n| `a|b` | what comes |\n| those | it |\n"), 2U);
  EXPECT_EQ(in_document("## What is kept\n## What is kept?\n## So it is\n"), 2U);
  EXPECT_EQ(in_document("Do it:\n```\nWhat is anew.\n```\n\n    What is anew.\n"), 0U);
  EXPECT_EQ(in_document("See https://a.org/What_is/anew. It says [what](https://b.org/anew).\n"),
            0U);
}

TEST(WordRules, HelpLinesAreReadAsText) {
  const std::string target = "  options.flag(\"--all\", all_, ";
  EXPECT_EQ(in_cli(target + "\"What was kept, and those\");"), 1U);
  EXPECT_EQ(in_cli(target + "\"It is \"\n    \"anew\");"), 1U) << "two literals are one";
  EXPECT_EQ(in_cli("  options.value(\"-n\", [this](auto& t) { return f(t); }, \"Those kept\");"),
            1U);
  EXPECT_EQ(in_cli("  setting(options, \"listen\", \"Nothing is kept\", \"PORT\");"), 1U);
  EXPECT_EQ(in_cli("  choice_.describe(options, \"Those kept\", false);"), 1U);
  EXPECT_EQ(in_cli("  return \"What is kept is shown.\";"), 1U) << "a sentence outside of calls";
  EXPECT_EQ(in_cli(target + "name + \"what was kept, the host's\" + more);"), 0U) << "in parts";
  EXPECT_EQ(in_cli("  session.fail(\"what was kept is none of yours\");"), 0U) << "an error";
  EXPECT_EQ(in_source("  options.flag(\"--all\", all_, \"What was kept\");"), 0U) << "not in cli/";
}

TEST(WordRules, TwoDefaultsAreFound) {
  EXPECT_EQ(in_document("Rows (default: ten) (default 10).\n"), 1U);
  EXPECT_EQ(in_document("Rows (default 10) of hosts (default all).\n"), 0U);
  EXPECT_EQ(in_cli("  options.text(\"-n\", n_, \"Rows (default ten) (default 10)\", \"N\");"), 1U);
  EXPECT_EQ(in_cli("  options.text(\"-n\", n_, \"Rows (default ten)\", \"N\");"), 0U);
  EXPECT_EQ(in_cli("  options.number(\"-n\", n_, \"Rows (default ten)\");"), 1U) << "it adds one";
}

TEST(WordRules, AVerbThatIsNoImperativeIsFound) {
  const auto found = [](const std::string& text) {
    return check_prose({"cli/verbs/app.cc", text});
  };
  EXPECT_TRUE(found(verbs("Show a host.")).empty());
  EXPECT_EQ(found(verbs("Shows a host.")).size(), 1U);
  EXPECT_EQ(found(verbs("show a host.")).size(), 1U);
  EXPECT_EQ(found(verbs("The host.")).at(0),
            "cli/verbs/app.cc:5: \"The host.\": say what the verb does, in the imperative, with a "
            "word of kImperatives in tests/repository/word_rules.cc");
  EXPECT_EQ(found("int x;\n").size(), 1U) << "the table went elsewhere";
}

TEST(WordRules, ANumberOnlyFalls) {
  const std::vector<SourceFile> files = {{"crdt/rows/a.h", "// What is it?\n// Nothing is.\n"},
                                         {"crdt/rows/README.md", "Those are rows.\n"}};
  const auto found = [&](std::size_t rows, std::size_t readme) {
    const WordsLeft left[] = {{"crdt/rows", rows}, {"crdt/rows/README.md", readme}};
    return check_words_left(files, left);
  };
  EXPECT_TRUE(found(2, 1).empty());
  EXPECT_EQ(found(1, 1).size(), 3U) << "the number, and each violation";
  EXPECT_EQ(found(1, 1).at(1), "crdt/rows/a.h:1: \"What is\": name the subject");
  EXPECT_EQ(
      found(3, 1).at(0),
      "crdt/rows: 2 violations, 3 in its row: lower its row in tests/repository/words_left.h");
  EXPECT_EQ(check_words_left(files, {}).size(), 5U) << "no rows";
  const WordsLeft gone[] = {{"crdt/store", 2}};
  EXPECT_EQ(check_words_left({}, gone).at(0),
            "crdt/store: 0 violations, 2 in its row: take out its row in "
            "tests/repository/words_left.h");
  const WordsLeft empty[] = {{"crdt/store", 0}};
  EXPECT_EQ(check_words_left({}, empty).size(), 1U) << "a row that allows nothing";
  EXPECT_EQ(rows_of_words(files), "    {\"crdt/rows\", 2},\n    {\"crdt/rows/README.md\", 1},\n");
}

}  // namespace
}  // namespace muster::repository
